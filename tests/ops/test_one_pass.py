"""Kernels that are one pass over memory: copies, joins, scans, index writes, casts, losses, in-place forms, `out=`."""

import math

import numpy as np
import pyburn
import pytest
import torch
from widths import WIDTHS, check_file

from oracle import from_torch, to_torch

SIZES = [(0,), (1,), (7,), (130,), (8, 8), (33, 65), (300, 257), (70001,)]


def numbers(*shape, dtype=np.float32, special=True):
    """Random numbers, some of which are neither, in torch's memory."""
    values = np.random.default_rng(sum(shape) + 1).standard_normal(shape).astype(dtype)
    if special:
        values.reshape(-1)[3::41] = math.nan
        values.reshape(-1)[5::43] = math.inf
        values.reshape(-1)[6::47] = -math.inf
        values.reshape(-1)[8::53] = -0.0
    return torch.from_numpy(values)


def places(size, *shape):
    return torch.from_numpy(np.random.default_rng(size).integers(0, size, shape))


def same(call, *tensors, exact=True):
    """Both libraries make the same of the same tensors, and write the same into them."""
    ours = [from_torch(tensor) for tensor in tensors]
    theirs = [tensor.clone() for tensor in tensors]
    expected, found = call(torch, *theirs), call(pyburn, *ours)
    tolerance = {"rtol": 0, "atol": 0} if exact else {"rtol": 2e-6, "atol": 1e-6}
    for one, other in zip(listed(expected) + theirs, listed(found) + ours, strict=True):
        assert one.numel() == 0 or tuple(one.stride()) == tuple(other.stride())
        torch.testing.assert_close(to_torch(other), one, equal_nan=True, **tolerance)


def listed(value):
    return list(value) if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("shift", [1, 3, 16, 31])
@pytest.mark.parametrize("length", [5, 127, 128, 129, 257, 4099, 300001])
def test_copies_of_any_alignment(shift, length):
    x = numbers(length + 40)
    same(lambda lib, x: x[shift : shift + length].clone(), x)
    same(lambda lib, x, y: y[:length].copy_(x[shift : shift + length]), x, x * 2)
    same(lambda lib, x, y: y[shift : shift + length].copy_(x[:length]), x, x * 2)
    same(lambda lib, x: x.roll(shift), x)
    same(lambda lib, x: lib.cat([x[shift:], x[:shift], x[:0]]), x)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.float16, torch.float32, torch.float64, torch.complex128])
def test_steps_of_any_type(dtype):
    x = numbers(300, 402, special=False).mul(9).abs().to(dtype)
    same(lambda lib, x: x[:, ::2].clone(), x)
    same(lambda lib, x: x[:, 1::3].contiguous(), x)
    same(lambda lib, x, y: y[:, ::2].copy_(x[:, :201]), x, x + 1)
    same(lambda lib, x: lib.cat([x, x[:, :1], x[:, 5:]], 1), x)
    same(lambda lib, x: lib.cat([x, x[:5]], 0), x)
    same(lambda lib, x: lib.stack([x, x, x], -1), x)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "float16", "int32"])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (300, 257)])
def test_fills(shape, dtype):
    for value in (0, 1, 2.5, True, -0.0, math.inf, math.nan):
        if dtype in ("int64", "int32") and not math.isfinite(value):
            continue
        kind = getattr(torch, dtype), getattr(pyburn, dtype)
        same(lambda lib, value=value, kind=kind: lib.full(shape, value, dtype=kind[lib is pyburn]))
        x = torch.zeros(*shape, 2).to(kind[0])
        same(lambda lib, x, value=value: x.fill_(value), x)
        same(lambda lib, x, value=value: x[..., 1].fill_(value), x)
        same(lambda lib, x: x.zero_(), x + 1)
    x = pyburn.ones(3, requires_grad=True)
    y = x * 2
    y.fill_(3.0)
    y.sum().backward()
    assert x.grad.tolist() == [0.0] * 3


@pytest.mark.parametrize("kind", ["int", "byte", "short", "long"])
def test_floats_to_integers(kind):
    x = numbers(1003).mul(70)
    x[20:30] = torch.tensor([2.0**31, -(2.0**31), 2.0**31 - 128, 3e9, -3e9, 1e30, -0.9, 0.9, 255.7, 256.0])
    if kind == "byte":
        x = x.nan_to_num(0, 0, 0).clamp(0, 255)
    same(lambda lib, x: getattr(x, kind)(), x)
    same(lambda lib, x: getattr(x[1:], kind)(), x)


