"""torch.nested: what computes with tensors of different sizes, against torch."""

import copy
import pickle

import pyburn
import pytest
import torch

from oracle import check_error

pytestmark = pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")


def inputs(lib):
    lib.manual_seed(0)
    n = lib.nested.nested_tensor([lib.arange(3.0), lib.arange(2.0) - 1])
    m = lib.nested.nested_tensor([lib.randn(3, 4), lib.randn(2, 4)])
    return {"lib": lib, "F": lib.nn.functional, "n": n, "m": m, "w": lib.randn(5, 4)}


def shown(value):
    """The parts as lists, with what torch and pyburn must say of them."""
    if hasattr(value, "is_nested"):
        parts = value.unbind() if value.is_nested else [value]
        kind = str(value.dtype).partition(".")[2]
        return value.is_nested, kind, [tuple(part.shape) for part in parts], [part.tolist() for part in parts]
    return [shown(item) for item in value] if isinstance(value, (tuple, list)) else value


WORKS = [
    "n",
    "n.size(0)",
    "m.size(2)",
    "m.size(-1)",
    "n.numel()",
    "n.dim()",
    "m.ndim",
    "n.unbind()",
    "n[0]",
    "n[-1]",
    "m[0, 1]",
    "n * 2",
    "2 * n",
    "n + n",
    "n - n",
    "n / 2",
    "n / (n + 2)",
    "n * lib.tensor(2.0)",
    "-n",
    "n > 1",
    "n.abs()",
    "n.cos()",
    "n.sin()",
    "n.tanh()",
    "n.clone()",
    "n.detach()",
    "n.contiguous()",
    "n.to(lib.float64)",
    "n.half()",
    "n.double()",
    "n.isnan()",
    "lib.relu(n)",
    "F.relu(n)",
    "F.gelu(n)",
    "F.silu(n)",
    "F.dropout(n, 0.0)",
    "F.dropout(n, 0.5, training=False)",
    "lib.softmax(n, -1)",
    "F.softmax(n, dim=1)",
    "lib.softmax(m, 1)",
    "n.sum(-1, keepdim=True)",
    "m.sum(2, keepdim=True)",
    "n.to_padded_tensor(0.0)",
    "lib.nested.to_padded_tensor(m, 7.0, output_size=(2, 4, 5))",
    "lib.cat([n, n])",
    "lib.zeros_like(n)",
    "lib.ones_like(n)",
    "n.fill_(1)",
    "n.add_(1.0)",
    "n.mul_(n)",
    "n.copy_(n * 2)",
    "n.masked_fill(n > 0, 1.0)",
    "F.linear(m, w)",
    "F.linear(m, w, lib.ones(5))",
    "m.transpose(1, 2)",
    "m.transpose(-1, -2)",
    "m.chunk(2, -1)",
    "lib.matmul(m, m.transpose(1, 2))",
    "lib.bmm(m, m.transpose(1, 2))",
    "lib.nn.LayerNorm(4)(m)",
    "m.view(2, -1, 2, 2)",
    "m.reshape(2, -1, 2, 2).transpose(1, 2)",
    "m.select(0, 1)",
    "m.narrow(0, 0, 1)",
    "n._nested_tensor_size()",
    "n.values()",
    "F.scaled_dot_product_attention(*[m.view(2, -1, 1, 4).transpose(1, 2).contiguous()] * 3)",
    "F.embedding(lib.nested.nested_tensor([lib.tensor([0, 1]), lib.tensor([1])]), w)",
    "lib.nn.Sequential(lib.nn.Linear(4, 3), lib.nn.ReLU(), lib.nn.Linear(3, 2))(m).to_padded_tensor(0.0)",
    "lib.nested.nested_tensor([[1, 2], [3]])",
    "lib.nested.nested_tensor([]).dim()",
    "lib.nested.as_nested_tensor(lib.ones(2, 3))",
    "lib.nested.nested_tensor([lib.ones(2), lib.ones(2).long()])",
    "lib.nested.nested_tensor([lib.ones(2)], dtype=lib.int64)",
    "lib.nested.nested_tensor([lib.ones(0, 2), lib.ones(3, 2)]).to_padded_tensor(1.0)",
    "n.is_leaf",
    "n.is_contiguous()",
    "lib.is_tensor(n)",
    "n.requires_grad",
    "lib.ones(2).is_nested",
    "n.grad",
    "n.element_size()",
]


