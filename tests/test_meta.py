"""Tensors without values: the shapes, dtypes and strides that torch gives on its meta device, and what it refuses."""

from __future__ import annotations

import copy
import io
import pickle

import pyburn
import pytest
import torch

from tests.oracle import dtype_name

X = "lib.empty(2, 3, device='meta')"
IMAGE = "lib.empty(2, 3, 8, 9, device='meta')"
LONG = "lib.zeros(2, 1, dtype=lib.int64, device='meta')"
HUGE = "lib.empty(10**6, 10**6, device='meta')"

CALLS = [
    "x.t()", "x.expand(4, 2, 3)", "x[:, 1:]", "x[0]", "x.unfold(1, 2, 1)", "x.permute(1, 0).contiguous()", "x.t() + 1",
    "x.to(lib.float64)", "x.half() + x", "x.long() // 2", "x > 0", "x.view(lib.int32)", "x.flatten()", "x.reshape(-1)",
    "x.sum()", "x.mean(0)", "x.max(1).indices", "x.argmax()", "x.sort().values", "x.topk(2).indices", "x.cumsum(0)",
    "lib.cat([x, x])", "lib.stack([x, x], 1)", "x @ x.t()", "lib.einsum('ij,kj->ik', x, x)", "lib.fft.rfft(x)",
    "x.softmax(-1)", "nn.functional.layer_norm(x, (3,))", "nn.functional.embedding(index, x)", "x.norm()", "x.std()",
    "nn.functional.one_hot(index, 5)", "x.gather(1, index)", "x.index_select(0, index[:, 0])",
    "x.masked_fill(x > 0, 1.0)",
    "x.scatter_add(0, index, x)", "lib.where(x > 0, x, 0)", "x.clamp(0)", "x.flip(0)", "x.roll(1)", "x.repeat(2, 2)",
    "lib.eye(3, device='meta')", "lib.linspace(0, 1, 5, device='meta')", "lib.full((2,), 7, device='meta')",
    "lib.arange(3, device='meta')", "lib.tensor([1, 2], device='meta')", "lib.randn(2, 4, device='meta')",
    "lib.randint(3, (2,), device='meta')", "lib.randperm(4, device='meta')", "lib.multinomial(x, 2)",
    "lib.bernoulli(x)",
    "x.new_zeros(3)", "lib.rand_like(x)", "lib.empty_like(x.t())", "x.logsumexp(1)", "lib.cdist(x, x)", "x.median()",
    "nn.functional.conv2d(image, lib.empty(4, 3, 3, 3, device='meta'), padding=1, stride=2)",
    "nn.functional.conv_transpose2d(image, lib.empty(3, 5, 2, 2, device='meta'), stride=2)",
    "nn.functional.max_pool2d(image, 2)", "nn.functional.avg_pool2d(image, 3, 1)", "nn.functional.pad(x, (1, 1))",
    "nn.functional.adaptive_avg_pool2d(image, 1)", "nn.functional.interpolate(image, scale_factor=2)",
    "nn.functional.batch_norm(image, None, None, training=True)", "nn.functional.group_norm(image, 3)",
    "nn.functional.scaled_dot_product_attention(image, image, image)", "nn.functional.gelu(x)", "x.bfloat16() * 2",
    "nn.functional.cross_entropy(x, index[:, 0])", "nn.functional.mse_loss(x, x)", "nn.functional.dropout(x)",
    "nn.Linear(3, 4, device='meta')(x)", "nn.LSTM(3, 5, device='meta')(x)[0]", "nn.GRUCell(3, 5, device='meta')(x)",
    "nn.TransformerEncoderLayer(4, 2, 8, device='meta')(lib.empty(3, 2, 4, device='meta'))", "lib.complex(x, x)",
    "x.add_(1)", "x.fill_(3)", "x.mul_(x)", "x.uniform_()", "x.copy_(lib.ones(2, 3))", "x + lib.ones(())",
    "lib.ones(2).to(x)",
    "huge * 2 + 1", "huge.t() @ huge", "huge.sum(1)", "huge.softmax(-1)",
    "nn.Linear(10**6, 10**6, device='meta')(huge[:7])",
    "lib.empty(0, 3, device='meta').sum(0)", "x.prod()", "x.any()", "lib.tril(x)", "x.var(0)", "x.quantile(0.5)",
    "lib.linalg.inv(x[:, :2])", "lib.linalg.solve(x[:, :2], x)", "x[index]",
    "x[lib.tensor([0])]",
]  # fmt: skip

REFUSED = [
    "x.tolist()", "x[0, 0].item()", "x.numpy()", "x.cpu()", "x.to('cpu')", "bool(x[0, 0])", "float(x[0, 0])",
    "x.nonzero()",
    "x[x > 0]", "lib.masked_select(x, x > 0)", "lib.bincount(index[:, 0])", "lib.equal(x, x)", "lib.allclose(x, x)",
    "x.unique()", "lib.unique_consecutive(x)", "nn.functional.one_hot(index)", "lib.ones(5)[index[0, 0]]",
    "lib.zeros(2, 3).copy_(x)", "x + lib.ones(3)", "lib.where(x > 0)", "nn.Linear(3, 4, device='meta').to('cpu')",
]  # fmt: skip