@pytest.mark.parametrize("op", ["cumsum", "cumprod", "cummax", "cummin", "logcumsumexp"])
@pytest.mark.parametrize("shape", [(1, 1), (5, 130), (67, 33), (2, 3, 40)])
def test_scans(op, shape):
    for special in (False, True):
        x = numbers(*shape, special=special)
        for dim in range(len(shape)):
            same(lambda lib, x, dim=dim: tuple(listed(getattr(x, op)(dim))), x, exact=False)
            same(lambda lib, x, dim=dim: tuple(listed(getattr(x.mT, op)(dim).contiguous())), x, exact=False) if op in (
                "cumsum",
                "cumprod",
            ) else None
    if op != "logcumsumexp":
        whole = places(9, *shape)
        same(lambda lib, x: tuple(listed(getattr(x, op)(0))), whole)
        same(lambda lib, x: tuple(listed(getattr(x, op)(-1))), whole)


def test_scans_back():
    for dim in (0, 1):
        x = numbers(37, 21, special=False)
        ours = from_torch(x).requires_grad_()
        x.requires_grad_()
        (x.cumsum(dim) ** 2).sum().backward()
        (ours.cumsum(dim) ** 2).sum().backward()
        torch.testing.assert_close(to_torch(ours.grad), x.grad, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("shape", [(200,), (40, 65), (5, 7, 33), (300, 257)])
def test_index_writes(shape):
    x, values = numbers(*shape, special=False).mul(4).round(), numbers(*shape, special=False).mul(4).round()
    for dim in range(len(shape)):
        index, line = places(shape[dim], *shape), places(shape[dim], shape[dim])
        same(lambda lib, x, i, v, dim=dim: x.scatter_add_(dim, i, v), x, index, values)
        same(lambda lib, x, i, v, dim=dim: x.scatter_(dim, i, v), x, index, values)
        same(lambda lib, x, i, dim=dim: x.scatter(dim, i, 3.0), x, index)
        same(lambda lib, x, i, v, dim=dim: x.scatter_reduce(dim, i, v, "amax"), x, index, values)
        same(lambda lib, x, i, v, dim=dim: x.scatter_add(dim, i, v).long(), x.long(), index, values.long())
        same(lambda lib, x, i, v, dim=dim: x.index_add(dim, i, v), x, line, values)
        same(
            lambda lib, x, i, v, dim=dim: x.index_copy(dim, i, v),
            x,
            line.unique(),
            values.narrow(dim, 0, len(line.unique())),
        )
        same(lambda lib, x, i, dim=dim: x.index_fill(dim, i, 2.0), x, line - 1)
        same(lambda lib, x, i, dim=dim: x.index_select(dim, i), x, line)
    flat = places(x.numel(), 500)
    same(lambda lib, x, i: x.take(i), x, flat)
    same(lambda lib, x, i: x.take(-1 - i), x, flat)


def test_a_place_filled_twice_has_one_gradient():
    index, value = [1, 1, 2], 5.0
    grads = []
    for lib in (torch, pyburn):
        filling = lib.tensor(value, requires_grad=True)
        lib.zeros(3, 4).index_fill(0, lib.tensor(index), filling).sum().backward()
        grads.append(filling.grad.item())
    assert grads[0] == grads[1] == 8.0


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.int8])
@pytest.mark.parametrize("shape", [(3, 640), (2, 1000), (64, 70)])
def test_top_of_equal_ones(shape, dtype):
    x = numbers(*shape, special=False).mul(3).round().to(dtype)
    if dtype.is_floating_point:
        x.view(-1)[7::91] = math.nan
    for count in (1, 5, 10):
        for dim in (0, 1):
            for largest in (True, False):
                if count <= shape[dim]:
                    same(lambda lib, x, c=count, d=dim, g=largest: tuple(x.topk(c, d, g)), x)


