"""Writes `python/pyburn/_core.pyi` from the built extension: `make stub`. With --check it fails when the file is old.

Functions written in Python and attached to Tensor bring their annotations. Native ones bring names and defaults only;
the tables below add the types, by the name of the argument and by the name of the function.
"""

from __future__ import annotations

import argparse
import inspect
import types
import typing
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from pyburn import _core

STUB = Path(__file__).resolve().parents[1] / "python" / "pyburn" / "_core.pyi"

# Inside the stub `int`, `bool`, `float`, `dtype` and `device` name members of the module or of Tensor, so types are
# written under private aliases.
HEADER = '''"""Generated from the built extension by `make stub`; edit tools/make_stub.py instead."""

from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import complex as _complex_number
from builtins import float as _float
from builtins import int as _int
from builtins import type as _type
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, Self, TypeAlias, final, overload

from pyburn._size import Size as _Size
from typing_extensions import disjoint_base
{imports}
_Number: TypeAlias = _bool | _int | _float | _complex_number
_Dim: TypeAlias = _int | Sequence[_int]
_DType: TypeAlias = "dtype"
_DeviceType: TypeAlias = "device"
_Device: TypeAlias = _DeviceType | str | _int
__all__ = {exported}
'''


def by_name(types_to_names: dict[str, str]) -> dict[str, str]:
    """The type of each name, from the names of each type."""
    return {name: annotation for annotation, names in types_to_names.items() for name in names.split()}


