"""Each distribution beside torch's: densities, moments, divergences, samples from one seed, and mistakes."""

import copy
import importlib
import itertools
import pickle

import numpy as np
import pyburn
import pytest
import torch

from oracle import Case, check_op, from_torch, to_torch

A = np.array([[0.7, 1.5, 3.0], [0.4, 2.2, 1.1]])
B = np.array([[1.3, 0.6, 2.5], [3.1, 0.9, 1.7]])
P = np.array([[0.2, 0.55, 0.8], [0.35, 0.6, 0.15]])
R = np.array([[-0.7, 0.5, 1.2], [0.1, -1.5, 2.0]])
UNIT = np.array([[0.1, 0.5, 0.9], [0.25, 0.66, 0.33]])
COUNT = np.array([[0.0, 1.0, 4.0], [2.0, 3.0, 1.0]])
BITS = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
SIMPLEX = np.array([[0.2, 0.5, 0.3], [0.1, 0.1, 0.8]])
HOT = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])
# How it is made, its parameters, and a value.
CASES = {
    "Bernoulli": (lambda d, p: d.Bernoulli(p), [P], BITS),
    "Bernoulli-logits": (lambda d, p: d.Bernoulli(logits=p), [R], BITS),
    "Beta": (lambda d, a, b: d.Beta(a, b), [A, B], UNIT),
    "Binomial": (lambda d, p: d.Binomial(5, p), [P], COUNT),
    "Binomial-logits": (lambda d, p: d.Binomial(5, logits=p), [R], COUNT),
    "Categorical": (lambda d, p: d.Categorical(p), [P], np.array([1.0, 2.0])),
    "Categorical-logits": (lambda d, p: d.Categorical(logits=p), [R], np.array([1.0, 2.0])),
    "Cauchy": (lambda d, a, b: d.Cauchy(a, b), [R, B], R + 0.3),
    "Chi2": (lambda d, a: d.Chi2(a), [A], B),
    "ContinuousBernoulli": (lambda d, p: d.ContinuousBernoulli(p), [np.append(P[0], 0.5)], np.append(UNIT[0], 0.7)),
    "Dirichlet": (lambda d, a: d.Dirichlet(a), [A], SIMPLEX),
    "Exponential": (lambda d, a: d.Exponential(a), [A], B),
    "FisherSnedecor": (lambda d, a, b: d.FisherSnedecor(a, b), [A + 2, B + 3], B),
    "Gamma": (lambda d, a, b: d.Gamma(a, b), [A, B], UNIT * 3),
    "Geometric": (lambda d, p: d.Geometric(p), [P], COUNT),
    "Geometric-logits": (lambda d, p: d.Geometric(logits=p), [R], COUNT),
    "Gumbel": (lambda d, a, b: d.Gumbel(a, b), [R, B], R + 0.3),
    "HalfCauchy": (lambda d, a: d.HalfCauchy(a), [A], B),
    "HalfNormal": (lambda d, a: d.HalfNormal(a), [A], B),
    "Independent": (lambda d, a, b: d.Independent(d.Normal(a, b), 1), [R, B], R + 0.3),
    "InverseGamma": (lambda d, a, b: d.InverseGamma(a + 2, b), [A, B], UNIT * 3),
    "Kumaraswamy": (lambda d, a, b: d.Kumaraswamy(a, b), [A, B], UNIT),
    "Laplace": (lambda d, a, b: d.Laplace(a, b), [R, B], R + 0.3),
    "LogNormal": (lambda d, a, b: d.LogNormal(a, b), [R, B / 2], UNIT * 3),
    "LogisticNormal": (lambda d, a, b: d.LogisticNormal(a, b), [R[:, :2], B[:, :2]], SIMPLEX),
    "MixtureSameFamily": (
        lambda d, p, a, b: d.MixtureSameFamily(d.Categorical(p), d.Normal(a, b)),
        [P, R, B],
        np.array([0.3, -0.4]),
    ),
    "Multinomial": (lambda d, p: d.Multinomial(5, p), [P], np.array([[2.0, 0.0, 3.0], [1.0, 3.0, 1.0]])),
    "NegativeBinomial": (lambda d, p: d.NegativeBinomial(4.0, p), [P], COUNT),
    "Normal": (lambda d, a, b: d.Normal(a, b), [R, B], R + 0.3),
    "OneHotCategorical": (lambda d, p: d.OneHotCategorical(p), [P], HOT),
    "OneHotCategoricalStraightThrough": (lambda d, p: d.OneHotCategoricalStraightThrough(p), [P], HOT),
    "Pareto": (lambda d, a, b: d.Pareto(a, b), [A, B + 2], A + B),
    "Poisson": (lambda d, a: d.Poisson(a), [A], COUNT),
    "RelaxedBernoulli": (lambda d, t, p: d.RelaxedBernoulli(t, p), [np.array(0.7), P], UNIT),
    "RelaxedOneHotCategorical": (lambda d, t, p: d.RelaxedOneHotCategorical(t, p), [np.array(0.7), P], SIMPLEX),
    "LogitRelaxedBernoulli": (lambda d, t, p: d.relaxed_bernoulli.LogitRelaxedBernoulli(t, p), [np.array(0.7), P], R),
    "StudentT": (lambda d, a, b, c: d.StudentT(a + 2, b, c), [A, R, B], R + 0.3),
    "TransformedDistribution": (
        lambda d, a, b: d.TransformedDistribution(d.Normal(a, b), [d.SigmoidTransform(), d.AffineTransform(1.0, -2.0)]),
        [R, B],
        1 - 2 * UNIT,
    ),
    "Uniform": (lambda d, a, b: d.Uniform(a, a + b), [R, B], R + B / 3),
    "VonMises": (lambda d, a, b: d.VonMises(a, b), [R, B], R + 0.3),
    "Weibull": (lambda d, a, b: d.Weibull(a, b), [A, B], UNIT * 3),
}
NAMES = pytest.mark.parametrize("name", CASES)
# torch uses a Bessel function of single precision there.
LOOSE = {"VonMises": 1e-6}


