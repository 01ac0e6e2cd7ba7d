"""gradcheck passes right gradients and finds wrong ones."""

import pyburn
import pytest
from pyburn.autograd import Function, GradcheckError, gradcheck, gradgradcheck

BOTH = pytest.mark.parametrize("fast_mode", [False, True])


def double(*shape):
    count = 1
    for size in shape:
        count *= size
    values = pyburn.arange(count, dtype=pyburn.float64) * 0.37 + 0.2
    return values.sin().reshape(shape).requires_grad_()


class TripledBackward(Function):
    """x squared, with a gradient of 3x."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x


@BOTH
def test_right_gradients_pass(fast_mode):
    x, y = double(3, 2), double(2, 4)
    assert gradcheck(pyburn.matmul, (x, y), fast_mode=fast_mode)
    assert gradgradcheck(pyburn.matmul, (x, y), fast_mode=fast_mode)
    assert gradgradcheck(pyburn.matmul, (x, y), fast_mode=fast_mode, gen_non_contig_grad_outputs=True)


@BOTH
def test_several_outputs_some_without_gradient(fast_mode):
    assert gradcheck(
        lambda x: (x.sin(), x.exp().sum(), x.detach() * 2, x > 0), (double(3, 2).t(),), fast_mode=fast_mode
    )


@pytest.mark.parametrize("shape", [(), (0, 3), (1, 1)])
def test_odd_shapes_pass(shape):
    assert gradcheck(lambda x: x * x, (double(*shape),))


@BOTH
def test_wrong_gradient_is_found(fast_mode):
    with pytest.raises(GradcheckError, match="Jacobian mismatch for output 0 with respect to input 0"):
        gradcheck(TripledBackward.apply, (double(3),), fast_mode=fast_mode)
    assert gradcheck(TripledBackward.apply, (double(3),), raise_exception=False, fast_mode=fast_mode) is False


def test_wrong_second_gradient_is_found():
    class WrongTwice(Function):
        """x squared with the right first gradient, cut off from the graph."""

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x.detach()

    assert gradcheck(WrongTwice.apply, (double(3),))
    with pytest.raises(GradcheckError, match="Jacobian mismatch"):
        gradgradcheck(WrongTwice.apply, (double(3),))


def test_backward_that_ignores_its_gradient_is_found():
    class Constant(Function):
        @staticmethod
        def forward(ctx, x):
            return x.sum()

        @staticmethod
        def backward(ctx, grad):
            return pyburn.ones(3, dtype=pyburn.float64)

    with pytest.raises(GradcheckError, match="not multiplied by grad_output"):
        gradcheck(Constant.apply, (double(3),))


def test_backward_that_changes_from_run_to_run_is_found():
    runs = []

    class Drifting(Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            runs.append(1)
            return grad * (2 + 1e-7 * len(runs))

    with pytest.raises(GradcheckError, match="not reentrant"):
        gradcheck(Drifting.apply, (double(3),))
    assert gradcheck(Drifting.apply, (double(3),), nondet_tol=1e-3)


def test_gradient_that_should_not_be_zero_is_found():
    assert gradcheck(lambda x: x.detach() * 0 + 1, (double(2),))
    with pytest.raises(GradcheckError, match="expected to be zero"):
        gradcheck(lambda x: x.detach() * 2, (double(2),))


def test_inputs_keep_their_values():
    x = double(2, 3)
    before = x.tolist()
    gradcheck(lambda x: x.sin(), (x,))
    gradcheck(lambda x: x.sin(), (x,), fast_mode=True)
    assert x.tolist() == before


def test_unfit_inputs_are_refused():
    with pytest.raises(ValueError, match="at least one input tensor to require gradient"):
        gradcheck(pyburn.sin, (double(2).detach(),))
    with pytest.raises(RuntimeError, match="input 0 has a dimension with stride 0"):
        gradcheck(pyburn.sin, (double(1).detach().expand(3).requires_grad_(),))
    with pytest.warns(UserWarning, match="finite differences need float64"):
        gradcheck(lambda x: x * 2, (pyburn.ones(1, requires_grad=True),), atol=1.0, rtol=1.0)
    with pytest.raises(NotImplementedError, match="check_forward_ad"):
        gradcheck(pyburn.sin, (double(2),), check_forward_ad=True)
