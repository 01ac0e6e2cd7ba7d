"""Nodes, their hooks and saved-tensor hooks, as in torch: every scenario runs in both and must log the same."""

import pyburn
import pytest
import torch


def leaf(t, *values):
    return t.tensor(values, dtype=t.float64, requires_grad=True)


def walk(t):
    x = leaf(t, 1.0, 2.0)
    y = (x * 3).exp()
    log = []
    node = y.grad_fn
    while node is not None:
        log.append(node.name().rsplit("::", 1)[-1])
        variable = getattr(node, "variable", None)
        if variable is not None:
            log.append(variable.tolist())
        node = node.next_functions[0][0] if node.next_functions else None
    return [*log, y.grad_fn == y.grad_fn, y.grad_fn == (x * 3).grad_fn]


def node_hooks(t):
    log = []
    x = leaf(t, 1.0, 2.0)
    y = x * 3
    after = y.grad_fn.register_hook(lambda inputs, outputs: log.append((inputs[0].tolist(), outputs[0].tolist())))
    y.grad_fn.register_prehook(lambda outputs: (outputs[0] * 10,))
    y.sum().backward(retain_graph=True)
    after.remove()
    y.sum().backward()
    return [*log, x.grad.tolist()]


def packed(t):
    log = []

    def pack(tensor):
        log.append(["pack", *tensor.tolist()])
        return tensor.tolist()

    def unpack(values):
        log.append(["unpack", *values])
        return t.tensor(values, dtype=t.float64)

    x = leaf(t, 1.0, 2.0)
    with t.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x.exp()
        z = y * x
    (z * 2).sum().backward()
    # In which order an operation saves its inputs is its own affair.
    return [sorted(log), [round(number, 10) for number in x.grad.tolist()]]


def packed_twice_differentiated(t):
    x = leaf(t, 1.0, 2.0)
    with t.autograd.graph.saved_tensors_hooks(lambda tensor: tensor.clone(), lambda tensor: tensor):
        y = (x * 2).exp() * x
    (first,) = t.autograd.grad(y.sum(), x, create_graph=True)
    (second,) = t.autograd.grad(first.sum(), x)
    return [round(number, 8) for number in second.tolist()]


def on_the_cpu(t):
    x = leaf(t, 1.0, 2.0)
    with t.autograd.graph.save_on_cpu():
        y = x * x
    y.sum().backward()
    return x.grad.tolist()


def several_gradients(t):
    log = []
    a, b = leaf(t, 1.0), leaf(t, 2.0)
    register = t.autograd.graph.register_multi_grad_hook
    every = register((a, b), lambda grads: log.append(("all", [grad.tolist() for grad in grads])))
    register((a, b), lambda grad: log.append("any"), mode="any")
    (2 * a + 3 * b).sum().backward()
    every.remove()
    (2 * a + 3 * b).sum().backward()
    return log


def some_of_several_gradients(t):
    log = []
    a, b = leaf(t, 1.0), leaf(t, 2.0)
    c, d = a * b, a * b
    t.autograd.graph.register_multi_grad_hook((a, b, c, d), lambda grads: log.append([g is not None for g in grads]))
    c.sum().backward(retain_graph=True)
    c.sum().backward(inputs=(a,), retain_graph=True)
    (c + d).sum().backward()
    return log


def callbacks_at_the_end(t):
    log = []
    engine = t.autograd.Variable._execution_engine
    x = leaf(t, 1.0)

    def inner(grad):
        y = leaf(t, 2.0)
        y.register_hook(lambda _: engine.queue_callback(lambda: log.append("inner end")))
        with t.enable_grad():
            (y * 2).sum().backward()

    x.register_hook(lambda grad: engine.queue_callback(lambda: log.append("end")))
    x.register_hook(inner)
    x.register_hook(lambda grad: log.append("hook"))
    x.sum().backward()
    try:
        engine.queue_callback(print)
    except RuntimeError as error:
        log.append(str(error))
    return log


