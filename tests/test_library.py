"""torch.library and torch.ops: operators that a program defines do here what they do in torch."""

import itertools

import numpy as np
import pyburn
import pytest
import torch

LIBRARIES = [pyburn, torch]
_count = itertools.count()


@pytest.fixture
def space():
    """A namespace that no other test has used: torch keeps what is defined until the process ends."""
    return f"pyburn_test_{next(_count)}"


def both(program):
    """What a program gives on each library, as numbers."""
    return [program(library) for library in LIBRARIES]


def test_defined_operators_bind_names_and_defaults(space):
    def program(lib):
        library = lib.library.Library(space, "DEF")
        library.define("scaled(Tensor x, int k=3, *, float by=2.0) -> Tensor")
        library.impl("scaled", lambda x, k=3, by=2.0: x * k * by, "CompositeImplicitAutograd")
        op = getattr(lib.ops, space).scaled
        x = lib.ones(2, requires_grad=True)
        op(x, by=0.5).sum().backward()
        return [op(x).tolist(), op(x, 1).tolist(), op(x=x, k=5).tolist(), x.grad.tolist(), op.overloads(), str(op)]

    ours, theirs = both(program)
    assert ours == theirs


@pytest.mark.parametrize("call", ["op(x, nothing=1)", "op()", "op(x, 1, 2, 3)"])
def test_wrong_arguments_are_refused(space, call):
    for lib in LIBRARIES:
        library = lib.library.Library(space, "DEF")
        library.define("once(Tensor x, int k=3) -> Tensor")
        library.impl("once", lambda x, k=3: x * k, "CompositeImplicitAutograd")
        with pytest.raises(RuntimeError):
            eval(call, {"op": getattr(lib.ops, space).once, "x": lib.ones(1)})


def test_an_operator_without_an_implementation_says_so(space):
    for lib in LIBRARIES:
        lib.library.define(f"{space}::empty", "(Tensor x) -> Tensor")
        with pytest.raises(NotImplementedError, match=f"{space}::empty"):
            getattr(lib.ops, space).empty(lib.ones(1))


def test_names_that_nobody_defined(space):
    for lib in LIBRARIES:
        with pytest.raises(AttributeError, match="object has no attribute 'nothing'"):
            _ = getattr(lib.ops, space).nothing
        with pytest.raises(OSError, match="Could not load this library"):
            lib.ops.load_library("/no/such/library.so")


def test_gradient_by_register_autograd(space):
    def program(lib):
        @lib.library.custom_op(f"{space}::cube", mutates_args=())
        def cube(x: lib.Tensor, by: float = 1.0) -> lib.Tensor:
            return x.detach() ** 3 * by

        def setup(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])
            ctx.by = inputs[1]

        lib.library.register_autograd(
            f"{space}::cube", lambda ctx, g: (g * 3 * ctx.saved_tensors[0] ** 2 * ctx.by, None), setup_context=setup
        )
        x = lib.tensor([1.0, 2.0], requires_grad=True)
        (cube(x) + getattr(lib.ops, space).cube(x, by=2.0)).sum().backward()
        return cube(x, 2.0).tolist(), x.grad.tolist(), repr(cube), str(cube._opoverload)

    ours, theirs = both(program)
    assert ours == theirs


def test_a_custom_operator_without_a_gradient_raises_in_backward(space):
    for lib in LIBRARIES:

        def twice(x):
            return x * 2

        twice.__annotations__ = {"x": lib.Tensor, "return": lib.Tensor}
        op = lib.library.custom_op(f"{space}::twice", twice, mutates_args=())
        y = op(lib.ones(1, requires_grad=True))
        assert y.requires_grad
        with pytest.raises(RuntimeError, match="no autograd formula was registered"):
            y.sum().backward()


