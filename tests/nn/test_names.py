"""Every public name of torch.nn, its functions, inits and utilities is there."""

import inspect

import pyburn
import pytest
import torch
import torch.nn.utils.parametrizations

# Helpers of torch's own code, which are not functions of tensors.
INTERNAL = {
    "ScalingType",
    "SwizzleType",
    "assert_int_or_pair",
    "boolean_dispatch",
    "factory_kwargs",
    "handle_torch_function",
    "has_torch_function",
    "has_torch_function_unary",
    "has_torch_function_variadic",
}
# There, but they raise: they need number formats of certain GPUs.
RAISE = ["scaled_addmm", "scaled_addmm_", "scaled_grouped_mm", "scaled_mm"]
OLDER = {"Container", "clip_grad_norm"}

PATHS = [
    "nn",
    "nn.functional",
    "nn.init",
    "nn.utils",
    "nn.utils.parametrizations",
    "nn.utils.parametrize",
    "nn.utils.rnn",
]


def public(module):
    if module.__name__ not in ("torch.nn", "torch.nn.functional") and hasattr(module, "__all__"):
        return list(module.__all__)
    found = []
    for name, value in vars(module).items():
        origin = getattr(value, "__module__", "") or ""
        if not name.startswith("_") and callable(value) and origin.startswith("torch") and name != "Tensor":
            found.append(name)
    return found


def at(path):
    value = pyburn
    for part in path.split("."):
        value = getattr(value, part)
    return value


@pytest.mark.parametrize(
    "path",
    ["nn", "nn.functional", "nn.init", "nn.utils", "nn.utils.rnn", "nn.utils.parametrizations", "nn.utils.parametrize"],
)
def test_every_public_name_is_there(path):
    theirs = torch
    for part in path.split("."):
        theirs = getattr(theirs, part)
    missing = [name for name in public(theirs) if not hasattr(at(path), name)]
    assert sorted(set(missing) - INTERNAL - OLDER) == []


def test_functions_take_the_same_arguments():
    differing = []
    for name in public(torch.nn.functional):
        if name in INTERNAL or name in RAISE:
            continue
        try:
            theirs = list(inspect.signature(getattr(torch.nn.functional, name)).parameters)
        except ValueError:
            continue
        if theirs == ["args", "kwargs"]:
            continue
        mine = list(inspect.signature(getattr(pyburn.nn.functional, name)).parameters)
        if mine[: len(theirs)] != theirs and "kwargs" not in mine:
            differing.append((name, mine, theirs))
    assert differing == []


def test_classes_take_the_same_arguments():
    differing = []
    for name in public(torch.nn):
        theirs = getattr(torch.nn, name)
        if not inspect.isclass(theirs) or name in OLDER or name in INTERNAL or not hasattr(pyburn.nn, name):
            continue
        wanted = [n for n in inspect.signature(theirs).parameters if n not in ("args", "kwargs")]
        mine = [n for n in inspect.signature(getattr(pyburn.nn, name)).parameters if n not in ("args", "kwargs")]
        if mine[: len(wanted)] != wanted:
            differing.append((name, mine, wanted))
    assert differing == []


@pytest.mark.parametrize("name", RAISE)
def test_what_needs_special_formats_says_so(name):
    with pytest.raises(NotImplementedError, match="matmul"):
        getattr(pyburn.nn.functional, name)()


def test_the_key_of_extra_state_is_torchs():
    # transformers asks for it by this private name while it loads weights.
    assert pyburn.nn.modules.module._EXTRA_STATE_KEY_SUFFIX == torch.nn.modules.module._EXTRA_STATE_KEY_SUFFIX
