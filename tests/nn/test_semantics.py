"""What a Module does in the corners: each scenario runs on both libraries and must tell the same story."""

import copy
import pickle
from collections import OrderedDict, namedtuple

import pyburn
import pytest
import torch

SCENARIOS = {}


def scenario(function):
    SCENARIOS[function.__name__] = function
    return function


def numbers(value):
    """A result as plain Python."""
    if isinstance(value, (torch.Tensor, pyburn.Tensor)):
        return (str(value.dtype).rpartition(".")[2], value.tolist())
    if isinstance(value, dict):
        return [(key, numbers(item)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return [numbers(item) for item in value]
    return value


def ones(layer):
    for parameter in layer.parameters():
        parameter.data.fill_(1.0)
    return layer


def raises(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except Exception as error:
        return type(error).__name__ if type(error).__module__ == "builtins" else "RuntimeError"
    return None


@scenario
def global_forward_hooks(lib):
    module = lib.nn.modules.module
    seen = []
    layer = ones(lib.nn.Linear(2, 1))
    own = layer.register_forward_hook(lambda m, a, o: seen.append("own"))
    pre = module.register_module_forward_pre_hook(lambda m, a: (a[0] * 2,))
    post = module.register_module_forward_hook(lambda m, a, o: seen.append(("global", a[0].tolist())) or o + 1)
    first = layer(lib.ones(1, 2)).detach()
    for handle in (pre, post, own):
        handle.remove()
    return first, layer(lib.ones(1, 2)).detach(), seen


@scenario
def global_backward_hooks(lib):
    module = lib.nn.modules.module
    layer, seen = ones(lib.nn.Linear(2, 1)), []
    hooks = [
        module.register_module_full_backward_hook(lambda m, i, o: seen.append([i[0].tolist(), o[0].tolist()])),
        module.register_module_full_backward_pre_hook(lambda m, o: (o[0] * 3,)),
        layer.register_full_backward_hook(lambda m, i, o: (i[0] * 10,)),
    ]
    x = lib.ones(1, 2, requires_grad=True)
    layer(x).sum().backward()
    for handle in hooks:
        handle.remove()
    return x.grad, layer.weight.grad, seen


@scenario
def registration_hooks(lib):
    module, seen = lib.nn.modules.module, []
    hooks = [
        module.register_module_parameter_registration_hook(lambda m, n, p: seen.append(("parameter", n))),
        module.register_module_buffer_registration_hook(lambda m, n, b: b * 5),
        module.register_module_module_registration_hook(lambda m, n, c: seen.append(("module", n))),
    ]
    model = lib.nn.Sequential(lib.nn.Linear(1, 1))
    model.register_buffer("steps", lib.ones(1))
    model.head = lib.nn.ReLU()
    for handle in hooks:
        handle.remove()
    return seen, model.steps


@scenario
def global_hook_with_keywords(lib):
    seen = []

    class Scales(lib.nn.Module):
        def forward(self, x, *, scale):
            return x * scale

    handle = lib.nn.modules.module.register_module_forward_hook(
        lambda m, a, k, o: seen.append((len(a), sorted(k), o.tolist())), with_kwargs=True
    )
    Scales()(lib.ones(1), scale=2)
    handle.remove()
    return seen


@scenario
def hooks_in_order(lib):
    layer, seen = lib.nn.Identity(), []
    layer.register_forward_pre_hook(lambda m, a: seen.append("pre 1"))
    layer.register_forward_pre_hook(lambda m, a: seen.append("pre 0"), prepend=True)
    layer.register_forward_hook(lambda m, a, o: seen.append("post 1"))
    handle = layer.register_forward_hook(lambda m, a, o: seen.append("post 0"), prepend=True)
    layer(lib.ones(1))
    handle.remove()
    layer(lib.ones(1))
    return seen


@scenario
def output_structures_of_backward_hooks(lib):
    Pair = namedtuple("Pair", "left right")
    seen = []

    class Splits(lib.nn.Module):
        def forward(self, x, factor):
            return Pair(x * factor, x + 1)

    layer = Splits()
    layer.register_full_backward_hook(lambda m, i, o: seen.append([g is not None for g in (*i, *o)]))
    x = lib.ones(2, requires_grad=True)
    result = layer(x, 3.0)
    result.left.sum().backward()
    return type(result).__name__, x.grad, seen


@scenario
def loading_with_missing_and_unexpected_keys(lib):
    layer = lib.nn.Linear(2, 1)
    result = layer.load_state_dict({"weight": lib.zeros(1, 2), "other": lib.zeros(1)}, strict=False)
    return list(result.missing_keys), list(result.unexpected_keys), repr(result), layer.weight


@scenario
def overriding_how_state_is_loaded(lib):
    class Renamed(lib.nn.Module):
        _version = 2

        def __init__(self):
            super().__init__()
            self.new = lib.nn.Parameter(lib.zeros(2))

        def _load_from_state_dict(self, state_dict, prefix, local_metadata, *rest):
            if local_metadata.get("version", 1) < 2:
                state_dict[prefix + "new"] = state_dict.pop(prefix + "old")
            super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)

    model = lib.nn.Sequential(Renamed())
    result = model.load_state_dict({"0.old": lib.ones(2)})
    return repr(result), model[0].new, sorted(model.state_dict()._metadata.items())


@scenario
def assignment_keeps_what_is_given(lib):
    layer = lib.nn.Linear(2, 2)
    given = {"weight": lib.zeros(2, 2, dtype=lib.float64), "bias": lib.ones(2)}
    layer.load_state_dict(given, assign=True)
    layer.weight.data.fill_(3.0)
    return (
        layer.weight,
        layer.bias,
        given["weight"],
        layer.weight.requires_grad,
        isinstance(layer.bias, lib.nn.Parameter),
    )


@scenario
def shared_parameters(lib):
    model = lib.nn.ModuleList([lib.nn.Linear(2, 2), lib.nn.Linear(2, 2)])
    model[1].weight = model[0].weight
    names = [name for name, _ in model.named_parameters()]
    every = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    model.double()
    twin = copy.deepcopy(model)
    again = pickle.loads(pickle.dumps(model))
    return (
        names,
        every,
        model[0].weight is model[1].weight,
        twin[0].weight is twin[1].weight,
        (again[0].weight is again[1].weight),
        list(model.state_dict()),
    )


@scenario
def conversions(lib):
    layer = lib.nn.BatchNorm1d(2)
    kinds = []
    for change in (
        lambda: layer.half(),
        lambda: layer.to(lib.float64),
        lambda: layer.to("cpu", lib.float32),
        lambda: layer.to(lib.zeros(1, dtype=lib.float64)),
        lambda: layer.to(device="cpu", dtype=lib.bfloat16, non_blocking=True),
        lambda: layer.type(lib.float32),
        lambda: layer.float(),
        lambda: layer.to_empty(device="cpu"),
    ):
        assert change() is layer
        kinds.append([str(t.dtype).rpartition(".")[2] for t in (layer.weight, layer.running_mean)])
    return kinds, raises(layer.to, lib.int64), raises(layer.to, 1, 2, 3, 4)


@scenario
def gradients_are_reset(lib):
    layer = ones(lib.nn.Linear(2, 1))
    layer(lib.ones(1, 2)).sum().backward()
    grad = layer.weight.grad
    layer.zero_grad(set_to_none=False)
    kept = layer.weight.grad is grad, layer.weight.grad
    layer.zero_grad()
    return kept, layer.weight.grad


@scenario
def frozen_parts(lib):
    model = lib.nn.Sequential(lib.nn.Linear(2, 2), lib.nn.Linear(2, 1))
    model[0].requires_grad_(False)
    return [p.requires_grad for p in model.parameters()], model[0].train(False).training, model.training


@scenario
def attributes(lib):
    class Holds(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = lib.nn.Parameter(lib.zeros(1))
            self.register_buffer("kept", lib.zeros(1))
            self.register_buffer("dropped", lib.zeros(1), persistent=False)
            self.child = lib.nn.ReLU()
            self.plain = [lib.nn.Linear(1, 1)]

    module = Holds()
    found = [
        list(module.state_dict()),
        raises(setattr, module, "weight", lib.zeros(1)),
        raises(setattr, module, "child", 3),
        raises(setattr, module, "kept", 3),
        raises(module.register_buffer, "weight", lib.zeros(1)),
        raises(module.register_parameter, "a.b", None),
        raises(module.add_module, "child2", 3),
        raises(lambda: module.missing),
    ]
    module.kept = None
    module.weight = None
    del module.dropped
    module.child = None
    return found, list(module.state_dict()), [n for n, _ in module.named_modules()], repr(module)


@scenario
def containers(lib):
    nn = lib.nn
    listed = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    listed.insert(1, nn.Sigmoid())
    listed.extend([nn.ReLU(), nn.ReLU()])
    listed += [nn.Identity()]
    named = nn.ModuleDict({"a": nn.ReLU(), "b": nn.Tanh()})
    named.update({"c": nn.Identity()})
    popped = type(named.pop("a")).__name__
    chain = nn.Sequential(OrderedDict(first=nn.ReLU(), second=nn.Tanh()))
    parameters = nn.ParameterList([lib.zeros(2), nn.Parameter(lib.ones(1))])
    table = nn.ParameterDict({"x": lib.zeros(1)})
    table["y"] = nn.Parameter(lib.ones(2))
    return (
        repr(listed),
        repr(named),
        popped,
        "b" in named,
        list(named.keys()),
        repr(chain[1:]),
        repr(chain.append(nn.ReLU())),
        repr(nn.Sequential(nn.ReLU()) + chain),
        [n for n, _ in parameters.named_parameters()],
        repr(parameters).replace("pyburn", "torch"),
        repr(table).replace("pyburn", "torch"),
        list(table.state_dict()),
        raises(listed.__getitem__, 9),
        len(listed[1:3]),
    )


@scenario
def paths(lib):
    model = lib.nn.Sequential(OrderedDict(body=lib.nn.Sequential(lib.nn.BatchNorm1d(2)), head=lib.nn.Linear(2, 1)))
    model.set_submodule("body.0", lib.nn.Identity())
    return (
        repr(model.get_submodule("body.0")),
        tuple(model.get_parameter("head.weight").shape),
        raises(model.get_parameter, "head.nothing"),
        raises(model.get_buffer, "head.weight"),
        raises(model.get_submodule, "neck"),
        raises(model.get_submodule, "head.weight"),
    )


@scenario
def old_state_is_taken(lib):
    layer = lib.nn.Linear(2, 1)
    state = dict(layer.__dict__)
    for name in ("_load_state_dict_post_hooks", "_state_dict_pre_hooks", "_forward_hooks_with_kwargs"):
        del state[name]
    made = lib.nn.Linear.__new__(lib.nn.Linear)
    made.__setstate__(state)
    return tuple(made(lib.ones(1, 2)).shape), len(made._forward_hooks)


@scenario
def printing(lib):
    class Block(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = lib.nn.ModuleList([lib.nn.Linear(2, 2) for _ in range(3)])
            self.act = lib.nn.GELU()

        def extra_repr(self):
            return "depth=3\nwidth=2"

    return repr(Block()), repr(lib.nn.Sequential(Block(), lib.nn.Dropout(0.25)))


@scenario
def a_module_in_evaluation(lib):
    model = lib.nn.Sequential(lib.nn.Dropout(0.9), lib.nn.BatchNorm1d(2)).eval()
    x = lib.ones(3, 2)
    return model(x), raises(model.train, "yes")


@scenario
def own_arguments_of_init(lib):
    class Strict(lib.nn.Module):
        def __init__(self):
            super().__init__("extra")

    class Missing(lib.nn.Module):
        pass

    class Early(lib.nn.Module):
        def __init__(self):
            self.layer = lib.nn.Linear(1, 1)

    return raises(Strict), raises(Missing(), lib.ones(1)), raises(Early)


@scenario
def state_hooks(lib):
    layer, seen = lib.nn.Linear(1, 1), []
    layer.register_state_dict_pre_hook(lambda m, prefix, keep: seen.append(("before", prefix, keep)))
    layer.register_state_dict_post_hook(lambda m, state, prefix, meta: seen.append(("after", sorted(state))))
    layer.register_load_state_dict_pre_hook(lambda m, state, *rest: state.setdefault("bias", lib.ones(1)) and None)
    layer.register_load_state_dict_post_hook(lambda m, keys: seen.append(("loaded", keys.missing_keys)))
    lib.nn.Sequential(layer).state_dict()
    layer.load_state_dict({"weight": lib.zeros(1, 1)})
    return seen, layer.bias


@scenario
def applying(lib):
    model, seen = lib.nn.Sequential(lib.nn.Linear(1, 1), lib.nn.Sequential(lib.nn.ReLU())), []
    model.apply(lambda m: seen.append(type(m).__name__))
    return seen


@pytest.mark.parametrize("name", SCENARIOS)
def test_both_libraries_tell_the_same(name):
    assert numbers(SCENARIOS[name](pyburn)) == numbers(SCENARIOS[name](torch))


def test_a_global_hook_that_is_always_called():
    seen = []

    class Fails(pyburn.nn.Module):
        def forward(self, x):
            raise ValueError("no")

    with pyburn.nn.modules.module.register_module_forward_hook(
        lambda m, a, k, o: seen.append((len(a), k, o)), with_kwargs=True, always_call=True
    ):
        assert raises(Fails(), pyburn.ones(1)) == "ValueError"
    assert seen == [(1, {}, None)]


def test_compiling_changes_nothing():
    layer = ones(pyburn.nn.Linear(2, 1))
    assert layer.compile(mode="max-autotune") is None
    assert layer(pyburn.ones(1, 2)).tolist() == [[3.0]]