@pytest.mark.parametrize("shape", SIZES)
def test_in_place(shape):
    x = numbers(*shape)
    mask = places(2, *shape).bool()
    same(lambda lib, x: x.relu_(), x)
    same(lambda lib, x: x.clamp_(-0.5, 0.7), x)
    same(lambda lib, x: x.clamp_(0.7, -0.5), x)
    same(lambda lib, x: x.clamp_(max=0.3), x)
    same(lambda lib, x: x.clamp_(min=-0.0, max=math.inf), x)
    same(lambda lib, x: x.clamp_(math.nan, 1.0), x)
    same(lambda lib, x: x.clamp_(-1, 1), x.double())
    same(lambda lib, x: x.clamp_(2, 5), places(9, *shape))
    same(lambda lib, x, m: x.masked_fill_(m, 2.5), x, mask)
    same(lambda lib, x, m: x.masked_fill_(m, -math.inf), x, mask)
    same(lambda lib, x, m: x.masked_fill_(m, 3), places(9, *shape), mask)
    same(lambda lib, x, m: x.__setitem__(m, 1.5) or x, x, mask)
    same(lambda lib, x, m: x.t().__setitem__(m.t(), 1.5) or x, x, mask) if len(shape) == 2 else None
    same(lambda lib, x: x.nan_to_num_(1.0, 2.0), x)
    if len(shape) == 2:
        for diagonal in (-70, -1, 0, 2, 70):
            same(lambda lib, x, d=diagonal: x.tril_(d), x)
            same(lambda lib, x, d=diagonal: x.triu_(d), x)
            same(lambda lib, x, d=diagonal: x.t().triu_(d), x)
        same(lambda lib, x, m: x.masked_fill_(m[0], 2.5), x, mask)
        same(lambda lib, x, m: x[:, 1:].masked_fill_(m[:, 1:], 2.5), x, mask)


def test_in_place_writes_have_a_history():
    results = []
    for lib in (torch, pyburn):
        x = lib.linspace(-2, 2, 16).reshape(4, 4).requires_grad_()
        mask = lib.tensor([[True, False, False, True]])
        y = x * 1
        version = y._version
        y.clamp_(-1, 1.5).masked_fill_(mask, 7.0).tril_().triu_(-2)
        (y * y).sum().backward()
        results.append((y.tolist(), x.grad.tolist(), y._version - version))
        with pytest.raises(RuntimeError, match="leaf"):
            x.clamp_(0, 1)
    assert results[0][:2] == results[1][:2]
    assert results[1][2] > 0


def test_views_of_what_is_written():
    for call in (
        lambda x: x[1:3].clamp_(0.1, 0.2),
        lambda x: x[:, 1].fill_(3),
        lambda x: x.view(-1)[3:9].masked_fill_(x.new_ones(6).bool(), 4),
        lambda x: x[0].relu_(),
    ):
        theirs = torch.linspace(-1, 1, 20).reshape(4, 5)
        ours = from_torch(theirs)
        call(theirs)
        call(ours)
        torch.testing.assert_close(to_torch(ours), theirs, rtol=0, atol=0)


@pytest.mark.parametrize("shape", SIZES)
def test_nan_to_num(shape):
    for dtype in (np.float32, np.float64):
        x = numbers(*shape, dtype=dtype)
        same(lambda lib, x: lib.nan_to_num(x), x)
        same(lambda lib, x: lib.nan_to_num(x, nan=math.inf, posinf=math.nan, neginf=1e300), x)


@pytest.mark.parametrize("shape", SIZES)
def test_written_into_out(shape):
    x, y = numbers(*shape), numbers(*shape[::-1]).reshape(shape)
    for name in ("exp", "abs", "sqrt", "neg", "sigmoid", "floor", "erf"):
        same(lambda lib, x, o, n=name: getattr(lib, n)(x, out=o), x, y, exact=False)
        same(lambda lib, x, o, n=name: getattr(lib, n)(x.double(), out=o), x, y.double(), exact=False)
        same(lambda lib, x, n=name: getattr(lib, n)(x, out=x), x, exact=False)
    for name in ("add", "sub", "mul", "div"):
        same(lambda lib, x, y, o, n=name: getattr(lib, n)(x, y, out=o), x, y, x * 0)
        same(lambda lib, x, o, n=name: getattr(lib, n)(x, 2.5, out=o), x, y)
        same(lambda lib, x, y, n=name: getattr(lib, n)(x, y, out=x), x, y)