def evaluated(call: str, lib):
    names = {"lib": lib, "nn": lib.nn, "x": eval(X), "image": eval(IMAGE), "index": eval(LONG), "huge": eval(HUGE)}
    return eval(call, names)


@pytest.mark.parametrize("call", CALLS)
def test_shapes_without_values(call):
    ours, theirs = evaluated(call, pyburn), evaluated(call, torch)
    assert (ours.is_meta, ours.device.type) == (True, "meta")
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert dtype_name(ours.dtype) == dtype_name(theirs.dtype)
    assert ours.stride() == theirs.stride()
    assert ours.requires_grad == theirs.requires_grad
    assert ours.data_ptr() == 0


@pytest.mark.parametrize("call", REFUSED)
def test_values_are_refused_as_in_torch(call):
    with pytest.raises(Exception) as theirs:  # noqa: PT011
        evaluated(call, torch)
    with pytest.raises(type(theirs.value)) as ours:
        evaluated(call, pyburn)
    if "Cannot copy out of meta" in str(theirs.value):
        assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(
    "call",
    ["x", "x.long()", "x[0, 0]", "x.double().requires_grad_()", "lib.empty(0, device='meta')", "nn.Parameter(x)"],
)
def test_printing(call):
    assert repr(evaluated(call, pyburn)).replace("pyburn.", "torch.") == repr(evaluated(call, torch))


def model(lib):
    nn = lib.nn
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 10))


def test_a_module_under_the_device_makes_no_values():
    state = pyburn.get_rng_state()
    with pyburn.device("meta"):
        net = model(pyburn)
        out = net(pyburn.ones(2, 3, 8, 8))
    assert pyburn.equal(pyburn.get_rng_state(), state)
    assert all(p.is_meta for p in [*net.parameters(), *net.buffers()])
    assert (out.shape, out.device.type, out.requires_grad) == ((2, 10), "meta", True)
    out.sum().backward()
    optimizer = pyburn.optim.Adam(net.parameters())
    optimizer.step()
    assert net[0].weight.grad.shape == (8, 3, 3, 3)
    net.to_empty(device="cpu")
    assert net[0].weight.device.type == "cpu"
    assert net(pyburn.ones(2, 3, 8, 8)).shape == (2, 10)


def test_loading_into_a_module_without_values():
    real = model(pyburn)
    empty = copy.deepcopy(real).to("meta")
    with pytest.warns(UserWarning, match="which is a no-op"):
        empty.load_state_dict(real.state_dict())
    assert empty[0].weight.is_meta
    empty.load_state_dict(real.state_dict(), assign=True)
    assert empty[0].weight.requires_grad
    assert pyburn.equal(empty.eval()(pyburn.ones(1, 3, 8, 8)), real.eval()(pyburn.ones(1, 3, 8, 8)))
    with pytest.raises(RuntimeError, match="no data"):
        real.load_state_dict({name: value.to("meta") for name, value in real.state_dict().items()})


def test_a_module_stands_for_the_form_of_many():
    models = [pyburn.nn.Linear(3, 4) for _ in range(3)]
    base = copy.deepcopy(models[0]).to("meta")
    params, buffers = pyburn.func.stack_module_state(models)

    def call(params, buffers, x):
        return pyburn.func.functional_call(base, (params, buffers), (x,))

    x = pyburn.randn(5, 3)
    found = pyburn.vmap(call, in_dims=(0, 0, None))(params, buffers, x)
    assert pyburn.allclose(found, pyburn.stack([net(x) for net in models]))


def test_files_and_copies_keep_the_form():
    x = pyburn.empty(2, 3, device="meta").t().requires_grad_()
    buffer = io.BytesIO()
    pyburn.save({"x": x, "p": pyburn.nn.Parameter(x.detach())}, buffer)
    buffer.seek(0)
    theirs = torch.load(buffer, weights_only=True)
    assert (theirs["x"].device.type, theirs["x"].stride(), theirs["p"].requires_grad) == ("meta", (1, 3), True)
    buffer = io.BytesIO()
    torch.save(theirs, buffer)
    buffer.seek(0)
    for found in (pyburn.load(buffer)["x"], pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert (found.is_meta, found.shape, found.stride(), found.requires_grad) == (True, (3, 2), (1, 3), True)


def test_the_default_device():
    pyburn.set_default_device("meta")
    try:
        assert pyburn.nn.Linear(2, 3)(pyburn.ones(4, 2)).is_meta
    finally:
        pyburn.set_default_device("cpu")
    assert str(pyburn.device("meta")) == "meta"
