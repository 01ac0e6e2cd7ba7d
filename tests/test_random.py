"""Random numbers: after a seed, torch's CPU numbers; plus generators, their states and Distribution."""

import copy
import pickle
import threading

import numpy as np
import pyburn
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import check_error, from_torch, to_torch

FLOATS = ["float64", "float32", "float16", "bfloat16"]
INTEGERS = ["int64", "int32", "int16", "int8", "uint8"]
SEEDS = [0, 1, 42, 2**31, 2**63 + 5, -3]
SIZES = [0, 1, 2, 15, 16, 17, 33, 1000]


def same(draw, seed, exact=True):
    """Both libraries draw the same numbers, and go on with the same next number."""
    torch.manual_seed(seed)
    pyburn.manual_seed(seed)
    expected, found = draw(torch), draw(pyburn)
    assert str(found.dtype).split(".")[-1] == str(expected.dtype).split(".")[-1]
    tolerance = {} if not exact else {"rtol": 0.0, "atol": 0.0}
    torch.testing.assert_close(to_torch(found), expected, equal_nan=True, **tolerance)
    assert pyburn.rand(1, dtype=pyburn.float64).item() == torch.rand(1, dtype=torch.float64).item()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_rand_is_torchs(seed, dtype):
    for size in SIZES:
        same(lambda lib, size=size: lib.rand(size, dtype=getattr(lib, dtype)), seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_randn_is_torchs(seed, dtype):
    for size in SIZES:
        same(lambda lib, size=size: lib.randn(size, dtype=getattr(lib, dtype)), seed, exact=False)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", [*INTEGERS, *FLOATS])
def test_randint_is_torchs(seed, dtype):
    for size in SIZES:
        same(
            lambda lib, size=size: lib.randint(-7 if dtype != "uint8" else 3, 90, (size,), dtype=getattr(lib, dtype)),
            seed,
        )


@pytest.mark.parametrize("seed", SEEDS)
def test_randint_of_wide_ranges_is_torchs(seed):
    same(lambda lib: lib.randint(-(2**62), 2**62, (50,)), seed)
    same(lambda lib: lib.randint(2**40, (50,)), seed)
    same(lambda lib: lib.randint(high=5, size=(4, 3)), seed)
    same(lambda lib: lib.randint(2, 5, size=(4,)), seed)
    same(lambda lib: lib.randint(0, 2, (20,), dtype=lib.bool), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_randperm_is_torchs(seed):
    for n in [0, 1, 2, 10, 1000]:
        same(lambda lib, n=n: lib.randperm(n), seed)
    same(lambda lib: lib.randperm(20, dtype=lib.float32), seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_normal_overloads_are_torchs(seed):
    same(lambda lib: lib.normal(2.0, 3.0, (40,)), seed, exact=False)
    same(lambda lib: lib.normal(2, 3, size=(4, 5)), seed, exact=False)
    mean, std = torch.linspace(-1, 1, 20), torch.linspace(0, 2, 20)
    pair = {torch: (mean, std), pyburn: (from_torch(mean), from_torch(std))}
    same(lambda lib: lib.normal(pair[lib][0], pair[lib][1]), seed, exact=False)
    same(lambda lib: lib.normal(pair[lib][0], 2.0), seed, exact=False)
    same(lambda lib: lib.normal(mean=1.5, std=pair[lib][1]), seed, exact=False)
    same(lambda lib: lib.normal(pair[lib][0].reshape(20, 1), pair[lib][1]), seed, exact=False)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_float_fills_are_torchs(seed, dtype):
    fills = [
        lambda x: x.uniform_(),
        lambda x: x.uniform_(-2.5, 7),
        lambda x: x.normal_(1.0, 0.5),
        lambda x: x.exponential_(2.0),
        lambda x: x.cauchy_(1.0, 2.0),
        lambda x: x.log_normal_(0.0, 0.5),
        lambda x: x.geometric_(0.3),
        lambda x: x.bernoulli_(0.3),
        lambda x: x.random_(),
        lambda x: x.random_(100),
        lambda x: x.random_(-5, 100),
    ]
    for fill in fills:
        for size in [1, 7, 16, 100]:
            same(lambda lib, fill=fill, size=size: fill(lib.zeros(size, dtype=getattr(lib, dtype))), seed, exact=False)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
def test_integer_fills_are_torchs(dtype):
    for fill in [lambda x: x.random_(), lambda x: x.random_(2), lambda x: x.bernoulli_(0.5)]:
        same(lambda lib, fill=fill: fill(lib.zeros(50, dtype=getattr(lib, dtype))), 5)


@pytest.mark.parametrize("fill", ["uniform_", "normal_", "random_", "exponential_"])
def test_strided_fills_are_torchs(fill):
    views = [
        lambda x: x.t(),
        lambda x: x.permute(1, 0),
        lambda x: x.narrow(1, 1, 3),
        lambda x: x.t().narrow(0, 1, 3),
        lambda x: x.as_strided((3, 3), (12, 2)),
    ]
    for view in views:

        def draw(lib, view=view):
            base = lib.zeros(6, 6)
            getattr(view(base), fill)()
            return base

        same(draw, 3, exact=False)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", FLOATS)
def test_bernoulli_is_torchs(seed, dtype):
    p = torch.linspace(0, 1, 40, dtype=torch.float64).to(getattr(torch, dtype))
    pair = {torch: p, pyburn: from_torch(p)}
    same(lambda lib: lib.bernoulli(pair[lib]), seed)
    same(lambda lib: lib.bernoulli(pair[lib], 0.4), seed)
    same(lambda lib: lib.zeros(40).bernoulli_(pair[lib].float()), seed)


@pytest.mark.parametrize("size", [4096, 4099, 65536, 70001, 262145])
@pytest.mark.parametrize("threads", [1, 2])
def test_many_normal_numbers_are_torchs(size, threads):
    before = pyburn.get_num_threads()
    pyburn.set_num_threads(threads)
    try:
        same(lambda lib: lib.randn(size), 7, exact=False)
        same(lambda lib: lib.empty(size).normal_(2.0, 3.0), 8, exact=False)
    finally:
        pyburn.set_num_threads(before)


@pytest.mark.parametrize("samples", [1, 5, 32, 33, 1000])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_many_samples_without_replacement_are_torchs(samples, dtype):
    weights = torch.rand(80, 1000, dtype=getattr(torch, dtype), generator=torch.Generator().manual_seed(3))
    # Those without a chance are all alike; torch has no order among them.
    weights[:, ::7] = 0 if samples < 500 else 1
    pair = {torch: weights, pyburn: from_torch(weights)}
    same(lambda lib: lib.multinomial(pair[lib], samples), 5)


@pytest.mark.parametrize("seed", SEEDS)
def test_multinomial_is_torchs(seed):
    weights = torch.tensor([[0.1, 0.5, 2.0, 0.0], [3.0, 1.0, 1.0, 1.0]])
    pair = {torch: weights, pyburn: from_torch(weights)}
    same(lambda lib: lib.multinomial(pair[lib], 3), seed)
    same(lambda lib: lib.multinomial(pair[lib], 1), seed)
    same(lambda lib: lib.multinomial(pair[lib], 9, replacement=True), seed)
    same(lambda lib: pair[lib].narrow(0, 0, 1).squeeze(0).multinomial(2), seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_poisson_is_torchs(seed, dtype):
    rates = torch.tensor([0.0, 0.1, 1.0, 5.0, 9.99, 10.0, 11.0, 30.0, 500.0, 1e5], dtype=getattr(torch, dtype)).repeat(
        5
    )
    pair = {torch: rates, pyburn: from_torch(rates)}
    same(lambda lib: lib.poisson(pair[lib]), seed)


@settings(max_examples=60, deadline=None)
@given(shape=st.lists(st.integers(0, 5), max_size=4), seed=st.integers(-(2**63), 2**64 - 1))
def test_any_shape_and_seed_is_torchs(shape, seed):
    same(lambda lib: lib.rand(shape), seed)
    same(lambda lib: lib.randn(*shape) if shape else lib.randn(()), seed, exact=False)


def test_like_forms_are_torchs():
    for name in ["rand_like", "randn_like"]:
        same(lambda lib, name=name: getattr(lib, name)(lib.zeros(3, 7)), 1, exact=False)
        same(
            lambda lib, name=name: getattr(lib, name)(lib.zeros(3, dtype=lib.int64), dtype=lib.float64), 1, exact=False
        )
    same(lambda lib: lib.randint_like(lib.zeros(20), 5), 1)
    same(lambda lib: lib.randint_like(lib.zeros(20, dtype=lib.int32), 5, 9), 1)
    same(lambda lib: lib.randint_like(lib.zeros(20), low=5, high=9), 1)


def test_out_is_written():
    for out_size in [3, 5]:
        out = pyburn.zeros(out_size)
        pyburn.manual_seed(1)
        assert pyburn.rand(3, out=out) is out
        pyburn.manual_seed(1)
        assert out.tolist() == pyburn.rand(3).tolist()


def test_generators_are_independent_and_torchs():
    ours, theirs = pyburn.Generator(), torch.Generator()
    assert ours.initial_seed() == theirs.initial_seed()
    assert ours.device == pyburn.device("cpu")
    before = pyburn.get_rng_state().tolist()
    assert pyburn.rand(5, generator=ours).tolist() == torch.rand(5, generator=theirs).tolist()
    assert pyburn.get_rng_state().tolist() == before
    assert ours.manual_seed(9) is ours
    theirs.manual_seed(9)
    assert pyburn.randperm(9, generator=ours).tolist() == torch.randperm(9, generator=theirs).tolist()
    assert ours.seed() == ours.initial_seed()


def test_states_travel_to_torch_and_back():
    generator = pyburn.manual_seed(3)
    pyburn.randn(3)  # leaves half of a pair in the state
    torch.set_rng_state(to_torch(pyburn.get_rng_state()))
    assert pyburn.randn(5).tolist() == torch.randn(5).tolist()
    torch.manual_seed(4)
    torch.rand(7)
    pyburn.set_rng_state(from_torch(torch.get_rng_state()))
    assert pyburn.rand(5).tolist() == torch.rand(5).tolist()
    assert generator.initial_seed() == 4


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g)), lambda g: g.clone_state()]
)
def test_copied_generators_continue_alike(clone):
    first = pyburn.Generator().manual_seed(11)
    pyburn.rand(3, generator=first)
    second = clone(first)
    assert pyburn.rand(3, generator=first).tolist() == pyburn.rand(3, generator=second).tolist()