def made(lib, name, dtype="float64", **settings):
    make, params, _ = CASES[name]
    convert = torch.tensor if lib is torch else lambda a: from_torch(torch.tensor(a))
    return make(lib.distributions, *[convert(p.astype(dtype)) for p in params])


@NAMES
def test_log_prob_and_its_gradients(name):
    make, params, value = CASES[name]
    tolerance = LOOSE.get(name, 1e-9)
    discrete = name.partition("-")[0] in ("Bernoulli", "Binomial", "Categorical", "Geometric", "Multinomial", "Poisson")
    discrete = discrete or name.startswith(("NegativeBinomial", "OneHot"))
    check_op(
        lambda lib, v, *p: make(lib.distributions, *p).log_prob(v),
        Case(value, requires_grad=not discrete),
        *[Case(p) for p in params],
        rtol=tolerance,
        atol=tolerance,
    )


@NAMES
@pytest.mark.parametrize("what", ["mean", "variance", "stddev", "mode", "entropy", "perplexity"])
def test_what_is_known(name, what):
    make, params, _ = CASES[name]

    def answer(lib, *p):
        found = getattr(make(lib.distributions, *p), what)
        return found() if callable(found) else found

    tensors = [torch.tensor(p) for p in params]
    try:
        answer(torch, *tensors)
    except NotImplementedError:
        with pytest.raises(NotImplementedError):
            answer(pyburn, *[from_torch(t) for t in tensors])
        return
    tolerance = LOOSE.get(name, 1e-9)
    grad = what != "mode" and name not in ("Pareto", "StudentT", "FisherSnedecor", "HalfCauchy", "Cauchy")
    check_op(answer, *[Case(p) for p in params], grad=grad, rtol=tolerance, atol=tolerance)


@NAMES
def test_cdf_and_icdf(name):
    make, params, value = CASES[name]
    if made(torch, name).event_shape:
        return
    tensors = [torch.tensor(p) for p in params]
    shaped = name not in ("Gamma", "Chi2", "InverseGamma")
    for what, point in (("cdf", value), ("icdf", np.resize(UNIT, value.shape))):
        function = lambda lib, v, *p, what=what: getattr(make(lib.distributions, *p), what)(v)  # noqa: E731
        try:
            function(torch, torch.tensor(point), *tensors)
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                function(pyburn, from_torch(torch.tensor(point)), *[from_torch(t) for t in tensors])
            continue
        check_op(
            function,
            Case(point),
            *[Case(p, requires_grad=shaped) for p in params],
            rtol=1e-8,
            atol=1e-8,
        )