ARGUMENTS = by_name(
    {
        "Any": "buffer data dims index size source stride",
        "Callable[..., Any]": "hook pack unpack",
        "Generator": "generator",
        "Node": "node",
        "Sequence[_int]": "dilation kernel_size output_padding padding",
        "Sequence[_int | None]": "output_size",
        "Tensor": "a b condition input mask mat2 new_state pivots src tensor values vec weight",
        "Tensor | None": "bias",
        "Tensor | _Number": "exponent other otherwise p",
        "Tensor | _Number | None": "max min",
        "_DType": "d dtype from_ to type1 type2",
        "_Device": "device",
        "_Dim": "destination split_size",
        "_Number": "alpha beta end start step",
        "_bool": (
            "ceil_mode copy count_include_pad create_graph descending enabled force ignore_nan in_order keepdim "
            "largest lower non_blocking placed require_grad requires_grad retain_graph right soft tanh transposed "
            "unitriangular upper vectors"
        ),
        "_float": ("base bound correction eps high input_scale lambd low mean median scale sigma slope std threshold"),
        "_int": (
            "bins chunks count decimals descriptor dim dim0 dim1 dim2 dimension end_dim groups id k length minlength "
            "mode n num num_samples offset rows seed start_dim steps storage_offset"
        ),
        "_int | None": "divisor_override",
        "str": "op",
        "str | None": "rounding_mode",
    }
)
# Native functions whose arguments have another type than their name says elsewhere.
SPECIAL = {
    "_bag_sums": {
        "indices": "Tensor",
        "offsets": "Tensor | None",
        "factors": "Tensor | None",
        "mean": "_bool",
        "padding": "_int | None",
        "last": "_bool",
    },
    "_check_std": {"std": "Tensor"},
    "_cosines": {"other": "Tensor"},
    "_incomplete_gamma": {"x": "Tensor", "upper": "_bool"},
    "_probability_losses": {"target": "Tensor"},
    "_ctc": {
        "targets": "Tensor",
        "times": "Sequence[_int]",
        "lengths": "Sequence[_int]",
        "blank": "_int",
        "forgiving": "_bool",
        "sloped": "_bool",
    },
    "_histogram": {"weight": "Tensor | None"},
    "_own_generator": {"seed": "_int"},
    "_grid_sample": {"mode": "_int", "outside": "_int", "corners": "_bool"},
    "_grid_sample_backward": {
        "mode": "_int",
        "outside": "_int",
        "corners": "_bool",
        "wanted": "tuple[_bool, _bool]",
    },
    "_resample": {"steps": "Sequence[tuple[_int, bytes]]"},
    "_resample_bytes": {"down": "bytes | None", "along": "bytes | None"},
    "_scatter": {"values": "Tensor | _Number"},
    "_searchsorted": {"values": "Tensor | _Number"},
}
# Native functions whose `dim` may name several dimensions.
SEVERAL_DIMS = by_name(
    {
        "_Dim | None": "_norm",
        "_Dim": "_nansum _std _var all amax amin any count_nonzero logsumexp mean squeeze squeeze_ sum",
    }
)
RETURNS = by_name(
    {
        "Any": (
            "__array__ __dlpack__ _adapters _to_dlpack _backward _build_class _disabled_torch_function_impl "
            "_make_subclass _record_function "
            "item numpy size stride tolist type"
        ),
        "Generator": "_default_generator clone_state manual_seed set_state",
        "Iterator[Tensor]": "__iter__",
        "None": (
            "__delitem__ __init__ __setitem__ __setstate__ _after_fork_in_child _empty_cache _move_storage "
            "_own_generator _pop_saved_hooks _push_saved_hooks _reset_peak_memory _set_aliased _set_function_modes "
            "_set_history _swap _track _watch_classes retain_grad "
            "set_default_device set_default_dtype set_num_threads synchronize"
        ),
        "_DType": "get_default_dtype promote_types result_type to_complex to_real",
        "_bool": (
            "__bool__ __contains__ _alike _binary_out _fused_step _takes_over _unary_out allclose can_cast equal "
            "is_inference"
        ),
        "_bytes": "_bytes",
        "Generator | None": "_thread_generator",
        "Tensor | None": (
            "_apart_losses _bag_sums _combined _cosines _group_norm _layer_norm _leaking _nan_to_num _rms_norm"
        ),
        "tuple[Tensor | None, Tensor | None]": "_grid_sample_backward",
        "dict[str, _int]": "_memory_stats",
        "tuple[Tensor, Tensor, Tensor] | None": "_batch_norm",
        "_complex_number": "__complex__",
        "_float": "__float__",
        "_int": (
            "__hash__ __index__ __int__ __len__ _get_function_disabled _sequence_nr _set_function_disabled "
            "_storage_nbytes _storage_ptr address data_ptr dim element_size get_num_threads "
            "initial_seed ndimension nelement numel seed storage_offset"
        ),
        "device": "get_default_device",
        "list[Any] | None": "_overloaded",
        "list[Tensor]": "_nonzero_tuple",
        "list[str]": "__dir__",
        "list[_int]": "_integers",
        "str": "__format__ __repr__ __str__ _library name",
        "Tensor": "get_state",
        "tuple[Any, ...]": "__reduce__ __reduce_ex__",
        "tuple[Tensor, ...]": "chunk split unbind",
        "tuple[Tensor, Tensor]": (
            "_adaptive_max_pool _cholesky _ctc _cumulative_extreme _extreme_dim _frexp _kthvalue _max_pool "
            "_median_dim _mode _sort _topk"
        ),
        "tuple[Tensor, Tensor, Tensor]": (
            "_distinct _eig _eigh _gru _gru_back _ldl _lstm _lstm_back _lu _normalized _qr"
        ),
        "tuple[Tensor, Tensor, Tensor, Tensor]": "_solve _svd",
        "tuple[Node, _int]": "_gradient_edge",
        "tuple[_float, _float]": "_histogram_range",
        "tuple[_int, _int]": "__dlpack_device__",
    }
)
PROPERTIES = by_name(
    {
        "Any": "layout names",
        "Node | None": "grad_fn",
        "Tensor": "H T data imag mH mT real variable",
        "Tensor | None": "_base grad",
        "_DType": "dtype",
        "_DeviceType": "device",
        "_Size": "shape",
        "_int": "_version itemsize nbytes ndim output_nr",
        "_int | None": "index",
        "str": "type",
        "tuple[tuple[Node | None, _int], ...]": "next_functions",
    }
)
SETTABLE = {"data", "grad", "imag", "real", "requires_grad", "_backward_hooks", "_size_class"}
COMPARISONS = {"__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__"}
INHERITED = {"__all__", "__delattr__", "__dict__", "__doc__", "__file__", "__getattribute__", "__loader__"} | {
    *("__module__", "__name__", "__package__", "__spec__", "__weakref__")
}
ALIASES = {int: "_int", bool: "_bool", float: "_float", complex: "_complex_number", bytes: "_bytes", type: "_type"}


