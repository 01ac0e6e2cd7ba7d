"""Module's own rules, each compared with torch.nn.Module on the same class written for both."""

import copy
import gc
import pickle
import weakref

import pyburn
import pytest
import torch

from nn.compare import same

LIBRARIES = pytest.mark.parametrize("lib", [pyburn, torch], ids=["pyburn", "torch"])


def make(lib, factor=1.0):
    """A small tree with parameters, buffers of both kinds, a shared layer and an absent one."""

    class Block(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = lib.nn.Linear(2, 2)
            self.scale = lib.nn.Parameter(lib.ones(2) * factor)
            self.register_buffer("steps", lib.zeros(()))
            self.register_buffer("cache", lib.zeros(1), persistent=False)
            self.register_parameter("missing", None)

        def forward(self, x, shift=0.0):
            return self.linear(x) * self.scale + shift

    class Net(lib.nn.Module):
        def __init__(self):
            super().__init__()
            self.first = Block()
            self.second = lib.nn.Sequential(Block(), self.first, lib.nn.ReLU())
            self.nothing = None

        def forward(self, x):
            return self.second(self.first(x))

    return Net()


def names(pairs):
    return [name for name, _ in pairs]


@pytest.mark.parametrize("recurse", [True, False])
@pytest.mark.parametrize("remove_duplicate", [True, False])
def test_walks_visit_what_torch_visits(recurse, remove_duplicate):
    mine, theirs = make(pyburn), make(torch)
    arguments = {"prefix": "net", "recurse": recurse, "remove_duplicate": remove_duplicate}
    assert names(mine.named_parameters(**arguments)) == names(theirs.named_parameters(**arguments))
    assert names(mine.named_buffers(**arguments)) == names(theirs.named_buffers(**arguments))
    modules = {"prefix": "net", "remove_duplicate": remove_duplicate}
    assert names(mine.named_modules(**modules)) == names(theirs.named_modules(**modules))
    assert names(mine.named_children()) == names(theirs.named_children())
    assert len(list(mine.parameters(recurse))) == len(list(theirs.parameters(recurse)))
    assert len(list(mine.buffers(recurse))) == len(list(theirs.buffers(recurse)))
    assert len(list(mine.modules())) == len(list(theirs.modules()))
    assert len(list(mine.children())) == len(list(theirs.children()))


def test_repr_is_torchs():
    assert repr(make(pyburn)) == repr(make(torch))
    many = [lambda lib: lib.nn.ModuleList([lib.nn.ReLU(), lib.nn.ReLU(), lib.nn.Linear(1, 1)])]
    many.append(lambda lib: lib.nn.ModuleDict({"a": lib.nn.Sequential(lib.nn.ReLU(), lib.nn.Tanh())}))
    many.append(lambda lib: lib.nn.Sequential())
    for build in many:
        assert repr(build(pyburn)) == repr(build(torch))


def test_repr_of_a_parameter():
    assert repr(pyburn.nn.Parameter(pyburn.zeros(2))) == repr(torch.nn.Parameter(torch.zeros(2)))


@LIBRARIES
def test_lookup_by_path(lib):
    net = make(lib)
    assert net.get_submodule("second.0.linear") is net.second[0].linear
    assert net.get_submodule("") is net
    assert net.get_parameter("first.scale") is net.first.scale
    assert net.get_buffer("second.0.steps") is net.second[0].steps
    for call in (
        lambda: net.get_submodule("first.absent"),
        lambda: net.get_parameter("first.steps"),
        lambda: net.get_buffer("first.scale"),
        lambda: net.get_submodule("first.scale"),
    ):
        with pytest.raises(AttributeError):
            call()
    other = lib.nn.Tanh()
    net.set_submodule("second.2", other)
    assert net.second[2] is other


@LIBRARIES
def test_attributes_are_registered_and_forgotten(lib):
    module = lib.nn.Module()
    module.x = lib.nn.Parameter(lib.zeros(1))
    assert names(module.named_parameters()) == ["x"]
    module.x = None
    assert module.x is None
    assert "x" in module._parameters
    with pytest.raises(TypeError, match=r"cannot assign .* as parameter 'x' \(torch.nn.Parameter or None expected\)"):
        module.x = lib.zeros(1)
    module.child = lib.nn.ReLU()
    with pytest.raises(TypeError, match=r"as child module 'child' \(torch.nn.Module or None expected\)"):
        module.child = 3
    module.register_buffer("b", lib.zeros(1))
    module.b = lib.ones(1)
    assert names(module.named_buffers()) == ["b"]
    with pytest.raises(TypeError, match="as buffer 'b'"):
        module.b = "text"
    module.b = lib.nn.Parameter(lib.zeros(1))
    assert names(module.named_buffers()) == []
    module.plain = lib.zeros(1)
    assert "plain" in module.__dict__
    module.plain = lib.nn.ReLU()
    assert "plain" not in module.__dict__
    del module.b, module.child, module.x
    assert names(module.named_parameters()) == []
    with pytest.raises(AttributeError, match="object has no attribute 'b'"):
        module.b  # noqa: B018
    assert "plain" in dir(module)


@LIBRARIES
def test_registration_refuses_what_torch_refuses(lib):
    module = lib.nn.Module()
    for call, error, text in (
        (lambda: module.register_parameter("a.b", None), KeyError, "contain"),
        (lambda: module.register_parameter("", None), KeyError, "be empty string"),
        (lambda: module.register_parameter("forward", None), KeyError, "already exists"),
        (lambda: module.register_parameter(3, None), TypeError, "should be a string"),
        (lambda: module.register_parameter("w", lib.zeros(1)), TypeError, "torch.nn.Parameter or None required"),
        (lambda: module.register_buffer("b", 3), TypeError, "torch Tensor or None required"),
        (lambda: module.register_buffer("train", None), KeyError, "already exists"),
        (lambda: module.add_module("m", 3), TypeError, "is not a Module subclass"),
        (lambda: module.register_module("m.n", None), KeyError, "contain"),
    ):
        with pytest.raises(error, match=text):
            call()


@LIBRARIES
def test_parameters_before_init_are_refused(lib):
    class Early(lib.nn.Module):
        def __init__(self):
            self.weight = lib.nn.Parameter(lib.zeros(1))

    with pytest.raises(AttributeError, match=r"cannot assign parameters before Module.__init__\(\) call"):
        Early()


@LIBRARIES
def test_state_dict(lib):
    net = make(lib)
    assert list(net.state_dict(prefix="p.")) == ["p." + name for name in net.state_dict()]
    assert list(make(torch).state_dict()) == list(net.state_dict())
    state = net.state_dict()
    assert not state["first.scale"].requires_grad
    assert net.state_dict(keep_vars=True)["first.scale"] is net.first.scale
    with lib.no_grad():
        net.first.scale.fill_(7.0)
    assert state["first.scale"].tolist() == [7.0, 7.0]
    other = make(lib, 3.0)
    before = other.first.scale
    assert repr(other.load_state_dict(state)) == "<All keys matched successfully>"
    assert other.first.scale is before
    assert before.tolist() == [7.0, 7.0]


@LIBRARIES
def test_loading_by_assignment(lib):
    source, target = make(lib, 5.0), make(lib)
    given = {name: value.to(lib.float64) for name, value in source.state_dict().items()}
    target.load_state_dict(given, assign=True)
    assert target.first.scale.dtype == lib.float64
    assert isinstance(target.first.scale, lib.nn.Parameter)
    assert target.first.scale.requires_grad


def error_of(lib, state, **kwargs):
    with pytest.raises(RuntimeError) as caught:
        make(lib).load_state_dict(state(lib), **kwargs)
    return str(caught.value)


@pytest.mark.parametrize("strict", [True, False])
def test_loading_errors_are_torchs(strict):
    def state(lib):
        given = {name: value for name, value in make(lib).state_dict().items() if "linear.bias" not in name}
        given["first.scale"] = lib.zeros(3)
        given["first.extra"] = lib.zeros(1)
        given["first.cache"] = lib.zeros(1)
        given["third.weight"] = lib.zeros(1)
        given["first.missing"] = lib.zeros(1)
        return given

    assert error_of(pyburn, state, strict=strict) == error_of(torch, state, strict=strict)


def test_loading_what_is_no_tensor():
    def state(lib):
        return make(lib).state_dict() | {"first.scale": 3}

    assert error_of(pyburn, state) == error_of(torch, state)
    with pytest.raises(TypeError, match="Expected state_dict to be dict-like"):
        make(pyburn).load_state_dict(3)


@LIBRARIES
def test_state_hooks(lib):
    net = make(lib)
    calls = []
    net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: calls.append(("pre", prefix)))
    net.register_state_dict_post_hook(lambda module, state, prefix, meta: state.pop("first.scale"))
    net.register_state_dict_post_hook(lambda module, state, prefix, meta: None)
    with pytest.raises(RuntimeError, match="must return None"):
        net.state_dict()
    other = make(lib)

    def rename(module, state, prefix, *rest):
        state[prefix + "scale"] = state.pop(prefix + "old")

    other.first.register_load_state_dict_pre_hook(rename)
    seen = []
    other.register_load_state_dict_post_hook(lambda module, keys: seen.append(keys))
    given = other.state_dict()
    given["first.old"] = given.pop("first.scale")
    given["second.1.old"] = given.pop("second.1.scale")
    assert other.load_state_dict(given).missing_keys == []
    assert len(seen) == 1
    assert calls == [("pre", "")]


