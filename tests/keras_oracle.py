"""Real Keras (on its torch backend) as the judge: one call checks a layer."""

from __future__ import annotations

import json
import os
import warnings
from typing import Any

os.environ["KERAS_BACKEND"] = "torch"

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import keras
    from keras.src.backend.common import global_state

import numpy as np
import pyburn
import torch
from pyburn import keras as ours

# Settings of real Keras's quantized layers and such, which are off by default and are not part of ours.
IGNORED = {"quantization_config", "lora_rank", "lora_alpha", "renorm", "renorm_clipping", "renorm_momentum"}
IGNORED |= {
    "shared_object_id",
    "zero_output_for_mask",
    "synchronized",
    "quantization_mode",
    "rms_scaling",
    "build_config",
}

keras.config.disable_interactive_logging()
keras.config.disable_traceback_filtering()


def forget_names() -> None:
    """Nothing; both number their layers anew. Keras's own clear_session also collects garbage, which takes long."""
    global_state.set_global_attribute("object_name_uids", None)
    ours.utils.clear_session()


def plain(config: Any) -> Any:
    """A configuration as JSON would hold it, without what is ignored."""
    config = json.loads(json.dumps(config, default=str))

    def clean(tree: Any) -> Any:
        if isinstance(tree, dict):
            kept = {key: clean(value) for key, value in tree.items() if key not in IGNORED}
            # Some layers of Keras's write it when it is None, some do not.
            return {key: value for key, value in kept.items() if key != "activity_regularizer" or value is not None}
        return [clean(each) for each in tree] if isinstance(tree, list) else tree

    return clean(config)


def array(shape: Any, seed: int = 0, low: int | None = None, high: int | None = None) -> Any:
    """Floats of a normal distribution, or whole numbers between two bounds."""
    random = np.random.default_rng(seed)
    if low is not None:
        return random.integers(low, high, shape)
    return random.standard_normal(shape).astype("float32")


def mapped(function: Any, tree: Any) -> Any:
    if isinstance(tree, (list, tuple)):
        return [mapped(function, each) for each in tree]
    return function(tree)


def leaves(tree: Any) -> list[Any]:
    if isinstance(tree, (list, tuple)):
        return [leaf for each in tree for leaf in leaves(each)]
    return [tree]


def differing_weights(theirs: Any, seed: int = 7) -> list[Any]:
    """Weights that tell every layout apart: none of them is symmetric, variances are positive."""
    random = np.random.default_rng(seed)
    made = []
    for weight in theirs.weights:
        value = random.standard_normal(tuple(weight.shape)) * 0.3
        made.append((np.abs(value) + 0.5 if "variance" in weight.path else value).astype("float32"))
    return made


def check_layer(
    kind: str,
    shape: Any,
    /,
    *args: Any,
    inputs: Any = None,
    training: bool | None = None,
    call: dict[str, Any] | None = None,
    tolerance: float = 2e-5,
    gradient: bool = True,
    config: bool = True,
    **kwargs: Any,
) -> Any:
    """One layer of ours and Keras's: config, shapes, and outputs and gradients from the same weights.

    Args:
        kind: The name of the class.
        shape: The shape of the input with its batch axis, or a list of shapes.
        *args: Arguments of the layer.
        inputs: Arrays in place of random ones.
        training: Whether both are called in training mode.
        call: More arguments of the call.
        tolerance: The largest difference of outputs and gradients.
        gradient: Whether gradients are compared.
        config: Whether configurations are compared.
        **kwargs: Arguments of the layer by name.
    """
    forget_names()
    theirs, mine = getattr(keras.layers, kind)(*args, **kwargs), getattr(ours.layers, kind)(*args, **kwargs)
    return compare(theirs, mine, shape, inputs, training, call or {}, tolerance, gradient, config)