SAME_STREAM = [
    "Bernoulli",
    "Categorical",
    "Cauchy",
    "ContinuousBernoulli",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "Kumaraswamy",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "MixtureSameFamily",
    "Multinomial",
    "Normal",
    "OneHotCategorical",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
]


@pytest.mark.parametrize("name", SAME_STREAM)
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)])
def test_samples_are_torchs_from_the_same_seed(name, shape):
    if name in ("Cauchy", "HalfCauchy") and shape != ():
        shape = (8,)
    torch.manual_seed(3), pyburn.manual_seed(3)
    expected, found = made(torch, name, "float32").sample(shape), made(pyburn, name, "float32").sample(shape)
    torch.testing.assert_close(to_torch(found), expected, rtol=2e-5, atol=2e-5)


@NAMES
def test_samples_have_the_moments(name):
    pyburn.manual_seed(1)
    distribution = made(pyburn, name)
    sample = distribution.sample((8000,))
    assert tuple(sample.shape) == tuple(made(torch, name).sample((8000,)).shape)
    try:
        mean, variance = to_torch(distribution.mean), to_torch(distribution.variance)
    except NotImplementedError:
        return
    if name in ("VonMises", "InverseGamma", "Pareto") or not (mean.isfinite().all() and variance.isfinite().all()):
        return
    drawn = to_torch(sample).to(torch.float64)
    error = 6 * (variance / 8000).sqrt() + 1e-6
    assert ((drawn.mean(0) - mean).abs() <= error).all()
    if name not in ("LogNormal", "StudentT", "FisherSnedecor"):
        torch.testing.assert_close(drawn.var(0), variance, rtol=0.15, atol=1e-3)


@pytest.mark.parametrize("name", ["Gamma", "Beta", "Dirichlet", "Chi2", "StudentT", "InverseGamma"])
def test_the_gradient_of_samples_is_that_of_their_mean(name):
    """The mean of the gradients of samples is the gradient of E[f(x)], here f = log1p."""
    make, params, _ = CASES[name]
    results = []
    for lib in (pyburn, torch):
        lib.manual_seed(0)
        tensors = [from_torch(torch.tensor(p)) if lib is pyburn else torch.tensor(p) for p in params]
        first = tensors[0].requires_grad_()
        samples = make(lib.distributions, *tensors).rsample((4000,))
        samples.abs().log1p().mean(0).sum().backward()
        results.append(np.array(first.grad.tolist()))
    np.testing.assert_allclose(results[0], results[1], rtol=0.12, atol=0.03)


def test_the_gradient_of_one_gamma_sample():
    from pyburn.distributions._gamma_sampling import standard_gamma_grad

    a, x = (grid.ravel() for grid in np.meshgrid([0.1, 0.7, 1.0, 5.0, 60.0, 900.0], [0.3, 0.9, 1.0, 1.1, 2.0]))
    value = torch.tensor(a * x)
    expected = torch._standard_gamma_grad(torch.tensor(a), value)
    found = to_torch(standard_gamma_grad(from_torch(torch.tensor(a)), from_torch(value)))
    torch.testing.assert_close(found, expected, rtol=2e-3, atol=1e-4)


@pytest.mark.parametrize("name", [n for n in CASES if n not in ("Poisson",) and made(torch, n).has_rsample])
def test_rsample_has_gradients(name):
    make, params, _ = CASES[name]
    tensors = [from_torch(torch.tensor(p)).requires_grad_() for p in params]
    distribution = make(pyburn.distributions, *tensors)
    assert distribution.has_rsample
    distribution.rsample((3,)).sum().backward()
    assert all(tensor.grad is not None and bool(tensor.grad.isfinite().all()) for tensor in tensors)
    assert not distribution.sample().requires_grad


PAIRS = [(p, q) for p, q in itertools.product(CASES, CASES) if "-" not in p + q]


def test_every_divergence():
    """All pairs of distributions: the same number, or no formula in both libraries."""
    known = 0
    for p, q in PAIRS:
        mine, other = (made(pyburn, p), made(pyburn, q)), (made(torch, p), made(torch, q))
        try:
            expected = torch.distributions.kl_divergence(*other)
        except (NotImplementedError, RuntimeError, ValueError) as error:
            with pytest.raises((NotImplementedError, RuntimeError, ValueError)):
                pyburn.distributions.kl_divergence(*mine)
            assert error is not None
            continue
        found = pyburn.distributions.kl_divergence(*mine)
        torch.testing.assert_close(
            to_torch(found), expected, rtol=1e-8, atol=1e-8, equal_nan=True, msg=lambda t, p=p, q=q: f"{p} {q} {t}"
        )
        known += 1
    assert known > 60


