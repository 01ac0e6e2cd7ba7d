"""L-BFGS (Liu and Nocedal, 1989), with a line search for the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from pyburn._core import Tensor
from pyburn.autograd import enable_grad, no_grad
from pyburn.ops import cat
from pyburn.optim.optimizer import Closure, Optimizer, check_settings


class LBFGS(Optimizer):
    """Quasi-Newton steps, from the gradients and steps of the last iterations.

    Args:
        params: What is optimized; one group only.
        lr: The length of a step, or of the first one tried by the line search.
        max_iter: How many iterations one `step` takes at most.
        max_eval: How often it calls the closure at most; a quarter more often than `max_iter` when left out.
        tolerance_grad: It stops when no element of the gradient is larger.
        tolerance_change: It stops when neither the loss nor any parameter changes by more.
        history_size: How many gradients and steps are remembered.
        line_search_fn: "strong_wolfe" or None.
        maximize: Whether the loss is to grow.

    Example:
        >>> import pyburn
        >>> w = pyburn.tensor([3.0, -2.0], requires_grad=True)
        >>> optimizer = pyburn.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = ((w - 1) ** 2).sum()
        ...     loss.backward()
        ...     return loss
        >>> first = optimizer.step(closure); w.detach().round(decimals=4)
        tensor([1., 1.])
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
        *,
        maximize: bool = False,
    ) -> None:
        check_settings(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
            "maximize": maximize,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")

    @no_grad()
    def step(self, closure: Closure | None = None) -> Any:
        """The loss before the step; the parameters took up to `max_iter` iterations.

        Args:
            closure: Computes the loss anew, with gradients, and gives it; needed here.

        Raises:
            TypeError: No closure was given.
        """
        if closure is None:
            raise TypeError("LBFGS.step() needs a closure that computes the loss and its gradients, and returns it.")
        with enable_grad():
            first = closure()
        group = self.param_groups[0]
        if not group["params"]:
            return first
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        state["func_evals"] += 1
        gradient = self._gradient()
        if gradient.abs().amax().item() > group["tolerance_grad"]:
            self._iterate(closure, state, _Point(self._signed(first), gradient))
        return first

    def _iterate(self, closure: Closure, state: dict[str, Any], point: _Point) -> None:
        group = self.param_groups[0]
        lr, evaluations = float(group["lr"]), 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = _direction(state, point.gradient, group["history_size"])
            previous = point.loss
            state["prev_flat_grad"], state["prev_loss"] = point.gradient.clone(), previous
            begins = state["n_iter"] == 1
            length = min(1.0, 1.0 / point.gradient.abs().sum().item()) * lr if begins else lr
            state["d"], state["t"] = direction, length
            slope = point.gradient.dot(direction).item()
            if slope > -group["tolerance_change"]:
                return
            last = iteration == group["max_iter"]
            length, point, calls = self._move(closure, length, direction, point, slope, evaluations, last)
            state["t"] = length
            evaluations += calls
            state["func_evals"] += calls
            if last or evaluations >= group["max_eval"] or self._arrived(point, direction, length, previous):
                return

    def _move(
        self,
        closure: Closure,
        length: float,
        direction: Tensor,
        point: _Point,
        slope: float,
        evaluations: int,
        last: bool,
    ) -> tuple[float, _Point, int]:
        """The length of the step that was taken, the point it led to, and how often the closure was called."""
        group = self.param_groups[0]
        if group["line_search_fn"] is None:
            self._walk(length, direction)
            # The last point is not looked at again before the next step.
            return (length, point, 0) if last else (length, self._evaluate(closure), 1)
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("LBFGS: only 'strong_wolfe' is supported as line_search_fn.")
        start = [p.clone() for p in group["params"]]

        def at(t: float) -> _Point:
            self._walk(t, direction)
            found = self._evaluate(closure)
            for p, value in zip(group["params"], start, strict=True):
                p.copy_(value)
            return found

        result = strong_wolfe(at, length, direction, point, slope, group["max_eval"] - evaluations)
        self._walk(result[0], direction)
        return result

    def _arrived(self, point: _Point, direction: Tensor, length: float, previous: float) -> bool:
        group = self.param_groups[0]
        if point.gradient.abs().amax().item() <= group["tolerance_grad"]:
            return True
        small: float = group["tolerance_change"]
        return direction.mul(length).abs().amax().item() <= small or abs(point.loss - previous) < small

    def _signed(self, loss: Any) -> float:
        return -float(loss) if self.param_groups[0].get("maximize") else float(loss)

    def _evaluate(self, closure: Closure) -> _Point:
        with enable_grad():
            loss = closure()
        return _Point(self._signed(loss), self._gradient())

    def _gradient(self) -> Tensor:
        """All gradients as one vector."""
        flat = []
        for p in self.param_groups[0]["params"]:
            if p.grad is None:
                flat.append(p.new_zeros(p.numel()))
            else:
                flat.append((p.grad.to_dense() if p.grad.is_sparse else p.grad).reshape(-1))
        joined: Tensor = cat(flat, 0)
        return joined.neg() if self.param_groups[0].get("maximize") else joined

    def _walk(self, length: float, direction: Tensor) -> None:
        offset = 0
        for p in self.param_groups[0]["params"]:
            p.add_(direction[offset : offset + p.numel()].view_as(p), alpha=length)
            offset += p.numel()


class _Point(NamedTuple):
    """The loss somewhere and its gradient."""

    loss: float
    gradient: Tensor


def _direction(state: dict[str, Any], gradient: Tensor, history_size: int) -> Tensor:
    """Minus the gradient times the approximate inverse Hessian, by the two-loop recursion."""
    if state["n_iter"] == 1:
        state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1)
        return gradient.neg()
    changes, steps, inverse = state["old_dirs"], state["old_stps"], state["ro"]
    change, step = gradient - state["prev_flat_grad"], state["d"] * state["t"]
    curvature = change.dot(step)
    if curvature.item() > 1e-10:
        if len(changes) == history_size:
            for kept in (changes, steps, inverse):
                kept.pop(0)
        changes.append(change)
        steps.append(step)
        inverse.append(1.0 / curvature)
        state["H_diag"] = curvature / change.dot(change)
    weights = state.setdefault("al", [None] * history_size)
    direction: Tensor = gradient.neg()
    for i in range(len(changes) - 1, -1, -1):
        weights[i] = steps[i].dot(direction) * inverse[i]
        direction.add_(changes[i], alpha=-weights[i].item())
    direction = direction * state["H_diag"]
    for i in range(len(changes)):
        direction.add_(steps[i], alpha=(weights[i] - changes[i].dot(direction) * inverse[i]).item())
    return direction


