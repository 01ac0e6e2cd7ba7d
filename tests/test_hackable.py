"""M40: what a user may write for themselves, and that it works together in one run."""

import io

import numpy
import pyburn
from pyburn import nn, train


class Square(pyburn.autograd.Function):
    """An autograd function of one's own."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 2 * x * grad


@pyburn.library.custom_op("hackable::scaled", mutates_args=())
def scaled(x: pyburn.Tensor, factor: float) -> pyburn.Tensor:
    """A kernel of one's own, on the tensor's memory."""
    result = pyburn.empty_like(x)
    numpy.multiply(x.numpy(), factor, out=result.numpy())
    return result


scaled.register_autograd(
    lambda ctx, grad: (scaled(grad, ctx.factor), None),
    setup_context=lambda ctx, inputs, output: setattr(ctx, "factor", inputs[1]),
)


class Layer(nn.Module):
    """A layer of one's own, out of the function and the kernel."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(pyburn.randn(width, 3) * 0.5)
        self.register_buffer("calls", pyburn.zeros((), dtype=pyburn.long))

    def forward(self, x):
        self.calls += 1
        return scaled(Square.apply(x @ self.weight), 0.5)


class Loss(nn.Module):
    def forward(self, output, target):
        return (output - target).abs().pow(1.5).mean()


class SignDescent(pyburn.optim.Optimizer):
    """An optimizer of one's own."""

    def __init__(self, params, lr=0.01):
        super().__init__(params, {"lr": lr})

    @pyburn.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            for weight in group["params"]:
                weight.add_(weight.grad.sign(), alpha=-group["lr"])


class Largest(train.metrics.Metric):
    """A metric of one's own."""

    name = "largest"

    def reset(self):
        self.seen = 0.0

    def update(self, output, target):
        self.seen = max(self.seen, output.abs().max().item())

    def compute(self):
        return self.seen


class Dots(train.Callback):
    """A renderer of one's own."""

    def __init__(self, file):
        self.file = file

    def after_batch(self, learner):
        self.file.write("." if learner.training else ",")

    def after_epoch(self, learner):
        self.file.write("\n")


def two_passes(learner):
    """A strategy of one's own: each epoch goes over the data twice."""
    for _ in learner.epochs_left():
        learner.train_epoch()
        learner.train_epoch()
        learner.validate()


def test_everything_of_one_s_own_trains_together():
    pyburn.manual_seed(0)
    inputs = pyburn.randn(32, 4)
    target = 0.5 * (inputs @ pyburn.randn(4, 3)).square()
    shown = io.StringIO()
    learner = train.Learner(
        Layer(4),
        Loss(),
        SignDescent,
        metrics=[Largest()],
        strategy=two_passes,
        renderer=Dots(shown),
        folder=False,
    )
    history = learner.fit((inputs, target), (inputs, target), epochs=60, batch_size=16)
    assert history[-1]["valid_loss"] < 0.1 * history[0]["valid_loss"]
    assert history[-1]["valid_largest"] > 0
    assert shown.getvalue() == 60 * "....,,\n"
    assert learner.model.calls.item() == 60 * 6


def test_gradients_of_one_s_own_are_right():
    x = pyburn.randn(3, 2, dtype=pyburn.float64, requires_grad=True)
    assert pyburn.autograd.gradcheck(lambda x: scaled(Square.apply(x), 0.5), (x,))