def test_autocast_and_autograd_keys_come_before_the_device(space):
    def program(lib):
        library = lib.library.Library(space, "DEF")
        library.define("pick(Tensor x) -> Tensor")
        op = getattr(lib.ops, space).pick
        seen = []

        def plain(x):
            seen.append("cpu")
            return x.clone()

        def recorded(x):
            seen.append("autograd")
            with lib._C._AutoDispatchBelowAutograd():
                return op(x)

        keys = lib._C.DispatchKeySet(lib._C.DispatchKey.AutocastCPU)

        def cast(x):
            seen.append("autocast")
            with lib._C._ExcludeDispatchKeyGuard(keys):
                return op(x)

        library.impl("pick", plain, "CPU")
        library.impl("pick", recorded, "Autograd")
        library.impl("pick", cast, "AutocastCPU")
        with lib.autocast("cpu", dtype=lib.bfloat16):
            op(lib.ones(1))
        op(lib.ones(1))
        return seen

    ours, theirs = both(program)
    assert ours == theirs == ["autocast", "autograd", "cpu", "autograd", "cpu"]


def test_autocast_of_a_custom_operator(space):
    def program(lib):
        @lib.library.custom_op(f"{space}::same", mutates_args=())
        def same(x: lib.Tensor) -> lib.Tensor:
            return x.clone()

        lib.library.register_autocast(f"{space}::same", "cpu", lib.bfloat16)
        with lib.autocast("cpu", dtype=lib.bfloat16):
            inside = same(lib.ones(1)).dtype
        return [str(kind).rpartition(".")[2] for kind in (inside, same(lib.ones(1)).dtype)]

    assert program(pyburn) == program(torch) == ["bfloat16", "float32"]


def test_mutated_arguments(space):
    def program(lib):
        @lib.library.custom_op(f"{space}::fill", mutates_args={"x"})
        def fill(x: lib.Tensor, value: float) -> None:
            x.fill_(value)

        x = lib.zeros(2)
        fill(x, 3.0)
        return x.tolist(), "!" in str(fill._opoverload._schema)

    assert program(pyburn) == program(torch)


ATEN = [
    "t.ops.aten.add.Tensor(x, x)",
    "t.ops.aten.add(x, x, alpha=2)",
    "t.ops.aten.mul.Scalar(x, 3)",
    "t.ops.aten.relu.default(x)",
    "t.ops.aten.cat.default([x, x], 1)",
    "t.ops.aten.view.default(x, [3, 2])",
    "t.ops.aten.linalg_vector_norm.default(x)",
    "t.ops.aten.clone(x)",
    "t.ops.aten.eq.Tensor(x, x)",
    "t.ops.aten.gelu(x)",
]


@pytest.mark.parametrize("expression", ATEN)
def test_own_functions_as_operators(expression):
    values = np.linspace(-1, 1, 6, dtype=np.float32).reshape(2, 3)
    ours, theirs = (eval(expression, {"t": lib, "x": lib.tensor(values)}) for lib in LIBRARIES)
    np.testing.assert_allclose(np.asarray(ours.tolist()), theirs.numpy(), rtol=1e-6)


def test_names_of_own_operators():
    assert str(pyburn.ops.aten.add.Tensor) == str(torch.ops.aten.add.Tensor)
    assert str(pyburn.ops.aten.add) == str(torch.ops.aten.add)
    assert not hasattr(pyburn.ops.aten, "no_such_function")


SIGNATURES = [
    ("x: T, k: int, p: float = 0.5, s: str = 'a', b: bool = True", "T", ()),
    ("x: T, y: T | None, sizes: list[int], *, p: float", "T", ("x",)),
    ("xs: list[T]", "tuple[T, T]", ()),
    ("x: T", "None", ("x",)),
]


@pytest.mark.parametrize(("arguments", "returns", "mutates"), SIGNATURES)
def test_inferred_schemas(arguments, returns, mutates):
    texts = []
    for lib in LIBRARIES:
        namespace = {"T": lib.Tensor}
        exec(f"def f({arguments}) -> {returns}: ...", namespace)
        texts.append(lib.library.infer_schema(namespace["f"], mutates_args=mutates))
    assert texts[0] == texts[1]


def test_a_parameter_without_annotation_is_refused():
    for lib in LIBRARIES:
        with pytest.raises(ValueError, match="must have a type annotation"):
            lib.library.infer_schema(lambda x: x, mutates_args=())
