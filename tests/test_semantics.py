"""Small programs about views, writes, graph and Python protocols: both libraries answer the same or refuse."""

from __future__ import annotations

import copy
import operator
import warnings
from typing import Any

import numpy as np
import pyburn
import pytest
import torch

PROGRAMS: dict[str, Any] = {}


def program(fn: Any) -> Any:
    """Registers a function of the library whose answer (or kind of refusal) must be the same."""
    PROGRAMS[fn.__name__] = fn
    return fn


def plain(value: Any) -> Any:
    """An answer that both libraries can be compared by."""
    if isinstance(value, (torch.Tensor, pyburn.Tensor)):
        return [str(value.dtype).split(".")[-1], value.detach().tolist(), tuple(value.shape)]
    if isinstance(value, (tuple, list)):
        return [plain(item) for item in value]
    return value


def outcome(fn: Any, lib: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "gives", plain(fn(lib))
        except Exception as error:
            kinds = (IndexError, TypeError, ValueError, AttributeError, RuntimeError)
            return "refuses", next((kind.__name__ for kind in kinds if isinstance(error, kind)), type(error).__name__)


def needing(lib: Any, *shape: int) -> Any:
    return lib.ones(*shape, requires_grad=True)


@program
def a_piece_may_not_be_written_to(lib: Any) -> Any:
    a, _ = (needing(lib, 6) * 1).split(3)
    a.add_(1)


@program
def a_piece_is_dead_after_a_write_to_its_base(lib: Any) -> Any:
    y = needing(lib, 6) * 1
    a, _ = y.chunk(2)
    y.add_(1)
    return a + 1


@program
def a_dead_piece_has_no_history_to_ask_for(lib: Any) -> Any:
    y = needing(lib, 2) * 1
    a, _ = y.unbind()
    y.add_(1)
    return a.grad_fn


@program
def a_dead_piece_lives_without_grad(lib: Any) -> Any:
    y = needing(lib, 6) * 1
    a, _ = y.split(3)
    y.add_(1)
    with lib.no_grad():
        return a + 1, a.detach() * 2, a.requires_grad


@program
def a_refused_piece_leaves_no_trace(lib: Any) -> Any:
    y = needing(lib, 6) * 1
    a, _ = y.split(3)
    y.add_(1)
    refused = 0
    for work in (lambda: a + 1, lambda: a.sum(), lambda: a.exp_(), lambda: a.register_hook(print)):
        try:
            work()
        except RuntimeError:
            refused += 1
    return refused, y + 1, y.sum()


@program
def a_view_from_no_grad_is_dead_too(lib: Any) -> Any:
    y = needing(lib, 3) * 1
    with lib.no_grad():
        view = y[:2]
    y.add_(1)
    return view + 1


@program
def a_factor_of_a_frozen_one_may_be_written_to(lib: Any) -> Any:
    leaf, frozen = needing(lib, 2, 2), lib.ones(2, 2)
    x = leaf * 1
    y = x @ frozen + lib.nn.functional.linear(x, frozen)
    x.mul_(2)
    y.sum().backward()
    return leaf.grad


@program
def a_factor_of_one_that_needs_grad_may_not(lib: Any) -> Any:
    x = needing(lib, 2, 2) * 1
    y = x @ needing(lib, 2, 2)
    x.mul_(2)
    y.sum().backward()


@program
def pieces_without_grad_are_ordinary(lib: Any) -> Any:
    x = lib.zeros(4)
    a, _ = x.split(2)
    a.add_(1)
    x.mul_(3)
    return x, a


@program
def an_inference_tensor_is_not_saved(lib: Any) -> Any:
    with lib.inference_mode():
        t = lib.ones(3)
    return needing(lib, 3) * t


@program
def an_inference_tensor_may_be_added(lib: Any) -> Any:
    with lib.inference_mode():
        t = lib.ones(3)
    return needing(lib, 3) + t


@program
def an_inference_tensor_has_no_version(lib: Any) -> Any:
    with lib.inference_mode():
        t = lib.ones(3)
    return t._version


@program
def masked_fill_on_an_expanded_view(lib: Any) -> Any:
    x = lib.zeros(3)
    y = x.expand(2, 3)
    y.masked_fill_(lib.tensor([[True, False, True]]), 1.0)
    return x, y


@program
def index_fill_on_an_expanded_view(lib: Any) -> Any:
    x = lib.zeros(3)
    return x.expand(2, 3).index_fill_(1, lib.tensor([0]), 1.0), x


@program
def an_index_write_to_an_expanded_view(lib: Any) -> Any:
    x = lib.arange(3.0)
    y = x.expand(2, 3)
    y[lib.tensor([0])] = 7.0
    y[1, [1, 2]] = 8.0
    return x, y


@program
def arithmetic_on_an_expanded_view(lib: Any) -> Any:
    return lib.zeros(3).expand(2, 3).add_(1)


@program
def base_is_the_object(lib: Any) -> Any:
    x, k = lib.zeros(3, 4), lib.arange(4)
    return x[0]._base is x, x[0][1:]._base is x, k[1:]._base is k, k[1:]._is_view(), x.detach()._is_view()


@program
def no_views_in_inference_mode(lib: Any) -> Any:
    with lib.inference_mode():
        return lib.ones(3)[:2]._is_view()


@program
def data_has_its_own_version(lib: Any) -> Any:
    x = lib.ones(3)
    d = x.data
    d.add_(1)
    before = x._version, d._version
    e = x.detach()
    e.add_(1)
    x.data = lib.zeros(2)
    return before, e._version, x._version, x


@program
def resize_counts_as_a_write(lib: Any) -> Any:
    x = lib.arange(4.0)
    x.resize_(2)
    return x, x._version


@program
def shrinking_keeps_aliases(lib: Any) -> Any:
    x = lib.arange(4.0)
    v = x[:3]
    x.resize_(2).fill_(9.0)
    return x, v


@program
def out_is_resized_in_its_own_memory(lib: Any) -> Any:
    x = lib.zeros(6)
    v = x[:3]
    result = lib.add(lib.ones(2), 1, out=x)
    return result is x, x, v


@program
def set_takes_over_memory(lib: Any) -> Any:
    x, y = lib.ones(3), lib.arange(2.0)
    x.set_(y)
    y.add_(1)
    return x, x.data_ptr() == y.data_ptr()


@program
def set_with_sizes(lib: Any) -> Any:
    return lib.ones(1).set_(lib.arange(6.0), 1, (2, 2), (2, 1))


@program
def requires_grad_of_integers(lib: Any) -> Any:
    return lib.ones(3, dtype=lib.int64).requires_grad_()


@program
def requires_grad_is_a_bool(lib: Any) -> Any:
    lib.ones(3).requires_grad = 1


@program
def a_leaf_may_not_be_written_to(lib: Any) -> Any:
    needing(lib, 3)[0] = 1


@program
def strides_may_not_be_negative(lib: Any) -> Any:
    return lib.arange(4.0).as_strided((2, 2), (-1, 1))


@program
def strides_and_sizes_must_match(lib: Any) -> Any:
    return lib.arange(4.0).as_strided((2,), (1, 1))


@program
def a_scalar_has_no_stride(lib: Any) -> Any:
    return lib.tensor(1.0).stride(0)


@program
def output_numbers(lib: Any) -> Any:
    return (needing(lib, 3) * 2).output_nr, lib.ones(3).output_nr


@program
def formats(lib: Any) -> Any:
    return f"{lib.tensor(1.5):.3f}", f"{lib.tensor(3)}", f"{lib.tensor([2.0])}"


@program
def a_vector_has_no_number_format(lib: Any) -> Any:
    return f"{lib.ones(2):.3f}"


@program
def reversal(lib: Any) -> Any:
    return reversed(lib.arange(3)), list(reversed(lib.arange(2))), reversed(lib.tensor(5))


@program
def numpy_functions_give_tensors(lib: Any) -> Any:
    return np.sin(lib.zeros(2)), np.add(lib.ones(2), 1), lib.ones(3) * np.ones(3), np.ones(3) * lib.ones(3)


@program
def comparisons_with_none(lib: Any) -> Any:
    x = lib.tensor([1])
    return x == None, x != None, x == None  # noqa: E711


@program
def ordering_with_none(lib: Any) -> Any:
    return lib.tensor([1]) < None


@program
def membership(lib: Any) -> Any:
    return 1 in lib.arange(3), 5 in lib.arange(3), lib.tensor(2) in lib.arange(3)


@program
def membership_of_text(lib: Any) -> Any:
    return "a" in lib.arange(3)


@program
def truth_of_many(lib: Any) -> Any:
    return bool(lib.arange(3))


@program
def index_protocol(lib: Any) -> Any:
    return [10, 20, 30][lib.tensor(1)], operator.index(lib.tensor([2])), range(lib.tensor(3))


@program
def index_protocol_refuses_floats(lib: Any) -> Any:
    return operator.index(lib.tensor(3.0))


@program
def length_of_a_scalar(lib: Any) -> Any:
    return len(lib.tensor(1.0))


@program
def iteration_over_a_scalar(lib: Any) -> Any:
    return list(lib.tensor(1.0))


@program
def deepcopy_of_a_result(lib: Any) -> Any:
    return copy.deepcopy(needing(lib, 2) * 2)


@program
def copies(lib: Any) -> Any:
    x = needing(lib, 2)
    x.note = [1]
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    shared = shallow.data_ptr() == x.data_ptr(), deep.data_ptr() == x.data_ptr()
    return shared, shallow.note is x.note, deep.note, deep.note is x.note, deep.requires_grad, deep.is_leaf


@program
def keys_by_identity(lib: Any) -> Any:
    x, y = lib.tensor(1), lib.tensor(1)
    return {x: 2}[x], y in {x: 2}, len({x, y, x})


@program
def grad_must_fit(lib: Any) -> Any:
    needing(lib, 3).grad = lib.ones(2)


@program
def a_write_after_saving(lib: Any) -> Any:
    x = needing(lib, 3)
    y = x * 1
    z = y * y
    y.add_(1)
    z.sum().backward()


@program
def a_write_behind_autograds_back(lib: Any) -> Any:
    x = needing(lib, 3)
    y = x * x
    x.data.add_(1)
    y.sum().backward()
    return x.grad


@program
def history_through_a_view(lib: Any) -> Any:
    x = needing(lib, 4)
    y = x * 1
    y[1:3][1:] = 7.0
    y[:1] += x[3:]
    (y * lib.arange(4.0)).sum().backward()
    return y, x.grad


@pytest.mark.parametrize("name", PROGRAMS)
def test_same_answer(name: str) -> None:
    expected, found = outcome(PROGRAMS[name], torch), outcome(PROGRAMS[name], pyburn)
    assert found == expected


def test_growth_that_would_leave_aliases_behind_is_refused() -> None:
    x = pyburn.arange(4.0)
    view = x[:2]
    with pytest.raises(RuntimeError, match="share"):
        x.resize_(100)
    del view
    array = np.zeros(3, dtype="float32")
    with pytest.raises(RuntimeError, match="share"):
        pyburn.from_numpy(array).resize_(100)
    assert pyburn.arange(4.0).resize_(6).shape == (6,)