def test_out_is_checked():
    x = pyburn.ones(3, requires_grad=True)
    with pytest.raises(RuntimeError, match="automatic differentiation"):
        pyburn.exp(x, out=pyburn.empty(3))
    with pytest.warns(UserWarning, match="resized"):
        assert pyburn.exp(x.detach(), out=pyburn.empty(2)).shape == (3,)
    out = pyburn.zeros(4)
    before = out._version
    assert pyburn.add(pyburn.ones(4), 1, out=out) is out
    assert out._version > before
    with pytest.raises(RuntimeError):
        pyburn.exp(out[:3], out=out[1:])


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_differences(name, reduction):
    more = {"smooth_l1_loss": {"beta": 0.3}, "huber_loss": {"delta": 1.7}}.get(name, {})
    for dtype in (np.float32, np.float64):
        for options in ({}, more):
            grads = []
            for lib in (torch, pyburn):
                x = numbers(40, 65, dtype=dtype, special=False)
                y = numbers(65, 40, dtype=dtype, special=False).reshape(40, 65)
                x.view(-1)[3] = y.view(-1)[3]
                x, y = (x, y) if lib is torch else (from_torch(x), from_torch(y))
                x.requires_grad_()
                y.requires_grad_()
                loss = getattr(lib.nn.functional, name)(x, y, reduction=reduction, **options)
                slopes = lib.autograd.grad(loss.sum() * 3, (x, y), create_graph=True)
                (slopes[0] * slopes[0]).sum().backward()
                parts = [loss, *slopes, x.grad, y.grad]
                grads.append([p.detach() if lib is torch else to_torch(p.detach()) for p in parts])
                plain = lib.autograd.grad(getattr(lib.nn.functional, name)(x, y, reduction=reduction).sum(), (x, y))
                grads[-1] += [p if lib is torch else to_torch(p) for p in plain]
            for expected, found in zip(*grads, strict=True):
                torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", ["mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"])
def test_losses_of_special_numbers(name):
    x, y = numbers(300), numbers(300).flip(0)
    same(lambda lib, x, y: getattr(lib.nn.functional, name)(x, y, reduction="none"), x, y, exact=False)
    same(lambda lib, x, y: getattr(lib.nn.functional, name)(x[:0], y[:0]), x, y)
    with pytest.warns(UserWarning, match="size"):
        same(lambda lib, x, y: getattr(lib.nn.functional, name)(x[:, None], y[:7]), x[:5], y, exact=False)


def test_equal():
    for dtype in (torch.float32, torch.float64, torch.int64, torch.bool, torch.float16, torch.complex64):
        x = numbers(300, 257, special=False).to(dtype)
        for place in (None, 0, 5000, 77099):
            y = x.clone()
            if place is not None:
                y.view(-1)[place] = ~y.view(-1)[place] if dtype == torch.bool else y.view(-1)[place] + 7
            assert pyburn.equal(from_torch(x), from_torch(y)) == torch.equal(x, y) == (place is None)
    zero = pyburn.zeros(4)
    assert pyburn.equal(zero, -zero)
    assert not pyburn.equal(zero * math.nan, zero * math.nan)
    assert pyburn.equal(zero[:0], zero[:0])
    assert pyburn.equal(from_torch(torch.ones(3, 2)).t(), from_torch(torch.ones(2, 3)))


@pytest.mark.parametrize("most", [1, 7, 4000, 9000])
def test_bincount(most):
    for length in (0, 1, 5, 1003):
        same(lambda lib, x: x.bincount(minlength=9), places(most, length))
        same(lambda lib, x: x.int().bincount(), places(most, length))
    with pytest.raises(RuntimeError, match="non-negative"):
        pyburn.bincount(pyburn.tensor([1, -1]))


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize(
    "windows", [(2, 2, 0, 1, False), (2, 2, 0, 1, True), (3, 2, 1, 1, False), (3, 1, 1, 2, True), (2, 3, 1, 1, True)]
)
def test_maxima_without_places(dims, windows):
    for size in (17, 40):
        x = numbers(2, 3, *[size, 23, 9][-dims:] if dims > 1 else [size])
        for dtype in (torch.float32, torch.float64, torch.float16):
            same(lambda lib, x: getattr(lib.nn.functional, f"max_pool{dims}d")(x, *windows), x.to(dtype))
    same(lambda lib, x: lib.nn.functional.max_pool2d(x, 2), numbers(1, 1, 300, 257))


