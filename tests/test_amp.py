"""autocast's dtypes are torch's, and GradScaler takes torch's decisions."""

from __future__ import annotations

import subprocess
import sys

import pyburn
import pytest
import torch
from pyburn.nn.functional import cross_entropy, mse_loss

EXPRESSIONS = [
    "a @ a",
    "t.mm(a, a)",
    "a.mv(a[0])",
    "t.addmm(a, a, a)",
    "t.baddbmm(a[None], a[None], a[None])",
    "t.dot(a[0], a[0])",
    "t.einsum('ij,jk->ik', a, a)",
    "a.double() @ a.double()",
    "F.linear(a, a)",
    "F.conv1d(a[None], a[None])",
    "F.conv2d(a[None, None], a[None, None])",
    "F.conv_transpose1d(a[None], a[:, :, None])",
    "F.prelu(a, a[0])",
    "F.scaled_dot_product_attention(a[None], a[None], a[None])",
    "t.softmax(a @ a, 1)",
    "F.layer_norm(a @ a, (2,))",
    "F.gelu(a @ a)",
    "t.cat([a, a @ a])",
    "t.stack([a, a @ a])",
    "(a @ a) + a",
    "(a @ a).sum()",
    "t.prod(a @ a)",
    "(a @ a).prod()",
    "F.cross_entropy(a @ a, t.tensor([0, 1]))",
    "F.mse_loss(a @ a, a @ a)",
    "F.l1_loss(a @ a, a)",
    "F.binary_cross_entropy(t.sigmoid(a @ a), a)",
    "F.binary_cross_entropy_with_logits(a @ a, a)",
    "F.nll_loss(a @ a, t.tensor([0, 1]))",
    "t.nn.BatchNorm1d(2)(a @ a)",
    "t.nn.CrossEntropyLoss()(a @ a, t.tensor([0, 1]))",
    "t.nn.MultiheadAttention(2, 1)(a, a, a)[0]",
    "t.nn.Sequential(t.nn.Linear(2, 3), t.nn.ReLU(), t.nn.Linear(3, 1))(a)",
]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_dtypes_are_torchs(expression, dtype):
    found = []
    for library in (torch, pyburn):
        a = library.ones(2, 2)
        with library.autocast("cpu", dtype=getattr(library, dtype)):
            result = eval(expression, {"t": library, "F": library.nn.functional, "a": a})
        found.append((str(result.dtype).partition(".")[2], list(result.shape)))
    assert found[0] == found[1]


def test_values_are_those_of_half_precision():
    values = []
    for library in (torch, pyburn):
        library.manual_seed(0)
        a, b = library.randn(16, 16), library.randn(16, 16)
        with library.autocast("cpu"):
            values.append((a @ b).float().tolist())
    ours, theirs = pyburn.tensor(values[1]), pyburn.tensor(values[0])
    # One unit of bfloat16's eight bits.
    assert pyburn.allclose(ours, theirs, rtol=2**-7, atol=2**-7)
    assert not pyburn.equal(ours, a @ b)


@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_recurrent_layers_run_inside(kind):
    layer = getattr(pyburn.nn, kind)(2, 3)
    with pyburn.autocast("cpu"):
        output, _ = layer(pyburn.ones(4, 2))
    output.float().sum().backward()
    assert all(weight.grad is not None and weight.grad.dtype == pyburn.float32 for weight in layer.parameters())


def test_gradients_come_back_in_full_precision():
    model = pyburn.nn.Linear(3, 2)
    with pyburn.autocast("cpu"):
        loss = pyburn.nn.functional.mse_loss(model(pyburn.ones(4, 3)), pyburn.zeros(4, 2))
    assert loss.dtype == pyburn.float32
    loss.backward()
    assert model.weight.grad.dtype == pyburn.float32


def test_blocks_nest_and_end():
    x = pyburn.ones(2, 2)
    with pyburn.autocast("cpu"):
        with pyburn.autocast("cpu", enabled=False):
            assert (x @ x).dtype == pyburn.float32 and not pyburn.is_autocast_enabled("cpu")
        with pyburn.autocast("cpu", dtype=pyburn.float16):
            assert (x @ x).dtype == pyburn.float16 and pyburn.get_autocast_dtype("cpu") == pyburn.float16
        assert (x @ x).dtype == pyburn.bfloat16
    assert (x @ x).dtype == pyburn.float32

    @pyburn.autocast("cpu")
    def product():
        return x @ x

    assert product().dtype == pyburn.bfloat16 and (x @ x).dtype == pyburn.float32


