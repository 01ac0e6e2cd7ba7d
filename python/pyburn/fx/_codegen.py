"""Python code of graphs: one function, one line for each node."""

from __future__ import annotations

import enum
import json
import math
import sys
import types
import typing
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from pyburn import _core
from pyburn._core import Tensor, device
from pyburn.fx import _names, _pytree
from pyburn.fx._namespace import _Namespace
from pyburn.fx.node import Argument, Node, _type_repr
from pyburn.utils import _pytree as pytree

TransformCodeFunc = Callable[[list[str]], list[str]]

reflectable_magic_methods = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "mul": "{} * {}",
    "floordiv": "{} // {}",
    "truediv": "{} / {}",
    "mod": "{} % {}",
    "pow": "{} ** {}",
    "lshift": "{} << {}",
    "rshift": "{} >> {}",
    "and_": "{} & {}",
    "or_": "{} | {}",
    "xor": "{} ^ {}",
    "getitem": "{}[{}]",
    "matmul": "{} @ {}",
}
magic_methods = {
    "eq": "{} == {}",
    "ne": "{} != {}",
    "lt": "{} < {}",
    "gt": "{} > {}",
    "le": "{} <= {}",
    "ge": "{} >= {}",
    "pos": "+{}",
    "neg": "-{}",
    "invert": "~{}",
    **reflectable_magic_methods,
}
_SIGNS = {"add": "+", "and": "&", "floordiv": "//", "lshift": "<<", "mod": "%", "mul": "*", "matmul": "@", "or": "|"}
_SIGNS |= {"pow": "**", "rshift": ">>", "sub": "-", "truediv": "/", "xor": "^"}
inplace_methods = {f"i{name}": f"{{}} {sign}= {{}}" for name, sign in _SIGNS.items()} | {"setitem": "{}[{}] = {}"}
# The generic classes of typing, as programs write them.
_GENERICS: dict[Any, Any] = {list: typing.List, dict: typing.Dict, set: typing.Set, tuple: typing.Tuple}  # noqa: UP006
_GENERICS[frozenset] = typing.FrozenSet  # noqa: UP006
_SHORT_DTYPES = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u", "complex": "c"}


@dataclass
class PythonCode:
    """The text of a function, and the objects that it finds by name."""

    src: str
    globals: dict[str, Any]
    _lineno_map: dict[int, int | None] | None = None
    _prologue_start: int = 0


class _PyTreeInfo(NamedTuple):
    """The shapes of nested inputs and outputs."""

    orig_args: list[str]
    in_spec: pytree.TreeSpec
    out_spec: pytree.TreeSpec | None


def _format_target(base: str, target: str) -> str:
    """The expression for an attribute at the end of a dotted path; no name, whatever its letters, becomes code."""
    for part in target.split("."):
        base = f"{base}.{part}" if part.isidentifier() else f"getattr({base}, {json.dumps(part)})"
    return base


def _short(meta: Any) -> str | None:
    """The kind of a tensor in short, as ``f32[2, 3]``."""
    if not hasattr(meta, "shape") or not hasattr(meta, "dtype"):
        return None
    name = str(meta.dtype).rpartition(".")[2]
    letters = name.rstrip("0123456789")
    kind = {"bool": "b8"}.get(name, _SHORT_DTYPES.get(letters, letters) + name[len(letters) :])
    return f"{kind}[{', '.join(map(str, meta.shape))}]"