def gradient_edges(t):
    x = leaf(t, 1.0, 2.0)
    y = x * x
    edge, end = t.autograd.graph.get_gradient_edge(y), t.autograd.graph.get_gradient_edge(x)
    (first,) = t.autograd.grad(edge, x, t.ones(2, dtype=t.float64), retain_graph=True)
    (second,) = t.autograd.grad(y.sum(), [end], retain_graph=True)
    y.sum().backward(inputs=[x])
    names = [edge.node.name(), type(y.grad_fn).__name__, type(edge.node).__name__, end.node.name().rsplit("::", 1)[-1]]
    return [first.tolist(), second.tolist(), x.grad.tolist(), edge.output_nr, *names]


def kept_objects(t):
    class Tagged(t.Tensor):
        pass

    x = leaf(t, 1.0)
    x.grad = t.ones(1, dtype=t.float64)
    x.grad.tag = 5
    log = [x.grad.tag]
    (x * 2).sum().backward()
    log += [getattr(x.grad, "tag", None), x.grad.tolist()]
    x.grad = t.ones(1, dtype=t.float64).as_subclass(Tagged)
    log.append(type(x.grad).__name__)

    def loss():
        weight = t.nn.Parameter(t.ones(1))
        weight.tag = 7
        return weight * 2

    variable = loss().grad_fn.next_functions[0][0].variable
    return [*log, type(variable).__name__, variable.tag]


def names_of_layers(t):
    """What graph viewers show of everyday layers and losses: one node each, with the layer's own inputs."""
    functional = t.nn.functional
    x, w, b = (t.ones(*shape).requires_grad_() for shape in ((2, 3, 8, 8), (4, 3, 3, 3), (4,)))
    y, target = functional.conv2d(x, w, b), t.zeros(2, 4)
    flat = y.mean((2, 3))
    results = [
        y,
        functional.batch_norm(y, None, None, b, b, training=True),
        functional.group_norm(y, 2, b),
        functional.layer_norm(flat, (4,), b, b),
        functional.max_pool2d(y, 2),
        functional.avg_pool2d(y, 2),
        functional.adaptive_avg_pool2d(y, 2),
        functional.mse_loss(flat, target),
        functional.smooth_l1_loss(flat, target),
        functional.huber_loss(flat, target),
        functional.binary_cross_entropy_with_logits(flat, target),
        functional.nll_loss(flat, t.tensor([0, 1])),
        functional.pad(y, (1, 1, 1, 1), mode="reflect"),
        t.stack([b, b]),
        b * 2,
        b + 1,
        b.masked_fill(b > 0, 0.0),
        t.clamp(b, 0, 1),
        b**b,
        2**b,
    ]
    return [
        [node.name(), type(node).__name__, [(part and part.name(), place) for part, place in node.next_functions]]
        for node in (result.grad_fn for result in results)
    ]


def kept_values(t):
    x = leaf(t, 1.0, 2.0)
    y = leaf(t, 3.0, 4.0)
    product = (x * y).grad_fn
    half = (x * y.detach()).grad_fn
    names = [
        [name for name in ("_saved_self", "_saved_other", "_saved_result") if name in dir(node)]
        for node in (product, x.exp().grad_fn, x.sin().grad_fn)
    ]
    matrices = (x.reshape(1, 2) @ y.reshape(2, 1)).grad_fn
    return [
        product._saved_self.tolist(),
        product._saved_other is y,
        half._saved_other.tolist(),
        names,
        [round(number, 8) for number in x.exp().grad_fn._saved_result.tolist()],
        matrices._saved_mat2.tolist(),
    ]


def without_derivatives(t):
    x = leaf(t, 1.5, -2.5)
    log = []
    for make in (
        lambda: x // 2,
        lambda: t.heaviside(x, x),
        lambda: t.unique(x),
        lambda: x.div(2, rounding_mode="floor"),
    ):
        result = make()
        try:
            result.sum().backward()
            log.append(x.grad.tolist())
        except RuntimeError as error:
            log.append([type(error).__name__, str(error), type(result.grad_fn).__name__])
    return log