def test_fork_rng_restores_the_state():
    pyburn.manual_seed(0)
    with pyburn.random.fork_rng():
        pyburn.rand(3)
        pyburn.manual_seed(8)
    assert pyburn.initial_seed() == 0
    torch.manual_seed(0)
    assert pyburn.rand(1).item() == torch.rand(1).item()


def test_threads_may_share_a_generator():
    generator = pyburn.Generator().manual_seed(0)
    parts = [[] for _ in range(4)]

    def work(part):
        for _ in range(50):
            part.extend(pyburn.rand(20, dtype=pyburn.float64, generator=generator).tolist())

    threads = [threading.Thread(target=work, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    drawn = sorted(number for part in parts for number in part)
    alone = sorted(pyburn.rand(4000, dtype=pyburn.float64, generator=pyburn.Generator().manual_seed(0)).tolist())
    assert drawn == alone


ERRORS = [
    lambda lib: lib.randint(5, 3, (2,)),
    lambda lib: lib.randint(300, (2,), dtype=lib.uint8),
    lambda lib: lib.randint(5),
    lambda lib: lib.randint(5, (-1,)),
    lambda lib: lib.rand(2, dtype=lib.int64),
    lambda lib: lib.randn(2, dtype=lib.int64),
    lambda lib: lib.rand(-1),
    lambda lib: lib.rand(2, generator=3),
    lambda lib: lib.rand("a"),
    lambda lib: lib.rand(),
    lambda lib: lib.normal(0.0, -1.0, (2,)),
    lambda lib: lib.normal(0.0, 1.0),
    lambda lib: lib.normal(lib.zeros(2), lib.tensor([1.0, -1.0])),
    lambda lib: lib.normal(lib.zeros(2, dtype=lib.int64), 1.0),
    lambda lib: lib.bernoulli(lib.tensor([2.0])),
    lambda lib: lib.bernoulli(lib.tensor([1])),
    lambda lib: lib.zeros(2).bernoulli_(2),
    lambda lib: lib.zeros(2).uniform_(3, 1),
    lambda lib: lib.zeros(2).uniform_(float("nan"), 1),
    lambda lib: lib.zeros(2).exponential_(-1),
    lambda lib: lib.zeros(2).geometric_(1),
    lambda lib: lib.zeros(2).cauchy_(0, -1),
    lambda lib: lib.zeros(2).log_normal_(0, -1),
    lambda lib: lib.zeros(2, dtype=lib.int64).uniform_(),
    lambda lib: lib.zeros(2, dtype=lib.int64).exponential_(),
    lambda lib: lib.zeros(2, dtype=lib.uint8).random_(0, 300),
    lambda lib: lib.zeros(2).random_(5, 1),
    lambda lib: lib.multinomial(lib.tensor([1.0, 2]), 3),
    lambda lib: lib.multinomial(lib.tensor([-1.0, 2]), 1),
    lambda lib: lib.multinomial(lib.tensor([0.0, 0]), 1),
    lambda lib: lib.multinomial(lib.tensor(1.0), 1),
    lambda lib: lib.multinomial(lib.tensor([1, 2]), 1),
    lambda lib: lib.multinomial(lib.tensor([1.0, 2]), 0),
    lambda lib: lib.poisson(lib.tensor([-1.0])),
    lambda lib: lib.poisson(lib.tensor([1])),
    lambda lib: lib.randperm(-1),
    lambda lib: lib.randperm(300, dtype=lib.uint8),
    lambda lib: lib.manual_seed(2**64),
    lambda lib: lib.manual_seed("a"),
    lambda lib: lib.Generator().set_state(lib.zeros(3)),
    lambda lib: lib.Generator().set_state(lib.zeros(3, dtype=lib.uint8)),
    lambda lib: lib.zeros(3, requires_grad=True).uniform_(),
    lambda lib: lib.zeros(1).expand(3).normal_(),
]


@pytest.mark.parametrize("call", ERRORS)
def test_bad_arguments_raise_as_in_torch(call):
    check_error(call)


def test_absurd_sizes_are_memory_errors():
    for call in [lambda: pyburn.rand(10**14), lambda: pyburn.randperm(10**14), lambda: pyburn.randint(5, (10**14,))]:
        with pytest.raises(MemoryError):
            call()


def test_fills_pass_no_gradient_and_reach_views():
    x = pyburn.ones(4, requires_grad=True)
    y = x * 2
    y.uniform_()
    y.backward(pyburn.ones(4))
    assert x.grad.tolist() == [0.0] * 4
    base = pyburn.zeros(4)
    part = base.narrow(0, 2, 2)
    base.fill_(7).random_(1, 2)
    assert part.tolist() == [1.0, 1.0]


def test_distribution_draws_what_it_says():
    D = pyburn.Distribution
    pyburn.manual_seed(0)
    uniform = pyburn.Tensor.random((1000,), D.Uniform(2.0, 3.0)).numpy()
    assert uniform.min() >= 2.0 and uniform.max() < 3.0 and abs(uniform.mean() - 2.5) < 0.05
    normal = pyburn.Tensor.random((2000,), D.Normal(5.0, 0.5), dtype=pyburn.float64).numpy()
    assert abs(normal.mean() - 5.0) < 0.05 and abs(normal.std() - 0.5) < 0.05
    coins = pyburn.Tensor.random([1000], D.Bernoulli(0.25), dtype=pyburn.bool)
    assert coins.dtype is pyburn.bool and 150 < np.count_nonzero(coins.numpy()) < 350
    plain = pyburn.Tensor.random((2, 3))
    assert plain.shape == (2, 3) and plain.numpy().min() >= 0 and plain.numpy().max() < 1
    whole = pyburn.Tensor.random((500,), D.Default, dtype=pyburn.int32).numpy()
    assert whole.min() >= 0 and whole.max() < 255 and len(set(whole.tolist())) > 50
    assert pyburn.Tensor.random((1,), D.Default, requires_grad=True).requires_grad
    assert pyburn.tensor.Distribution is D and pyburn.tensor.TensorPy is pyburn.Tensor
    assert repr(D.Default) == "Distribution.Default" and D.Normal(0, 1) == D.Normal(0, 1)
    with pytest.raises(TypeError, match="Distribution"):
        pyburn.Tensor.random((2,), "normal")


LAYOUTS = {
    "transposed": lambda x: x.transpose(0, 1),
    "permuted": lambda x: x.permute(2, 0, 1),
    "gaps": lambda x: x[..., ::2],
}
DRAWS = {
    "dropout": lambda lib, x: lib.nn.functional.dropout(x, 0.4, True),
    "dropout_": lambda lib, x: lib.nn.functional.dropout(x, 0.4, True, True),
    "all": lambda lib, x: lib.nn.functional.dropout(x, 1.0, True),
    "alpha_dropout": lambda lib, x: lib.nn.functional.alpha_dropout(x, 0.4, True),
    "dropout1d": lambda lib, x: lib.nn.functional.dropout1d(x, 0.4, True),
    "gumbel_softmax": lambda lib, x: lib.nn.functional.gumbel_softmax(x, dim=-1),
    "rand_like": lambda lib, x: lib.rand_like(x),
    "randn_like": lambda lib, x: lib.randn_like(x),
    "trunc_normal_": lambda lib, x: lib.nn.init.trunc_normal_(x),
    "rrelu": lambda lib, x: lib.nn.functional.rrelu(x, training=True),
}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_lies_in_memory_in_another_order_is_drawn_in_it(name, layout):
    def draw(lib):
        base = lib.linspace(-1, 1, 4 * 5 * 6, dtype=lib.float64).reshape(4, 5, 6)
        return DRAWS[name](lib, LAYOUTS[layout](base))

    same(draw, 11, exact=False)


def test_dropout_of_nothing_and_of_too_few_dimensions():
    same(lambda lib: lib.nn.functional.dropout1d(lib.zeros(3, 0), 0.5, True), 1)
    for lib in (torch, pyburn):
        with pytest.raises(RuntimeError, match="at least 2 dimensions"):
            lib.nn.functional.feature_alpha_dropout(lib.ones(3), 0.5, True)