class _Trial(NamedTuple):
    """A point of the line search: where, its loss and gradient, and the slope along the line."""

    t: float
    point: _Point
    slope: float


def strong_wolfe(
    at: Callable[[float], _Point], t: float, direction: Tensor, start: _Point, slope: float, most: int
) -> tuple[float, _Point, int]:
    """A step that fulfils the strong Wolfe conditions, the point it leads to, and how often `at` was called.

    Args:
        at: Gives the point at a distance along the line.
        t: The first distance tried.
        direction: The direction of the line.
        start: The point at distance 0.
        slope: The slope there.
        most: How many distances are tried at most, after the first.
    """
    search = _Search(at, direction, _Trial(0.0, start, slope), most)
    low, high = search.bracket(t)
    if high is not None:
        low = search.zoom(low, high)
    return low.t, low.point, search.calls


class _Search:
    """A line search: it first brackets a good distance, then narrows the bracket."""

    def __init__(self, at: Callable[[float], _Point], direction: Tensor, start: _Trial, most: int) -> None:
        self.at, self.direction, self.start, self.most = at, direction, start, most
        self.width = direction.abs().amax().item()
        self.calls = 0
        self.tries = 0

    def trial(self, t: float) -> _Trial:
        point = self.at(t)
        self.calls += 1
        return _Trial(t, point, point.gradient.dot(self.direction).item())

    def rises(self, trial: _Trial) -> bool:
        """Whether the loss falls by less than a small part of what the slope promises."""
        return trial.point.loss > self.start.point.loss + 1e-4 * trial.t * self.start.slope

    def flat(self, trial: _Trial) -> bool:
        return abs(trial.slope) <= -0.9 * self.start.slope

    def bracket(self, t: float) -> tuple[_Trial, _Trial | None]:
        """Two distances with a good one between them; or a good one and None."""
        previous, trial = self.start, self.trial(t)
        while self.tries < self.most:
            if self.rises(trial) or (self.tries > 1 and trial.point.loss >= previous.point.loss):
                return previous, trial
            if self.flat(trial):
                return trial, None
            if trial.slope >= 0:
                return previous, trial
            bounds = (trial.t + 0.01 * (trial.t - previous.t), trial.t * 10)
            t = _cubic_minimum(previous, trial, bounds)
            previous, trial = trial, self.trial(t)
            self.tries += 1
        return self.start, trial

    def zoom(self, first: _Trial, second: _Trial) -> _Trial:
        """The best point of the bracket, after it was narrowed."""
        ends = [first, second]
        low, high = (0, 1) if first.point.loss <= second.point.loss else (1, 0)
        stuck, done = False, False
        while not done and self.tries < self.most:
            if abs(ends[1].t - ends[0].t) * self.width < 1e-9:
                break
            t, stuck = self._inside(ends, stuck)
            trial = self.trial(t)
            self.tries += 1
            if self.rises(trial) or trial.point.loss >= ends[low].point.loss:
                ends[high] = trial
                low, high = (0, 1) if ends[0].point.loss <= ends[1].point.loss else (1, 0)
                continue
            if self.flat(trial):
                done = True
            elif trial.slope * (ends[high].t - ends[low].t) >= 0:
                ends[high] = ends[low]
            ends[low] = trial
        return ends[low]

    @staticmethod
    def _inside(ends: list[_Trial], stuck: bool) -> tuple[float, bool]:
        """The next distance; near an end twice in a row, it is moved a tenth of the bracket away from it."""
        t = _cubic_minimum(ends[0], ends[1], None)
        least, largest = min(ends[0].t, ends[1].t), max(ends[0].t, ends[1].t)
        margin = 0.1 * (largest - least)
        if min(largest - t, t - least) >= margin:
            return t, False
        if stuck or t >= largest or t <= least:
            return (largest - margin if abs(t - largest) < abs(t - least) else least + margin), False
        return t, True


def _cubic_minimum(one: _Trial, two: _Trial, bounds: tuple[float, float] | None) -> float:
    """Where the cubic through both points and slopes is least, within `bounds`, or between the points."""
    least, largest = bounds or (min(one.t, two.t), max(one.t, two.t))
    left, right = (one, two) if one.t <= two.t else (two, one)
    d1 = one.slope + two.slope - 3 * (one.point.loss - two.point.loss) / (one.t - two.t)
    square = d1 * d1 - one.slope * two.slope
    if not square >= 0:
        return (least + largest) / 2.0
    d2 = math.sqrt(square)
    below = right.slope - left.slope + 2 * d2
    if below == 0:
        return largest
    t = right.t - (right.t - left.t) * ((right.slope + d2 - d1) / below)
    return min(max(t, least), largest)