def compare(
    theirs: Any,
    mine: Any,
    shape: Any,
    inputs: Any = None,
    training: bool | None = None,
    call: dict[str, Any] | None = None,
    tolerance: float = 2e-5,
    gradient: bool = True,
    config: bool = True,
) -> Any:
    """The comparison of `check_layer` for two layers that are there already."""
    several = isinstance(shape, list)
    if inputs is None:
        inputs = [array(each, seed) for seed, each in enumerate(shape)] if several else array(shape)
    floats = [each.dtype.kind == "f" for each in leaves(inputs)]
    gradient = gradient and any(floats)
    tx = mapped(lambda a: torch.tensor(a, requires_grad=gradient and a.dtype.kind == "f"), inputs)
    px = mapped(lambda a: pyburn.tensor(a, requires_grad=gradient and a.dtype.kind == "f"), inputs)
    extra = {} if training is None else {"training": training}
    theirs(mapped(lambda a: torch.tensor(a), inputs), **extra, **mapped_call(call, torch.tensor))
    symbolic = mapped(lambda a: ours.Input(a.shape[1:], dtype=str(a.dtype)), inputs)

    spec = mine(symbolic, **mapped_call(call, lambda a: ours.Input(a.shape[1:], dtype=str(a.dtype))))
    mine_weights, their_weights = mine.weights, theirs.weights
    assert [tuple(w.shape) for w in mine_weights] == [tuple(w.shape) for w in their_weights]
    assert len(mine.trainable_weights) == len(theirs.trainable_weights)
    values = differing_weights(theirs)
    theirs.set_weights(values)
    mine.set_weights(values)
    assert mine.count_params() == theirs.count_params()
    expected = theirs(tx, **extra, **mapped_call(call, torch.tensor))
    found = mine(px, **extra, **mapped_call(call, pyburn.tensor))
    for one, two, symbol in zip(leaves(found), leaves(expected), leaves(spec), strict=True):
        assert tuple(one.shape) == tuple(two.shape)
        assert len(symbol.shape) == one.dim() and all(
            a is None or a == b for a, b in zip(symbol.shape, one.shape, strict=True)
        )
        np.testing.assert_allclose(
            one.detach().numpy(), two.detach().cpu().numpy(), rtol=tolerance, atol=tolerance, err_msg="output"
        )
    if gradient:
        check_gradients(mine, theirs, found, expected, px, tx, tolerance)
    for one, two in zip(mine.get_weights(), theirs.get_weights(), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-5, err_msg="weights after the call")
    if config:
        check_config(mine, theirs)
    assert type(mine).__name__ in repr(mine)
    return mine


def mapped_call(call: dict[str, Any] | None, function: Any) -> dict[str, Any]:
    return {key: function(value) if isinstance(value, np.ndarray) else value for key, value in (call or {}).items()}


def check_gradients(mine: Any, theirs: Any, found: Any, expected: Any, px: Any, tx: Any, tolerance: float) -> None:
    """Gradients of inputs and weights, from the same gradients of the outputs."""
    total_mine: Any = 0
    total_theirs: Any = 0
    for seed, (one, two) in enumerate(zip(leaves(found), leaves(expected), strict=True)):
        if not two.requires_grad:
            continue
        weight = array(tuple(two.shape), 100 + seed)
        total_mine = total_mine + (one * pyburn.tensor(weight)).sum()
        total_theirs = total_theirs + (two * torch.tensor(weight)).sum()
    if isinstance(total_theirs, int):
        return
    total_theirs.backward()
    total_mine.backward()
    pairs = [(a, b) for a, b in zip(leaves(px), leaves(tx), strict=True) if b.requires_grad]
    pairs += [(a, b.value) for a, b in zip(mine.trainable_weights, theirs.trainable_weights, strict=True)]
    for one, two in pairs:
        if two.grad is None:
            assert one.grad is None or float(one.grad.abs().max()) == 0.0
            continue
        np.testing.assert_allclose(
            one.grad.numpy(), two.grad.cpu().numpy(), rtol=10 * tolerance, atol=10 * tolerance, err_msg="gradient"
        )


def check_config(mine: Any, theirs: Any) -> None:
    """Both describe themselves alike, and each description makes an equal layer of ours."""
    one, two = plain(mine.get_config()), plain(theirs.get_config())
    assert one == two
    again = type(mine).from_config(two)
    assert plain(again.get_config()) == one


def same_fit(theirs: Any, mine: Any, x: Any, y: Any, compile: dict[str, Any], **kwargs: Any) -> tuple[Any, Any]:
    """The histories of both from the same weights and the same order of samples, which must agree within 1e-3."""
    mine.set_weights(theirs.get_weights())
    theirs.compile(**compile)
    mine.compile(**compile)
    options = {"shuffle": False, "verbose": 0, "epochs": 3, "batch_size": 16} | kwargs
    expected, found = theirs.fit(x, y, **options), mine.fit(x, y, **options)
    assert list(found.history) == list(expected.history)
    for name, values in expected.history.items():
        np.testing.assert_allclose(found.history[name], values, rtol=1e-3, atol=1e-3, err_msg=name)
    return found, expected