@pytest.mark.parametrize("library", [torch, pyburn])
def test_a_device_that_is_not_here_warns_and_does_nothing(library):
    with pytest.warns(UserWarning, match="Disabling"):
        block = library.autocast("cuda")
    with block:
        assert (library.ones(2, 2) @ library.ones(2, 2)).dtype == library.float32
    with pytest.warns(UserWarning, match="Disabling"):
        scaler = library.amp.GradScaler("cuda")
    assert not scaler.is_enabled() and scaler.get_scale() == 1.0 and scaler.state_dict() == {}


def test_an_unknown_device_type_raises():
    with pytest.raises(RuntimeError, match="nope"):
        pyburn.autocast("nope")
    with pytest.warns(UserWarning, match="not supported"):
        pyburn.autocast("cpu", dtype=pyburn.float32)


def scaled_steps(library: object, bad_step: int) -> list[tuple[float, float]]:
    """The weight and the scale after each of six steps, one of them with an infinite gradient."""
    weight = library.ones(1, requires_grad=True)
    optimizer = library.optim.SGD([weight], lr=0.1)
    scaler = library.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
    history = []
    for step in range(6):
        optimizer.zero_grad()
        loss = (weight * (float("inf") if step == bad_step else 2.0)).sum()
        scaler.scale(loss).backward()
        if step % 2:
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
        history.append((round(weight.item(), 5), scaler.get_scale()))
    return history


@pytest.mark.parametrize("bad_step", [0, 3, 9])
def test_scaler_takes_torchs_decisions(bad_step):
    assert scaled_steps(pyburn, bad_step) == scaled_steps(torch, bad_step)


def test_scaler_state_both_ways():
    ours, theirs = pyburn.amp.GradScaler("cpu", init_scale=4.0), torch.amp.GradScaler("cpu")
    assert set(ours.state_dict()) == set(theirs.state_dict())
    theirs.load_state_dict(ours.state_dict())
    assert theirs.get_scale() == 4.0
    with pytest.raises(RuntimeError, match="empty"):
        ours.load_state_dict({})


def test_scaler_refuses_the_wrong_order():
    weight = pyburn.ones(1, requires_grad=True)
    optimizer, scaler = pyburn.optim.SGD([weight], lr=0.1), pyburn.amp.GradScaler("cpu")
    scaler.scale(weight.sum()).backward()
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.step(optimizer)
    scaler.update()
    with pytest.raises(RuntimeError, match="No inf checks"):
        scaler.update()


def test_custom_functions_say_what_they_compute_in():
    class Product(pyburn.autograd.Function):
        @staticmethod
        @pyburn.amp.custom_fwd(device_type="cpu", cast_inputs=pyburn.float32)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        @pyburn.amp.custom_bwd(device_type="cpu")
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            return grad @ b.t(), a.t() @ grad

    x = pyburn.ones(2, 2, requires_grad=True)
    with pyburn.autocast("cpu"):
        y = Product.apply(x, x)
    assert y.dtype == pyburn.float32
    y.sum().backward()
    assert x.grad.tolist() == [[4.0, 4.0]] * 2


@pytest.mark.parametrize("loss", [cross_entropy, mse_loss])
def test_losses_that_were_imported_before_the_first_block_are_full_too(loss):
    """A name of one's own for a function, such as a Learner's loss, was computed in half precision."""
    scores = pyburn.randn(4, 3, generator=pyburn.Generator().manual_seed(0))
    target = pyburn.tensor([0, 1, 2, 0]) if loss is cross_entropy else scores * 0
    with pyburn.autocast("cpu", dtype=pyburn.float16):
        found = loss(scores @ pyburn.eye(3), target)
    assert loss is getattr(pyburn.nn.functional, loss.__name__)
    assert found.dtype == pyburn.float32
    expected = loss(scores.half().float(), target)
    assert float(found) == pytest.approx(float(expected), rel=1e-6)
    assert loss(scores, target, reduction="sum").shape == ()


def test_losses_are_full_however_their_functions_were_changed_before():
    """Arguments that take calls over change the same functions: neither may undo, or hide, what the other did."""
    program = """
import inspect, pyburn
from pyburn import _overriding
from pyburn.nn import functional as F
x = pyburn.ones(2, 2)
def loss():
    with pyburn.autocast("cpu"):
        return F.mse_loss(x @ x, x).dtype
_overriding.arm(keep=False)
assert loss() is pyburn.float32
assert list(inspect.signature(F.mse_loss).parameters)[:2] == ["input", "target"]
_overriding.disarm()
assert loss() is pyburn.float32
assert list(inspect.signature(F.mse_loss).parameters)[:2] == ["input", "target"]
_overriding.arm(keep=False)
assert loss() is pyburn.float32
assert list(inspect.signature(F.mse_loss).parameters)[:2] == ["input", "target"]
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