@pytest.mark.parametrize(("kernel", "divisor"), [(2, None), (4, None), (3, None), (2, 3), (2, 8), (1, None)])
def test_averages_by_powers_of_two(kernel, divisor):
    x = numbers(2, 3, 33, 40, special=False)
    for padding in (0, kernel // 2):
        for counted in (True, False):
            same(
                lambda lib, x, p=padding, c=counted: lib.nn.functional.avg_pool2d(
                    x, kernel, None, p, True, c, divisor_override=divisor
                ),
                x,
                exact=False,
            )
    same(lambda lib, x: lib.nn.functional.avg_pool1d(x, 2), x[0], exact=False)
    same(lambda lib, x: lib.nn.functional.avg_pool2d(x, 2), x.mul(9).long())


@pytest.mark.parametrize("size", [(66, 80), (33, 80), (99, 40), (20, 7), (33, 40)])
def test_nearest(size):
    x = numbers(2, 3, 33, 40)
    for mode in ("nearest", "nearest-exact"):
        same(lambda lib, x, m=mode: lib.nn.functional.interpolate(x, size, mode=m), x)
    x = numbers(1, 1, 300, 257)
    same(lambda lib, x: lib.nn.functional.interpolate(x, scale_factor=2), x)


def test_complex_of_two():
    re, im = numbers(33, 40), numbers(40, 33)
    same(lambda lib, x, y: lib.complex(x, y.t()), re, im)
    same(lambda lib, x, y: lib.complex(x, y[:, :1].t()), re.double(), im[:40].double())
    same(lambda lib, x: lib.complex(x[:0], x[:0]), re)
    same(lambda lib, x: lib.complex(x, -x), numbers(300, 257))


@pytest.mark.parametrize("most", [5, 2**32 - 1, 2**32, 2**33, 2**63 - 1])
def test_sorts_of_whole_numbers(most):
    x = places(most, 3, 200)
    x[:, ::7], x[1] = most, -x[1] - 1
    x[2, 5:9] = torch.tensor([0, -1, most, -most])
    for down in (False, True):
        same(lambda lib, x, d=down: tuple(x.sort(1, descending=d)), x)
        same(lambda lib, x, d=down: tuple(x.sort(dim=0, descending=d, stable=True)), x)
        same(lambda lib, x, d=down: tuple(x.topk(9, 1, largest=d)), x)
    same(lambda lib, x: tuple(x.kthvalue(17, 1)), x)
    same(lambda lib, x: x.median(1).values, x)
    same(lambda lib, x: tuple(lib.unique(x, return_inverse=True)), x)


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses_of_classes(reduction):
    target = places(7, 20)
    target[3::5] = -100
    weight = numbers(7, special=False).abs()
    for chosen, of in ((target, None), (target, weight), (target.clamp_min(0), None)):
        results = []
        for lib in (torch, pyburn):
            x = numbers(20, 7, special=False)
            x, labels, factor = (x, chosen, of) if lib is torch else (from_torch(x), from_torch(chosen), of)
            factor = from_torch(of) if lib is pyburn and of is not None else factor
            x.requires_grad_()
            loss = lib.nn.functional.nll_loss(x, labels, factor, reduction=reduction)
            (slope,) = lib.autograd.grad((loss * 3).sum(), x)
            results.append([v.detach() if lib is torch else to_torch(v.detach()) for v in (loss, slope)])
        for expected, found in zip(*results, strict=True):
            torch.testing.assert_close(found, expected, equal_nan=True)


def test_polygamma():
    x = torch.cat([torch.linspace(0.1, 30, 400), torch.tensor([1e-3, 100.0, 1e5, math.nan])])
    for order in (1, 2, 3, 5):
        for value in (x, x.double()):
            ours = to_torch(pyburn.polygamma(order, from_torch(value)))
            torch.testing.assert_close(ours, torch.polygamma(order, value), rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 15, 16, 17])
def test_rows_that_all_pixels_share(channels):
    """Numbers of a channel beside pixels whose channels lie side by side, whole and cut out, also in place."""
    pixels, w = numbers(2, 9, 40, channels), numbers(1, channels, 1, 1, special=False)
    functions = [
        *(lambda x, w: (x - w) / w, lambda x, w: w * x[:, :, 1:-1, 3:-5], lambda x, w: w / x, lambda x, w: w - x),
        *(lambda x, w: x.mul_(w), lambda x, w: x[..., 2:].sub_(w), lambda x, w: x + w[:, :1], lambda x, w: x / w[0]),
        *(lambda x, w: x.div_(w), lambda x, w: x[:, :, :, ::2] + w, lambda x, w: x.mul_(x[:1, :, :1, :1].clone())),
    ]
    for function in functions:
        found = function(from_torch(pixels).permute(0, 3, 1, 2), from_torch(w))
        expected = function(pixels.clone().permute(0, 3, 1, 2), w)
        torch.testing.assert_close(to_torch(found), expected, equal_nan=True, rtol=0, atol=0)


@pytest.mark.parametrize("width", WIDTHS)
def test_narrower_vectors(width):
    check_file(__file__, width)