class Stub:
    """The text of the stub and the imports that its annotations turn out to need."""

    def __init__(self) -> None:
        self.imports: set[str] = set()

    def text(self) -> str:
        """The whole stub file."""
        body = "\n".join(self.member(name) for name in ordered(vars(_core)))
        imports = "".join(f"{line}\n" for line in sorted(self.imports))
        return f"{HEADER.format(imports=imports, exported=sorted(_core.__all__))}\n{body}\n"

    def member(self, name: str) -> str:
        """The lines of one name of the module."""
        value = getattr(_core, name)
        if inspect.isclass(value):
            return self.class_(name, value)
        if callable(value):
            return self.function(name, value, indent="")
        return f"{name}: {type(value).__name__}"

    def class_(self, name: str, value: type) -> str:
        """The lines of a class."""
        bases = ", ".join(base.__name__ for base in value.__bases__ if base is not object)
        lines = [f"class {name}({bases}):" if bases else f"class {name}:"]
        if not issubclass(value, Exception):
            # Py_TPFLAGS_BASETYPE: without it a class cannot be subclassed.
            lines.insert(0, "@disjoint_base" if value.__flags__ & (1 << 10) else "@final")
            lines += [self.attribute(name, key, vars(value)[key]) for key in ordered(vars(value))]
        return "\n".join(lines) if len(lines) > 1 else f"{lines[0]} ..."

    def attribute(self, owner: str, name: str, value: Any) -> str:
        """The lines of one member of a class."""
        if inspect.isgetsetdescriptor(value) or isinstance(value, property):
            return self.property_(name, value)
        if isinstance(value, (staticmethod, classmethod)):
            return f"    @{type(value).__name__}\n{self.function(name, value.__func__, indent='    ')}"
        if isinstance(value, types.ClassMethodDescriptorType):
            return f"    @classmethod\n{self.function(name, value, indent='    ')}"
        if name in COMPARISONS:
            returns = "Tensor" if owner == "Tensor" else "_bool"
            ignore = "  # type: ignore[override]" if owner == "Tensor" and name in ("__eq__", "__ne__") else ""
            other = "Any" if owner == "Tensor" else "object"
            return f"    def {name}(self, value: {other}, /) -> {returns}: ...{ignore}"
        if name == "__ipow__":
            # mypy wants the third argument of `pow`, which the operator `**=` never has.
            return "    def __ipow__(self, value: Any, /) -> Tensor: ...  # type: ignore[misc]"
        if name in ("__new__", "__init__"):
            # Their own signatures say nothing; the class has the one that counts.
            listed = self.parameters(inspect.signature(getattr(_core, owner)).parameters.values(), {})
            first, returns = ("cls", "Self") if name == "__new__" else ("self", "None")
            return f"    def {name}({', '.join(filter(None, [first, listed]))}) -> {returns}: ..."
        if callable(value):
            return self.function(name, value, indent="    ")
        return f"    {name}: {self.show(type(value))}"

    def property_(self, name: str, value: Any) -> str:
        """The lines of a property."""
        returns = PROPERTIES.get(name) or ("_bool" if is_question(name) else "Any")
        if isinstance(value, property) and value.fget is not None:
            returns = self.hints(value.fget).get("return") or returns
        lines = ["    @property", f"    def {name}(self) -> {returns}: ..."]
        if name in SETTABLE or (isinstance(value, property) and value.fset is not None):
            lines += [f"    @{name}.setter", f"    def {name}(self, value: {returns}, /) -> None: ..."]
        return "\n".join(lines)

    def function(self, name: str, value: Callable[..., Any], indent: str) -> str:
        """The line of a function or method, or the lines of its overloads."""
        plain = inspect.unwrap(value)
        overloads = typing.get_overloads(plain) if inspect.isfunction(plain) else []
        if overloads:
            return "\n".join(f"{indent}@overload\n{self.signature(name, one, indent)}" for one in overloads)
        return self.signature(name, value, indent)

    def signature(self, name: str, value: Callable[..., Any], indent: str) -> str:
        """One signature of a function."""
        hints = self.hints(value) or ({"dim": SEVERAL_DIMS[name]} if name in SEVERAL_DIMS else SPECIAL.get(name, {}))
        try:
            arguments = inspect.signature(value).parameters
            # The tables are about torch's words; private functions use the same ones for other things.
            private = dict.fromkeys(arguments, "Any") if name.startswith("_") and not name.startswith("__") else {}
            listed = self.parameters(arguments.values(), private | hints)
        except (TypeError, ValueError):
            listed = "*args: Any, **kwargs: Any"
        returns = hints.get("return") or RETURNS.get(name) or guessed_return(name)
        ignore = "  # type: ignore[misc]" if name == "__ipow__" else ""
        return f"{indent}def {name}({listed}) -> {returns}: ...{ignore}"

    def parameters(self, parameters: Iterable[inspect.Parameter], hints: dict[str, str]) -> str:
        """The argument list, with `/` and `*` where they belong."""
        listed: list[str] = []
        kinds = list(parameters)
        for position, parameter in enumerate(kinds):
            name, kind = parameter.name, parameter.kind
            if kind is parameter.KEYWORD_ONLY and not any(item.startswith("*") for item in listed):
                listed.append("*")
            # A static method may have an ordinary argument of the name `cls`.
            if position == 0 and (name == "self" or (name == "cls" and kind is parameter.POSITIONAL_ONLY)):
                listed.append(name)
            else:
                listed.append(self.parameter(parameter, hints))
            following = kinds[position + 1].kind if position + 1 < len(kinds) else None
            # PyO3 marks every self as positional-only, which says nothing.
            if kind is parameter.POSITIONAL_ONLY and following is not kind and name != "self":
                listed.append("/")
        return ", ".join(listed)

    def parameter(self, parameter: inspect.Parameter, hints: dict[str, str]) -> str:
        """One argument with its type and default."""
        star = (
            "*"
            if parameter.kind is parameter.VAR_POSITIONAL
            else "**"
            if parameter.kind is parameter.VAR_KEYWORD
            else ""
        )
        annotation = hints.get(parameter.name) or ("Any" if star else ARGUMENTS.get(parameter.name, "Any"))
        if isinstance(parameter.default, float) and parameter.name not in hints:
            annotation = "_float"
        if parameter.default is parameter.empty:
            return f"{star}{parameter.name}: {annotation}"
        if parameter.default is None and "None" not in annotation and annotation != "Any":
            annotation = f"{annotation} | None"
        simple = parameter.default is None or isinstance(parameter.default, (bool, int, float, str))
        default = repr(parameter.default) if simple else "..."
        return f"{parameter.name}: {annotation} = {default}"

    def hints(self, value: Callable[..., Any]) -> dict[str, str]:
        """The annotations of a Python function as text; none for a native one."""
        if not inspect.isfunction(value):
            return {}
        try:
            evaluated = typing.get_type_hints(value)
        except NameError:
            return {}
        return {name: self.show(annotation) for name, annotation in evaluated.items()}

    def show(self, annotation: Any) -> str:
        """An annotation as it must be written in the stub."""
        if annotation is None or annotation is type(None):
            return "None"
        if annotation is Any or annotation is Ellipsis or isinstance(annotation, (str, typing.TypeVar)):
            return "..." if annotation is Ellipsis else "Any"
        origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
        if origin is Literal:
            return f"Literal[{', '.join(repr(argument) for argument in arguments)}]"
        if origin in (typing.Union, types.UnionType):
            return " | ".join(self.show(argument) for argument in arguments)
        if isinstance(annotation, list):
            return f"[{', '.join(self.show(item) for item in annotation)}]"
        if origin is not None:
            return f"{self.show(origin)}[{', '.join(self.show(argument) for argument in arguments) or '()'}]"
        return self.show_class(annotation)

    def show_class(self, value: Any) -> str:
        """The name under which a class is known in the stub."""
        if value in ALIASES:
            return ALIASES[value]
        name, module = getattr(value, "__name__", ""), getattr(value, "__module__", "")
        if value is _core.dtype:
            return "_DType"
        if value is _core.device:
            return "_DeviceType"
        if getattr(_core, name, None) is value or module in ("builtins", "collections.abc"):
            return name
        if not inspect.isclass(value):
            return "Any"
        if name == "Size" and module.startswith("pyburn"):
            return "_Size"
        # Not `_name` alone, which may be a native method.
        self.imports.add(f"from {module} import {name} as _{name}_class")
        return f"_{name}_class"


def guessed_return(name: str) -> str:
    """What a native function returns by the look of its name: most return a tensor."""
    plain = name.lstrip("_")
    if plain.startswith(("set_", "remove_", "check_")):
        return "None"
    if plain.startswith(("register_", "get_")):
        return "Any"
    return "_bool" if is_question(name) else "Tensor"


def is_question(name: str) -> bool:
    """Whether a name asks for yes or no."""
    return name.startswith(("is_", "_is_", "has_", "requires_", "retains_")) and not name.endswith("_")


def ordered(members: typing.Mapping[str, Any]) -> list[str]:
    """The names to write, classes first since aliases and functions name them."""
    names = [name for name in members if name not in INHERITED]
    return sorted(names, key=lambda name: (not inspect.isclass(members[name]), name))


def main() -> None:
    """Writes or checks the stub."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail when the file is not up to date")
    text = Stub().text()
    if not parser.parse_args().check:
        STUB.write_text(text)
    elif not STUB.is_file() or STUB.read_text() != text:
        raise SystemExit("python/pyburn/_core.pyi is not what the extension offers: run `make stub` and commit it.")


if __name__ == "__main__":
    main()