@NAMES
def test_expand_repr_pickle(name):
    mine, other = made(pyburn, name), made(torch, name)
    assert tuple(mine.batch_shape) == tuple(other.batch_shape)
    assert tuple(mine.event_shape) == tuple(other.event_shape)
    assert repr(mine).replace("pyburn.Size", "torch.Size").replace("pyburn.float64", "torch.float64") == repr(other)
    shape = (4, *mine.batch_shape)
    wide, wider = mine.expand(shape), other.expand(shape)
    assert tuple(wide.batch_shape) == shape
    value = torch.tensor(CASES[name][2])
    torch.testing.assert_close(to_torch(wide.log_prob(from_torch(value))), wider.log_prob(value), rtol=1e-6, atol=1e-6)
    assert tuple(wide.sample((2,)).shape) == tuple(wider.sample((2,)).shape)
    for copied in (copy.deepcopy(mine), pickle.loads(pickle.dumps(mine))):
        assert copied.log_prob(from_torch(value)).tolist() == mine.log_prob(from_torch(value)).tolist()


@NAMES
def test_support_and_enumeration(name):
    mine, other = made(pyburn, name), made(torch, name)
    value = torch.tensor(CASES[name][2])
    inside = mine.support.check(from_torch(value))
    assert inside.tolist() == other.support.check(value).tolist()
    assert mine.has_enumerate_support == other.has_enumerate_support
    if other.has_enumerate_support:
        for expand in (True, False):
            found, expected = mine.enumerate_support(expand), other.enumerate_support(expand)
            torch.testing.assert_close(to_torch(found), expected)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda d, t: d.Normal(0.0, -1.0), "Expected parameter scale"),
        (lambda d, t: d.Bernoulli(t([1.5])), "Expected parameter probs"),
        (lambda d, t: d.Uniform(2.0, 1.0), "Uniform is not defined"),
        (lambda d, t: d.Categorical(t(1.0)), "at least one-dimensional"),
        (lambda d, t: d.Categorical(t([-1.0, 0.5])), "Expected parameter probs"),
        (lambda d, t: d.Bernoulli(), "Either `probs` or `logits`"),
        (lambda d, t: d.Normal(0.0, 1.0).log_prob(t(float("nan"))), "within the support"),
        (lambda d, t: d.Exponential(1.0).log_prob(t(-1.0)), "within the support"),
        (lambda d, t: d.Normal(t([0.0, 1.0]), 1.0).log_prob(t([1.0, 2.0, 3.0])), "not broadcastable"),
        (lambda d, t: d.Dirichlet(t([1.0, 1.0])).log_prob(t([1.0, 0.0, 0.0])), "must match event_shape"),
        (lambda d, t: d.Normal(0.0, 1.0).log_prob(1.0), "must be a Tensor"),
        (lambda d, t: d.Independent(d.Normal(0.0, 1.0), 1), "reinterpreted_batch_ndims"),
        (lambda d, t: d.Normal("0", 1.0), "Number"),
    ],
)
def test_mistakes_are_torchs(make, text, monkeypatch):
    # torch._dynamo, once imported, turns torch's checks off for the whole process.
    monkeypatch.setattr(torch.distributions.Distribution, "_validate_args", True)
    with pytest.raises(ValueError, match=text):
        make(pyburn.distributions, pyburn.tensor)
    with pytest.raises(ValueError):  # noqa: PT011
        make(torch.distributions, torch.tensor)


def test_checks_can_be_turned_off():
    distribution = pyburn.distributions.Exponential(1.0, validate_args=False)
    assert distribution.log_prob(pyburn.tensor(-1.0)).item() == 1.0
    pyburn.distributions.Distribution.set_default_validate_args(False)
    try:
        assert pyburn.distributions.Normal(0.0, -1.0).scale.item() == -1.0
    finally:
        pyburn.distributions.Distribution.set_default_validate_args(True)


def test_torchs_submodules():
    for name in ("normal", "categorical", "beta", "kl", "constraints", "transforms", "utils", "studentT"):
        importlib.import_module(f"pyburn.distributions.{name}")
    assert {n for n in torch.distributions.__all__ if not hasattr(pyburn.distributions, n)} == set()
