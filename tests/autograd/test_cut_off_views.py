"""Views that no gradient reaches though their base requires grad: made under no_grad, or before the base required it.

torch says that they require grad, records what is computed from them, and refuses the same writes; pyburn too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyburn
import pytest
import torch

BOTH = pytest.mark.parametrize("lib", [torch, pyburn], ids=["torch", "pyburn"])
WRITES = ["relu_", "neg_", "zero_"]


def early(lib: Any) -> tuple[Any, Any]:
    """A leaf and a view of it that was made before it required grad."""
    base = lib.ones(3)
    view = base.view(-1)
    base.requires_grad_(True)
    return base, view


def silent(lib: Any) -> tuple[Any, Any]:
    """A leaf and a view of it that was made under no_grad."""
    base = lib.ones(3, requires_grad=True)
    with lib.no_grad():
        view = base.view(-1)
    return base, view


MADE = pytest.mark.parametrize("make", [early, silent])


@BOTH
@MADE
def test_such_a_view_is_a_leaf_that_requires_grad(lib: Any, make: Any) -> None:
    _, view = make(lib)
    assert view.requires_grad and view.is_leaf and view.grad_fn is None and view._is_view()


@BOTH
@MADE
def test_results_have_a_history_that_ends_there(lib: Any, make: Any) -> None:
    base, view = make(lib)
    result = (view * 2).sum()
    assert result.requires_grad and not result.is_leaf
    result.backward()
    assert base.grad is None and view.grad is None


@BOTH
@MADE
def test_other_inputs_get_their_gradients(lib: Any, make: Any) -> None:
    base, view = make(lib)
    other = lib.ones(3, requires_grad=True)
    (view * 2 * other).sum().backward()
    assert base.grad is None and other.grad.tolist() == [2.0] * 3


@BOTH
@MADE
def test_it_counts_as_unused(lib: Any, make: Any) -> None:
    _, view = make(lib)
    assert lib.autograd.grad((view * 2).sum(), view, allow_unused=True) == (None,)


@BOTH
@MADE
def test_backward_from_itself_is_refused(lib: Any, make: Any) -> None:
    _, view = make(lib)
    with pytest.raises(RuntimeError, match="does not have a grad_fn"):
        view.backward(lib.ones(3))


@BOTH
@MADE
def test_what_the_history_kept_is_still_checked(lib: Any, make: Any) -> None:
    _, view = make(lib)
    result = (view * 2).sin()
    product = result * result
    with lib.no_grad():
        result.zero_()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


@BOTH
@MADE
def test_a_hook_is_taken_and_never_called(lib: Any, make: Any) -> None:
    _, view = make(lib)
    calls: list[Any] = []
    view.register_hook(calls.append)
    (view * 2).sum().backward()
    assert calls == []


@BOTH
@MADE
def test_numbers_need_a_detached_view(lib: Any, make: Any) -> None:
    _, view = make(lib)
    with pytest.raises(RuntimeError, match="numpy"):
        view.numpy()
    with lib.no_grad():
        assert isinstance(view.numpy(), np.ndarray)


@BOTH
@MADE
@pytest.mark.parametrize("write", WRITES)
def test_views_of_it_refuse_writes_after_the_base_was_detached(lib: Any, make: Any, write: str) -> None:
    base, view = make(lib)
    second = view[...]
    assert second.requires_grad and not second.is_leaf
    base.detach_()
    with pytest.raises(RuntimeError, match=r"in-place operation|is being modified inplace"):
        getattr(second, write)()
    assert not view.requires_grad
    assert base.tolist() == [1.0] * 3


@BOTH
@pytest.mark.parametrize("write", WRITES)
def test_a_write_to_it_is_taken_once_the_base_was_detached(lib: Any, write: str) -> None:
    base, view = early(lib)
    base.detach_()
    getattr(view, write)()
    assert not view.requires_grad and not base.requires_grad


@BOTH
def test_as_strided_of_a_quiet_view_refuses_writes_after_the_base_was_detached(lib: Any) -> None:
    base = lib.ones(1, requires_grad=True)
    with lib.no_grad():
        base.add_(-1.5)
        view = base.unsqueeze(0)
    second = view.as_strided([1], [1])
    base.detach_()
    with pytest.raises(RuntimeError, match=r"in-place operation|is being modified inplace"):
        second.add_(-1.5)


@BOTH
def test_a_view_that_requires_grad_itself_stays_a_leaf_after_a_write_to_its_base(lib: Any) -> None:
    base = lib.ones(1)
    view = base.view(-1).requires_grad_(True)
    base.add_(1)
    assert view.requires_grad and view.is_leaf and view.grad_fn is None


class _Flat(pyburn.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x.view(-1)

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad.view(3, 1) * 2


@pytest.mark.parametrize("quiet", [False, True])
def test_a_function_may_return_a_view(quiet: bool) -> None:
    x = pyburn.ones(3, 1, requires_grad=True)
    with pyburn.set_grad_enabled(not quiet):
        y = _Flat.apply(x)
    assert y._is_view() and y.requires_grad and y.is_leaf is quiet
    if not quiet:
        y.sum().backward()
        assert x.grad.flatten().tolist() == [2.0] * 3
