"""no_grad, enable_grad, set_grad_enabled and inference_mode act as torch's do."""

import threading

import pyburn
import pytest
import torch


def state(module):
    return module.is_grad_enabled(), module.is_inference_mode_enabled()


def decorated(module):
    @module.no_grad
    def bare():
        return state(module)

    @module.no_grad()
    def called():
        return state(module)

    @module.set_grad_enabled(False)
    def switched():
        return state(module)

    @module.inference_mode
    def inference():
        return state(module)

    @module.inference_mode(False)
    def no_inference():
        return state(module)

    with module.no_grad():
        inside = [function() for function in (bare, called, switched, inference, no_inference)]
        after = state(module)
    outside = [function() for function in (bare, called, switched, inference, no_inference)]
    return [*inside, after, *outside, state(module), bare.__name__]


def nested(module):
    log = []
    with module.no_grad():
        with module.enable_grad():
            log.append(state(module))
        with module.inference_mode(False):
            log.append(state(module))
        log.append(state(module))
    with module.inference_mode():
        log.append(state(module))
        with module.inference_mode(False):
            log.append(state(module))
        with module.enable_grad():
            log.append(state(module))
        log.append(state(module))
    with module.set_grad_enabled(False), module.set_grad_enabled(True):
        log.append(state(module))
    return [*log, state(module)]


def generated(module):
    log = []

    @module.no_grad()
    def generator():
        try:
            while True:
                sent = yield state(module)
                log.append((sent, state(module)))
        except ValueError:
            yield "caught"
        finally:
            log.append(("closed", state(module)))
        return 7

    running = generator()
    log += [next(running), state(module), running.send(5), running.throw(ValueError())]
    with pytest.raises(StopIteration) as end:
        next(running)
    log.append(end.value.value)
    running = generator()
    next(running)
    running.close()
    return [*log, state(module)]


@pytest.mark.parametrize("scenario", [decorated, nested, generated])
def test_modes_follow_torchs(scenario):
    assert scenario(pyburn) == scenario(torch)


def test_results_require_grad_only_when_recorded():
    x = pyburn.ones(2, requires_grad=True)
    with pyburn.no_grad():
        assert not (x * 2).requires_grad
        assert pyburn.ones(2, requires_grad=True).requires_grad
        with pyburn.enable_grad():
            assert (x * 2).requires_grad


def inference_tensors(t):
    with t.inference_mode():
        x = t.ones(3)
        view = x[1:]
        with t.inference_mode(False):
            normal = t.ones(3)
        x.add_(1)
    log = [tensor.is_inference() for tensor in (x, view, normal, x.clone(), x[:2], t.ones(1))]
    for change in (
        lambda: x.add_(1),
        lambda: x.requires_grad_(),
        lambda: (normal.requires_grad_() * x).sum().backward(),
    ):
        with pytest.raises(RuntimeError, match=r"[Ii]nference tensor"):
            change()
    return [*log, (x + 1).is_inference()]


def test_inference_tensors_stay_out_of_autograd():
    assert inference_tensors(pyburn) == inference_tensors(torch)


def test_a_mode_ends_with_an_exception():
    with pytest.raises(KeyError), pyburn.no_grad():
        raise KeyError
    assert pyburn.is_grad_enabled()


def test_one_object_can_be_entered_inside_itself():
    mode = pyburn.no_grad()
    with mode:
        with mode:
            pass
        assert not pyburn.is_grad_enabled()
    assert pyburn.is_grad_enabled()


def test_set_grad_enabled_is_a_function_too():
    pyburn.set_grad_enabled(False)
    try:
        assert not pyburn.is_grad_enabled()
    finally:
        pyburn.set_grad_enabled(True)
    assert pyburn.is_grad_enabled()


def test_a_mode_belongs_to_its_thread():
    seen = []
    with pyburn.no_grad():
        thread = threading.Thread(target=lambda: seen.append(pyburn.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


def test_decorating_a_class_warns_and_covers_construction():
    with pytest.warns(FutureWarning, match="decorate __init__"):

        @pyburn.no_grad()
        class Recorder:
            def __init__(self):
                self.enabled = pyburn.is_grad_enabled()

    assert Recorder().enabled is False