@LIBRARIES
def test_extra_state(lib):
    class Counter(lib.nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    counter = Counter()
    counter.count = 4
    other = Counter()
    other.load_state_dict(counter.state_dict())
    assert other.count == 4
    with pytest.raises(RuntimeError, match=r'Missing key.*"_extra_state"'):
        other.load_state_dict({})


@LIBRARIES
def test_forward_hooks(lib):
    layer = lib.nn.Identity()
    calls = []
    layer.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    layer.register_forward_pre_hook(lambda m, args: args[0] * 2, prepend=True)
    layer.register_forward_hook(lambda m, args, out: calls.append((args[0].item(), out.item())))
    handle = layer.register_forward_hook(lambda m, args, out: out + 10)
    assert layer(lib.tensor(3.0)).item() == 17.0
    assert calls == [(7.0, 7.0)]
    handle.remove()
    handle.remove()
    assert layer(lib.tensor(3.0)).item() == 7.0


@LIBRARIES
def test_forward_hooks_with_keywords(lib):
    block = make(lib).first
    x = lib.zeros(1, 2)
    block.register_forward_pre_hook(lambda m, args, kwargs: (args, {"shift": kwargs["shift"] + 1}), with_kwargs=True)
    seen = []
    block.register_forward_hook(lambda m, args, kwargs, out: seen.append(kwargs["shift"]), with_kwargs=True)
    block(x, shift=1.0)
    assert seen == [2.0]


@LIBRARIES
def test_a_hook_that_is_always_called_sees_the_failure(lib):
    class Failing(lib.nn.Module):
        def forward(self, x):
            raise ValueError("broken")

    module, calls = Failing(), []
    module.register_forward_hook(lambda m, args, out: calls.append(out), always_call=True)
    module.register_forward_hook(lambda m, args, out: calls.append("never"))
    with pytest.raises(ValueError, match="broken"):
        module(lib.zeros(1))
    assert calls == [None]


def gradients(lib, change):
    """What backward hooks saw, and the input's gradient."""
    torch.manual_seed(0)
    x = lib.tensor([[1.0, 2.0]], requires_grad=True)
    layer = lib.nn.Linear(2, 2)
    with lib.no_grad():
        layer.weight.copy_(lib.tensor([[1.0, 2.0], [3.0, 4.0]]))
        layer.bias.zero_()
    seen = []
    layer.register_full_backward_pre_hook(lambda m, out: (out[0] * 2,) if change else None)

    def hook(module, grad_input, grad_output):
        seen.extend([grad_input[0].tolist(), grad_output[0].tolist()])
        return (grad_input[0] * 10,) if change else None

    layer.register_full_backward_hook(hook)
    (layer(x) * lib.tensor([1.0, -1.0])).sum().backward()
    return seen, x.grad.tolist(), layer.weight.grad.tolist()


@pytest.mark.parametrize("change", [False, True])
def test_full_backward_hooks(change):
    assert gradients(pyburn, change) == gradients(torch, change)


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@LIBRARIES
def test_backward_hooks_where_the_input_needs_no_gradient(lib):
    layer, seen = lib.nn.Linear(2, 1), []
    layer.register_full_backward_hook(lambda m, grad_input, grad_output: seen.append((grad_input, len(grad_output))))
    layer(lib.ones(1, 2)).sum().backward()
    assert seen == [((None,), 1)]
    assert layer.weight.grad is not None


@LIBRARIES
def test_backward_hooks_of_a_module_with_several_outputs(lib):
    class Two(lib.nn.Module):
        def forward(self, a, b, factor):
            return a * factor, b

    module, seen = Two(), []
    module.register_full_backward_hook(
        lambda m, gi, go: seen.append([None if g is None else g.tolist() for g in (*gi, *go)])
    )
    a, b = lib.ones(1, requires_grad=True), lib.ones(1, requires_grad=True)
    first, second = module(a, b, 3.0)
    (first + 2 * second).sum().backward()
    assert seen == [[[3.0], [2.0], None, [1.0], [2.0]]]


@LIBRARIES
def test_conversion_keeps_the_parameter_objects(lib):
    net = make(lib)
    weight = net.first.linear.weight
    net(lib.ones(1, 2)).sum().backward()
    net.register_buffer("number", lib.zeros(1, dtype=lib.int64))
    assert net.double() is net
    assert net.first.linear.weight is weight
    assert weight.dtype == weight.grad.dtype == net.first.steps.dtype == lib.float64
    assert net.number.dtype == lib.int64
    assert weight.requires_grad
    assert weight.is_leaf
    assert net.to(lib.float32).first.scale.dtype == lib.float32
    assert net.half().first.scale.dtype == lib.float16
    assert net.bfloat16().first.scale.dtype == lib.bfloat16
    assert net.to("cpu", lib.float64).first.scale.dtype == lib.float64
    assert net.to(lib.zeros(1)).first.scale.dtype == lib.float32
    assert net.type(lib.float64).number.dtype == lib.float64
    assert net.float().cpu().first.scale.dtype == lib.float32
    with pytest.raises(TypeError, match="only accepts floating point or complex dtypes"):
        net.to(lib.int64)


@LIBRARIES
def test_modes(lib):
    net = make(lib)
    assert net.eval() is net
    assert not any(module.training for module in net.modules())
    assert all(module.training for module in net.train().modules())
    with pytest.raises(ValueError, match="training mode is expected to be boolean"):
        net.train("yes")
    assert net.requires_grad_(False) is net
    assert not any(p.requires_grad for p in net.parameters())
    net.requires_grad_()
    net(lib.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert net.first.scale.grad.tolist() == [0.0, 0.0]
    net.zero_grad()
    assert net.first.scale.grad is None
    order = []
    net.apply(lambda module: order.append(type(module).__name__))
    assert order[-1] == "Net"
    assert order[0] == "Linear"


class Pickled(pyburn.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = pyburn.nn.Linear(2, 2)
        self.tied = self.layer
        self.buffer = pyburn.nn.Buffer(pyburn.ones(1), persistent=False)

    def forward(self, x):
        return self.layer(x)


@pytest.mark.parametrize(
    "how", [copy.deepcopy, lambda module: pickle.loads(pickle.dumps(module))], ids=["copy", "pickle"]
)
def test_copies_are_independent_and_keep_sharing(how):
    module = Pickled()
    module.layer.bias.requires_grad_(False)
    twin = how(module)
    assert twin.tied is twin.layer
    assert not twin.layer.bias.requires_grad
    assert isinstance(twin.layer.weight, pyburn.nn.Parameter)
    assert list(twin.state_dict()) == list(module.state_dict())
    with pyburn.no_grad():
        twin.layer.weight.fill_(0.0)
    assert module.layer.weight.tolist() != twin.layer.weight.tolist()
    module.layer.register_forward_hook(print)
    assert not how(Pickled()).layer._forward_hooks


def test_a_parameter_shares_its_data():
    data = pyburn.zeros(2)
    parameter = pyburn.nn.Parameter(data)
    with pyburn.no_grad():
        parameter.fill_(3.0)
    assert data.tolist() == [3.0, 3.0]
    assert type(parameter * 2) is pyburn.Tensor
    assert type(parameter.data) is pyburn.Tensor


def test_modules_are_freed():
    net = make(pyburn)
    net(pyburn.ones(1, 2)).sum().backward()
    seen = weakref.ref(net.first)
    del net
    gc.collect()
    assert seen() is None


def test_errors_end_with_the_modules_path():
    net = pyburn.nn.Sequential(pyburn.nn.ModuleDict(), pyburn.nn.Sequential(pyburn.nn.Linear(3, 4)))
    del net[0]
    with pytest.raises(RuntimeError, match=r" in model\.0\.0 \(Linear\)$"):
        net(pyburn.zeros(2, 5))
    with pytest.raises(RuntimeError, match=r" in Linear$"):
        pyburn.nn.Linear(3, 4)(pyburn.zeros(2, 5))


def test_errors_of_others_get_a_note():
    class Special(Exception):
        pass

    class Raising(pyburn.nn.Module):
        def forward(self, x):
            raise Special("code", 7)

    with pytest.raises(Special) as caught:
        pyburn.nn.Sequential(pyburn.nn.ReLU(), Raising())(pyburn.zeros(1))
    assert caught.value.args == ("code", 7)
    assert caught.value.__notes__ == ["in model.1 (Raising)"]


def test_forward_is_demanded():
    with pytest.raises(NotImplementedError, match=r'Module \[Module\] is missing the required "forward" function'):
        pyburn.nn.Module()()


def test_buffers_by_attribute():
    module = pyburn.nn.Module()
    module.kept = pyburn.nn.Buffer(pyburn.ones(2))
    module.passing = pyburn.nn.Buffer(pyburn.ones(2), persistent=False)
    assert names(module.named_buffers()) == ["kept", "passing"]
    assert list(module.state_dict()) == ["kept"]


def test_a_seed_gives_torchs_first_values():
    pyburn.manual_seed(11)
    mine = [pyburn.nn.Linear(4, 3), pyburn.nn.Conv2d(2, 4, 3), pyburn.nn.Embedding(5, 2)]
    torch.manual_seed(11)
    theirs = [torch.nn.Linear(4, 3), torch.nn.Conv2d(2, 4, 3), torch.nn.Embedding(5, 2)]
    for a, b in zip(mine, theirs, strict=True):
        for name, value in b.state_dict().items():
            same(a.state_dict()[name], value)


@pytest.mark.filterwarnings("ignore:Complex modules are a new feature:UserWarning")
@pytest.mark.parametrize("lib", [torch, pyburn])
def test_a_module_can_become_complex(lib):
    layer = lib.nn.Linear(2, 2, bias=False)
    layer.weight.requires_grad_(False)
    given = layer.weight.detach().clone()
    assert layer.to(lib.complex128) is layer
    assert type(layer.weight) is lib.nn.Parameter and layer.weight.dtype == lib.complex128
    assert not layer.weight.requires_grad and layer.weight.real.tolist() == given.double().tolist()
    assert layer(lib.ones(3, 2, dtype=lib.complex128)).dtype == lib.complex128