class _Writer:
    """What is known while one graph is written."""

    def __init__(
        self, nodes: Iterable[Node], root: str, namespace: _Namespace, codegen: CodeGen, verbose: bool
    ) -> None:
        self.nodes = list(nodes)
        self.root, self.namespace, self.codegen, self.verbose = root, namespace, codegen, verbose
        self.free: list[str] = []
        self.body: list[str] = []
        self.returns = ""
        self.wrapped: dict[str, None] = {}
        library = _core._library()
        ready: dict[str, Any] = {
            "inf": math.inf,
            "nan": math.nan,
            "NoneType": type(None),
            library: sys.modules[library],
        }
        self.globals: dict[str, Any] = {**ready, "device": device, "fx_pytree": _pytree, "pytree": pytree}
        for name, value in self.globals.items():
            self.namespace._used_names.add(name)
            if name not in ("inf", "nan"):
                self.namespace._obj_to_name[value] = name
        self.last_uses = self._find_last_uses()

    def _find_last_uses(self) -> dict[Node, list[Node]]:
        seen: set[Node] = set()
        uses: dict[Node, list[Node]] = {}
        for user in reversed(self.nodes):
            for node in user._input_nodes:
                if node not in seen:
                    seen.add(node)
                    uses.setdefault(user, []).append(node)
        return uses

    def add_global(self, hint: str, obj: Any) -> str:
        path = _names.public_path(obj)
        if path is not None:
            return path
        name = self.namespace.create_name(hint, obj)
        self.globals[name] = obj
        return name

    def type_text(self, kind: Any) -> str:
        if kind == ():
            return "()"
        if isinstance(kind, types.UnionType):
            return self._generic(typing.Union, typing.get_args(kind))
        origin = getattr(kind, "__origin__", None)
        if origin is not None:
            is_old = isinstance(kind, typing._GenericAlias)  # type: ignore[attr-defined]
            return self._generic(_GENERICS.get(origin, origin) if is_old else origin, typing.get_args(kind))
        return self.add_global(_type_repr(kind), kind)

    def _generic(self, origin: Any, parts: tuple[Any, ...]) -> str:
        name = self.add_global(_type_repr(origin), origin)
        return f"{name}[{','.join(map(self.type_text, parts))}]" if parts else name

    def text(self, arg: Any) -> str:
        if isinstance(arg, Node):
            return repr(arg)
        if isinstance(arg, tuple) and hasattr(arg, "_fields"):
            return self.add_global(_names.qualified_name(type(arg)), type(arg)) + repr(tuple(arg))
        if isinstance(arg, enum.Enum):
            return f"{self.add_global(type(arg).__name__, type(arg))}.{arg.name}"
        if isinstance(arg, complex) and not (arg.real and arg.imag and math.isfinite(arg.real + arg.imag)):
            return f"complex({arg.real!r}, {arg.imag!r})"
        if isinstance(arg, Tensor):
            return f"{_core._library()}.Tensor(size={list(arg.shape)}, dtype={str(arg.dtype).rpartition('.')[2]})"
        if isinstance(arg, tuple) and type(arg) is tuple:
            return f"({self.text(arg[0])},)" if len(arg) == 1 else f"({', '.join(map(self.text, arg))})"
        if isinstance(arg, list):
            return f"[{', '.join(map(self.text, arg))}]"
        if isinstance(arg, slice):
            return f"slice({self.text(arg.start)}, {self.text(arg.stop)}, {self.text(arg.step)})"
        return repr(arg)

    def call_text(self, args: Iterable[Argument], kwargs: dict[str, Argument]) -> str:
        return ", ".join([*map(self.text, args), *(f"{key} = {self.text(value)}" for key, value in kwargs.items())])

    def write(self, node: Node) -> None:
        kind = "" if node.type is None else f" : {self.type_text(node.type)}"
        if self.verbose:
            meta = node.meta.get("val", node.meta.get("tensor_meta", node.meta.get("example_value")))
            short = _short(meta)
            kind = kind if short is None else f': "{short}"'
        if node.op == "placeholder":
            default = f" = {self.text(node.args[0])}" if node.args else ""
            self.free.append(f"{node.target}{kind}{default}")
            raw = str(node.target).replace("*", "")
            if raw != repr(node):
                self.body.append(f"{node!r} = {raw}\n")
        elif node.op == "output":
            if node.type is not None:
                self.returns = f" -> {self.type_text(node.type)}"
            self.body.append(self.codegen.generate_output(node.args[0], repr_fn=self.text) + "\n")
        else:
            unused = [node] if not node.users else []
            dead = [*map(repr, [*self.last_uses.get(node, []), *unused])]
            freed = f";  {' = '.join([*dead, 'None'])}" if dead else ""
            self.body.append(f"{self._statement(node, kind)}{freed}\n")

    def _statement(self, node: Node, kind: str) -> str:
        start = f"{node!r}{kind} = "
        args, kwargs, target = node.args, node.kwargs, node.target
        if isinstance(target, str):
            if node.op == "call_method":
                return f"{start}{_format_target(self.text(args[0]), target)}({self.call_text(args[1:], kwargs)})"
            found = _format_target(self.root, target)
            return start + (found if node.op == "get_attr" else f"{found}({self.call_text(args, kwargs)})")
        name = getattr(target, "__name__", "")
        if getattr(target, "__module__", "") == "_operator":
            if name in magic_methods:
                return start + magic_methods[name].format(*map(self.text, args))
            if name in inplace_methods:
                return f"{inplace_methods[name].format(*map(self.text, args))};  {start}{self.text(args[0])}"
        called = self.add_global(_names.qualified_name(target), target)
        if called == "getattr" and len(args) == 2 and isinstance(args[1], str) and args[1].isidentifier():
            return start + _format_target(self.text(args[0]), args[1])
        if node.meta.get("is_wrapped", False):
            self.wrapped.setdefault(called)
        return f"{start}{called}({self.call_text(args, kwargs)})"

    def comment(self, node: Node, previous: str) -> str:
        """The line of the program that made a node, where it is not that of the node before."""
        if node.op in ("placeholder", "output"):
            return previous
        text = "No stacktrace found for following nodes"
        lines = (node.stack_trace or "").strip().splitlines()
        for index in range(len(lines) - 2, -1, -1):
            if lines[index].strip().startswith('File "'):
                place, number, name = lines[index].strip().removeprefix('File "').replace('"', "").split(", ", 2)
                number = number.removeprefix("line ")
                text = f"File: {place}:{number} in {name.removeprefix('in ')}, code: {lines[index + 1].strip()}"
                break
        if text != previous:
            self.body.append(f"\n# {text}\n")
        return text


