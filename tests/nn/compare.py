"""Runs a pyburn module and torch's of the same name on the same numbers and demands the same of both."""

import copy
import pickle

import numpy as np
import pyburn
import torch

RTOL, ATOL = 1e-4, 1e-5


def ours(value):
    """The same value as a pyburn tensor, if it is one of torch."""
    if isinstance(value, torch.Tensor):
        made = pyburn.tensor(value.detach().numpy().tolist(), dtype=getattr(pyburn, str(value.dtype)[6:]))
        made = made.reshape(tuple(value.shape))
        return made.requires_grad_(value.requires_grad)
    if isinstance(value, tuple | list):
        return type(value)(ours(item) for item in value)
    return value


def array(value):
    """The numbers of a tensor of either library."""
    return np.array(value.detach().tolist()).reshape(tuple(value.shape))


def same(mine, theirs, rtol=RTOL, atol=ATOL):
    """Nothing; both are equal in type, shape, dtype and values."""
    if isinstance(theirs, torch.Tensor):
        assert tuple(mine.shape) == tuple(theirs.shape)
        assert str(mine.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
        np.testing.assert_allclose(array(mine), array(theirs), rtol=rtol, atol=atol)
    elif isinstance(theirs, tuple | list):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            same(a, b, rtol, atol)
    else:
        assert mine == theirs


def _load(mine, theirs):
    mine.load_state_dict({name: ours(value) for name, value in theirs.state_dict().items()})
    theirs.load_state_dict(
        {
            name: torch.tensor(array(value), dtype=theirs.state_dict()[name].dtype)
            for name, value in mine.state_dict().items()
        }
    )


def check_module(name, *args, inputs, random=False, grads=True, **kwargs):
    """Nothing; both libraries' module `name` agree.

    Compares repr, the state_dict in both directions, output, gradients of inputs and parameters,
    buffers after training, evaluation, and copies by pickle and deepcopy.
    """
    mine = getattr(pyburn.nn, name)(*ours(args), **{k: ours(v) for k, v in kwargs.items()})
    theirs = getattr(torch.nn, name)(*args, **kwargs)
    assert repr(mine) == repr(theirs)
    assert list(mine.state_dict()) == list(theirs.state_dict())
    _load(mine, theirs)
    if random:
        mine.eval(), theirs.eval()
    _check_call(mine, theirs, inputs, grads)
    for key, value in theirs.state_dict().items():
        same(mine.state_dict()[key], value)
    mine.eval(), theirs.eval()
    expected = theirs(*inputs)
    for twin in (mine, copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        same(twin(*ours(inputs)), expected)
        assert repr(twin) == repr(theirs)


def _check_call(mine, theirs, inputs, grads):
    for value in inputs:
        if isinstance(value, torch.Tensor) and value.requires_grad:
            value.grad = None
    own = ours(inputs)
    result, expected = mine(*own), theirs(*inputs)
    same(result, expected)
    first, first_expected = (result, expected) if isinstance(expected, torch.Tensor) else (result[0], expected[0])
    if not grads:
        return
    weights = torch.linspace(0.5, 1.5, first_expected.numel()).reshape(first_expected.shape).to(first_expected.dtype)
    (first_expected * weights).sum().backward()
    (first * ours(weights)).sum().backward()
    for (name, parameter), (_, other) in zip(mine.named_parameters(), theirs.named_parameters(), strict=True):
        assert parameter.grad is not None, name
        same(parameter.grad, other.grad)
    for a, b in zip(own, inputs, strict=True):
        if isinstance(b, torch.Tensor) and b.requires_grad:
            same(a.grad, b.grad)