@pytest.mark.parametrize("code", WORKS)
def test_nested(code):
    theirs, ours = (shown(eval(code, inputs(lib))) for lib in (torch, pyburn))
    flat_theirs, flat_ours = ([], [])
    flatten(theirs, flat_theirs)
    flatten(ours, flat_ours)
    assert flat_ours == pytest.approx(flat_theirs, rel=1e-5, abs=1e-6)


def flatten(value, into):
    if isinstance(value, (list, tuple)):
        into.append(len(value))
        for item in value:
            flatten(item, into)
    else:
        into.append(hash(value) if isinstance(value, str) else 0.5 if value is None else value)


REFUSED = [
    "n.size(1)",
    "n.size()",
    "n.shape",
    "len(n)",
    "list(n)",
    "n.tolist()",
    "n.stride()",
    "n * lib.ones(2)",
    "m + n",
    "m @ lib.ones(4, 2)",
    "n.sum()",
    "m.sum(-1)",
    "m.sum(1, keepdim=True)",
    "m[:, 0]",
    "n[5]",
    "n.size(4)",
    "n.max()",
    "lib.flatten(n)",
    "n.numpy()",
    "lib.nested.nested_tensor([lib.ones(2), lib.ones(2, 2)])",
    "lib.nested.nested_tensor(3)",
    "n.to_padded_tensor(0.0, (1, 2))",
    "lib.nested.nested_tensor(lib.ones(2))",
    "m.narrow(-1, 0, 2)",
    "lib.stack([n])",
    "lib.nested.to_padded_tensor(lib.ones(2), 0.0)",
    "m.unbind(1)",
    "n.item()",
    "lib.equal(n, n)",
    "m.permute(0, 2, 1)",
    "lib.softmax(n, 0)",
]


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_refused(code):
    check_error(lambda lib: eval(code, inputs(lib)))


def test_text():
    for code in ("n", "m > 0", "lib.nested.nested_tensor([n[0], n[1]], requires_grad=True)"):
        theirs, ours = (repr(eval(code, inputs(lib))) for lib in (torch, pyburn))
        assert ours == theirs


@pytest.mark.parametrize("lib", [torch, pyburn])
def test_gradients(lib):
    a, b = lib.arange(3.0, requires_grad=True), lib.ones(2, requires_grad=True)
    nested = lib.nested.as_nested_tensor([a, b])
    (nested * 2).to_padded_tensor(5.0).square().sum().backward()
    assert a.grad.tolist() == [0.0, 8.0, 16.0] and b.grad.tolist() == [8.0, 8.0] and not nested.is_leaf
    leaf = lib.nested.nested_tensor([lib.ones(1, 2), lib.ones(2, 2)], requires_grad=True)
    weight = lib.tensor([[1.0, 2.0]], requires_grad=True)
    lib.nn.functional.linear(leaf, weight).to_padded_tensor(0.0).sum().backward()
    assert leaf.grad.is_nested and [part.tolist() for part in leaf.grad.unbind()] == [[[1.0, 2.0]], [[1.0, 2.0]] * 2]
    assert weight.grad.tolist() == [[3.0, 3.0]]


def test_copies():
    n = pyburn.nested.nested_tensor([pyburn.arange(3.0), pyburn.arange(2.0)], requires_grad=True)
    for made in (copy.deepcopy(n), pickle.loads(pickle.dumps(n))):
        assert made.is_nested and made.requires_grad and repr(made) == repr(n)
        with pyburn.no_grad():
            made.add_(1)
        assert n[0].tolist() == [0.0, 1.0, 2.0]


def test_there_are_no_jagged_ones():
    with pytest.raises(NotImplementedError, match="strided"):
        pyburn.nested.nested_tensor([pyburn.ones(2)], layout="jagged")
    with pytest.raises(NotImplementedError, match="unbind"):
        pyburn.nested.nested_tensor([pyburn.ones(2)]).cumsum(0)
