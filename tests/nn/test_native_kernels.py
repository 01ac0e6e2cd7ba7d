"""The native normalizations, class losses and recurrent sequences: odd sizes, both ways, any number of threads."""

import numpy as np
import pyburn
import pytest

from oracle import Case, check_error, check_op

RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def same_numbers_in_any_order():
    RNG.bit_generator.state = np.random.default_rng(0).bit_generator.state


def normal(*shape):
    return RNG.standard_normal(shape) * 2 + 1


@pytest.mark.parametrize("size", [2, 7, 32, 33, 100])
@pytest.mark.parametrize("affine", [(True, True), (True, False), (False, False)])
def test_layer_norm(size, affine):
    x, weight, bias = normal(5, 3, size), normal(size), normal(size)

    def run(lib, x, weight, bias):
        return lib.nn.functional.layer_norm(x, (size,), weight if affine[0] else None, bias if affine[1] else None)

    used = Case(weight, requires_grad=affine[0]), Case(bias, requires_grad=affine[1])
    check_op(run, x, *used, dtypes=["float64"], rtol=1e-6, atol=1e-6)
    check_op(run, x, *used, dtypes=["float32"], rtol=1e-4, atol=1e-4)


def test_layer_norm_over_two_dims_and_its_second_derivative():
    def run(lib, x, weight, bias):
        return lib.nn.functional.layer_norm(x, (3, 4), weight, bias)

    check_op(run, normal(6, 3, 4), normal(3, 4), normal(3, 4), gradgrad=True, rtol=1e-6, atol=1e-6)
    check_op(run, normal(4, 3, 6).T, normal(3, 4), normal(3, 4), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_group_norm(groups):
    def run(lib, x, weight, bias):
        return lib.nn.functional.group_norm(x, groups, weight, bias), lib.nn.functional.group_norm(x, groups)

    check_op(run, normal(3, 6, 3, 5), normal(6), normal(6), gradgrad=True, rtol=1e-6, atol=1e-6)
    check_op(run, normal(3, 6, 3, 5), normal(6), normal(6), dtypes=["float32"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(4, 3, 2, 5), (2, 3, 33), (5, 3, 2, 2, 2)])
def test_batch_norm(training, shape):
    def run(lib, x, weight, bias):
        mean, var = lib.zeros(3, dtype=x.dtype) + 0.5, lib.ones(3, dtype=x.dtype) * 2
        y = lib.nn.functional.batch_norm(x, mean, var, weight, bias, training)
        return y, mean, var, lib.nn.functional.batch_norm(x, mean, var, training=training)

    check_op(run, normal(*shape), normal(3), normal(3), gradgrad=True, rtol=1e-6, atol=1e-6)
    check_op(run, normal(*shape), normal(3), normal(3), dtypes=["float32"], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(2, 1), (5, 3), (70, 16), (33, 37), (300, 96), (130, 300)])
def test_batch_norm_of_columns(training, shape):
    channels = shape[1]

    def run(lib, x, weight, bias):
        mean, var = lib.zeros(channels, dtype=x.dtype) + 0.5, lib.ones(channels, dtype=x.dtype) * 2
        y = lib.nn.functional.batch_norm(x, mean, var, weight, bias, training)
        return y, mean, var, lib.nn.functional.batch_norm(x, mean, var, training=training)

    small = shape[0] * channels < 100
    check_op(run, normal(*shape), normal(channels), normal(channels), gradgrad=small, rtol=1e-6, atol=1e-6)
    check_op(run, normal(*shape), normal(channels), normal(channels), dtypes=["float32"], rtol=1e-4, atol=1e-4)


def test_instance_norm_and_halves():
    check_op(lambda lib, x: lib.nn.functional.instance_norm(x), normal(2, 3, 11), gradgrad=True, rtol=1e-6, atol=1e-6)
    x, weight = Case(normal(4, 9), "bfloat16"), Case(normal(9), "bfloat16")
    check_op(lambda lib, x, w: lib.nn.functional.layer_norm(x, (9,), w), x, weight, rtol=3e-2, atol=3e-2)


def test_norms_of_special_values():
    rows = [[1.0, np.nan, 2.0], [np.inf, 0.0, 1.0], [3.0, 3.0, 3.0], [1e20, -1e20, 0.0]]
    check_op(lambda lib, x: lib.nn.functional.layer_norm(x, (3,)), Case(rows, "float32"), grad=False)


def test_unwanted_gradients_are_not_made():
    x, weight, bias = pyburn.randn(4, 8), pyburn.ones(8, requires_grad=True), pyburn.zeros(8)
    pyburn.nn.functional.layer_norm(x, (8,), weight, bias).sum().backward()
    assert x.grad is None and bias.grad is None and weight.grad.shape == (8,)