def shown_otherwise(t):
    """`as_strided_` of a result, and the one step of `nextafter`, have gradients."""
    x = leaf(t, 1.0, 2.0, 3.0, 4.0)
    y = (x * 2).as_strided_((2, 2), (1, 1), 1)
    (y * y).sum().backward()
    near = leaf(t, 1.0, 2.0)
    t.nextafter(near, t.tensor([1.0, 5.0], dtype=t.float64)).sum().backward()
    log = [type(y.grad_fn).__name__[:-1], y.tolist(), x.grad.tolist(), near.grad.tolist()]
    try:
        x.as_strided_((2,), (1,))
    except RuntimeError as error:
        log.append("a leaf Variable" in str(error))
    return log


def linear_layers(t):
    """Graph viewers find the bias, the input and the weight of a linear layer in torch's order."""
    x, w, b = t.ones(2, 3, requires_grad=True), t.ones(4, 3, requires_grad=True), t.ones(4, requires_grad=True)
    log = []
    for node in (t.nn.functional.linear(x, w, b).grad_fn, t.nn.functional.linear(x, w).grad_fn):
        parts = [part for part, _ in node.next_functions]
        # torch's weight comes through a transposition.
        leaves = [part if hasattr(part, "variable") else part.next_functions[0][0] for part in parts]
        log += [node.name(), [tuple(part.variable.shape) for part in leaves]]
    return log


def node_objects(t):
    """A node is one object while it is held: graph viewers name nodes by `id`, and note things down about them."""
    x = leaf(t, 1.0, 2.0)
    middle = x * 2
    top = (middle.exp() + middle.sin()).grad_fn
    held, edges = [], []

    def visit(node):
        if any(node is known for known in held):
            return
        held.append(node)
        for part, _ in node.next_functions:
            if part is not None:
                visit(part)
                edges.append((id(part), id(node)))

    visit(top)
    names = {id(node): node.name() for node in held}
    top.metadata["note"] = 1
    later = top.next_functions[0][0]
    return [
        sorted((names[one], names[other]) for one, other in edges),
        top.metadata,
        later is top.next_functions[0][0],
        top._sequence_nr() > later._sequence_nr(),
    ]


SCENARIOS = [
    gradient_edges,
    kept_objects,
    kept_values,
    linear_layers,
    names_of_layers,
    node_objects,
    shown_otherwise,
    without_derivatives,
    walk,
    node_hooks,
    packed,
    packed_twice_differentiated,
    on_the_cpu,
    several_gradients,
    some_of_several_gradients,
    callbacks_at_the_end,
]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
def test_graphs_follow_torchs(scenario):
    assert scenario(pyburn) == scenario(torch)


def test_packed_values_replace_the_tensors():
    x = leaf(pyburn, 3.0)
    with pyburn.autograd.graph.saved_tensors_hooks(lambda tensor: None, lambda _: leaf(pyburn, 100.0).detach()):
        y = x * x
    y.backward()
    assert x.grad.tolist() == [200.0]


@pytest.mark.parametrize("which", ["pack", "unpack"])
def test_errors_of_hooks_reach_the_caller(which):
    def fail(_value):
        raise KeyError(which)

    hooks = {"pack": lambda tensor: tensor, "unpack": lambda tensor: tensor, which: fail}
    x = leaf(pyburn, 3.0)

    def run():
        with pyburn.autograd.graph.saved_tensors_hooks(hooks["pack"], hooks["unpack"]):
            y = x * x
        y.backward()

    with pytest.raises(KeyError, match=which):
        run()


def test_hooks_can_be_forbidden_and_end_with_their_context():
    graph = pyburn.autograd.graph
    with graph.disable_saved_tensors_hooks("not here"), pytest.raises(RuntimeError, match="not here"):
        graph.save_on_cpu().__enter__()
    calls = []
    with graph.saved_tensors_hooks(calls.append, lambda _: None):
        pass
    leaf(pyburn, 1.0).exp()
    assert calls == []
    with pytest.raises(ValueError, match="mode is 'some'"):
        graph.register_multi_grad_hook([], print, mode="some")