class CodeGen:
    """Writes the code of a graph; subclasses change how it takes its inputs and gives its outputs."""

    def __init__(self) -> None:
        self._body_transformer: TransformCodeFunc | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that starts the function."""
        names = free_vars if free_vars and free_vars[0] == "self" else ["self", *free_vars]
        return f"def {self._func_name}({', '.join(names)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Argument, *, repr_fn: Callable[[Any], str] = repr) -> str:
        """The line that ends the function."""
        return f"return {repr_fn(output_args)}"

    def process_inputs(self, *args: Any) -> Any:
        """The values of the placeholders for the arguments of a call."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What a call gives for the values of the output."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Objects that the code finds by name beside those of the nodes."""
        return []

    def _gen_python_code(
        self, nodes: Iterable[Node], root_module: str, namespace: _Namespace, *, verbose: bool = False, **_looks: Any
    ) -> PythonCode:
        writer = _Writer(nodes, root_module, namespace, self, verbose)
        previous = ""
        for node in writer.nodes:
            if verbose:
                previous = writer.comment(node, previous)
            writer.write(node)
        body = writer.body or ["pass\n"]
        if self._body_transformer:
            body = self._body_transformer(body)
        wraps = ""
        if writer.wrapped:
            wrap = f"{_core._library()}.fx._symbolic_trace.wrap"
            wraps = "\n".join(f'{wrap}("{wrapped}")' for wrapped in writer.wrapped)
        for name, value in self.additional_globals():
            writer.add_global(name, value)
        start = self.gen_fn_def(writer.free, writer.returns)
        code = "\n".join("    " + line for line in "".join(body).lstrip("\n").split("\n"))
        return PythonCode(f"\n{wraps}\n\n{start}\n{code}", writer.globals)


class _PyTreeCodeGen(CodeGen):
    """Takes nested inputs apart, and puts the outputs together."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        """The leaves of the arguments."""
        return pytree.tree_leaves(list(inputs))

    def process_outputs(self, outputs: Any) -> Any:
        """The outputs in the shape that the program gives them."""
        if self.pytree_info.out_spec is None:
            return outputs
        values = outputs if isinstance(outputs, list | tuple) else [outputs]
        return pytree.tree_unflatten(values, self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The line that starts the function, and the one that takes its inputs apart."""
        given = list(self.pytree_info.orig_args)
        if given and given[0] == "self":
            free_vars = ["self", *free_vars]
        start = super().gen_fn_def(given, maybe_return_annotation)
        if not free_vars:
            return start
        plain = [name.split(":")[0].split("#")[0] for name in free_vars]
        annotated = [name for name in free_vars if ":" in name]
        notes = "\n    " + "; ".join(annotated) + ";\n" if annotated else ""
        taken = f"fx_pytree.tree_flatten_spec([{', '.join(given)}], self._in_spec)"
        return f"{start}{notes}\n    {', '.join(plain)}, = {taken}"

    def generate_output(self, output_args: Argument, *, repr_fn: Callable[[Any], str] = repr) -> str:
        """The line that ends the function, with the outputs put together."""
        if not self.pytree_info.out_spec:
            return super().generate_output(output_args, repr_fn=repr_fn)
        return f"return pytree.tree_unflatten({repr_fn(output_args)}, self._out_spec)"