@pytest.mark.parametrize("shape", [(5, 4), (4,), (3, 4, 70), (2, 4, 3, 5)])
@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_cross_entropy(shape, reduction):
    rest = shape[:1] + shape[2:] if len(shape) > 1 else ()
    target = RNG.integers(0, 4, rest)
    weight = np.array([0.5, 2.0, 1.0, 0.0])

    def run(lib, x, target, weight):
        f = lib.nn.functional.cross_entropy
        return (
            f(x, target, reduction=reduction),
            f(x, target, weight, reduction=reduction),
            f(x, target, ignore_index=1, reduction=reduction),
        )

    arguments = normal(*shape), target, Case(weight, requires_grad=False)
    check_op(run, *arguments, gradgrad=True, rtol=1e-6, atol=1e-6)
    weight = Case(weight, "float32", requires_grad=False)
    check_op(run, Case(normal(*shape), "float32"), target, weight, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
@pytest.mark.parametrize(("score", "ignored"), [(0.5, -100), (0.5, 2), (np.inf, -100)])
def test_classes_without_weight_are_not_ignored(reduction, score, ignored):
    x = np.array([[0.1, 0.2, score], [0.3, 0.1, 0.2]])
    weight, target = Case(np.array([1.0, 1.0, 0.0]), requires_grad=False), np.array([2, 2])

    def run(lib, x, weight, target):
        return lib.nn.functional.cross_entropy(x, target, weight, None, ignored, reduction=reduction)

    check_op(run, x, weight, target)


def test_cross_entropy_of_special_values():
    rows, target = (
        [[0.0, np.inf], [np.nan, 0.0], [-np.inf, 0.0], [1e4, -1e4], [np.nan, np.nan]],
        np.array([0, 1, 1, 1, -100]),
    )
    check_op(
        lambda lib, x, t: lib.nn.functional.cross_entropy(x, t, reduction="none"),
        Case(rows, "float32", requires_grad=False),
        target,
    )


@pytest.mark.parametrize("wrong", [4, -1, 10**12])
def test_classes_out_of_bounds(wrong):
    check_error(lambda lib, x, t: lib.nn.functional.cross_entropy(x, t), np.zeros((2, 4)), np.array([0, wrong]))


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
@pytest.mark.parametrize("options", [{}, {"bias": False}, {"bidirectional": True, "num_layers": 2}])
def test_recurrent_layers(name, options):
    rng = np.random.default_rng(1)
    double = 2 if options.get("bidirectional") else 1
    gates = 4 if name == "LSTM" else 3
    shapes = []
    for layer in range(options.get("num_layers", 1)):
        for _ in range(double):
            width = 3 if layer == 0 else 5 * double
            shapes += [(gates * 5, width), (gates * 5, 5), *([(gates * 5,)] * 2 if options.get("bias", True) else [])]
    state = Case(rng.standard_normal((options.get("num_layers", 1) * double, 2, 5)), "float32")

    def run(lib, x, state, *weights):
        layer = getattr(lib.nn, name)(3, 5, **options)
        for p, value in zip(layer.parameters(), weights, strict=True):
            p.requires_grad_(False)
            p.copy_(value.detach())
        own = dict(zip((key for key, _ in layer.named_parameters()), weights, strict=True))
        given = (state, state * 0.5) if name == "LSTM" else state
        output, last = lib.func.functional_call(layer, own, (x, given))
        return output, last

    weights = [Case(rng.standard_normal(shape) * 0.5, "float32") for shape in shapes]
    x = Case(rng.standard_normal((6, 2, 3)), "float32")
    check_op(run, x, state, *weights, rtol=1e-4, atol=1e-5)


def test_threads_agree():
    before = pyburn.get_num_threads()
    x, image = pyburn.randn(300, 333), pyburn.randn(4, 8, 60, 60)
    classes = pyburn.arange(300)

    def run():
        a, b = x.clone().requires_grad_(), image.clone().requires_grad_()
        weight = pyburn.ones(333, requires_grad=True)
        pyburn.nn.functional.layer_norm(a, (333,), weight).square().sum().backward()
        pyburn.nn.functional.batch_norm(b, None, None, training=True).square().sum().backward()
        pyburn.nn.functional.cross_entropy(a, classes).backward()
        return a.grad, b.grad, weight.grad

    try:
        results = []
        for threads in (1, 2, 3):
            pyburn.set_num_threads(threads)
            results.append(run())
    finally:
        pyburn.set_num_threads(before)
    for other in results[1:]:
        assert all(pyburn.equal(p, q) for p, q in zip(results[0], other, strict=True))
