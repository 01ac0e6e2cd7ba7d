"""Transforms, constraints and the registry between them, beside torch's."""

import numpy as np
import pyburn
import pytest
import torch

from oracle import Case, check_op, from_torch, to_torch

X = np.array([[-0.7, 0.5, 1.2], [0.1, -1.5, 2.0]])
TRANSFORMS = {
    "Exp": (lambda d: d.ExpTransform(), X),
    "Exp-inv": (lambda d: d.ExpTransform().inv, X + 3),
    "Power": (lambda d: d.PowerTransform(2.5), X + 3),
    "Sigmoid": (lambda d: d.SigmoidTransform(), X),
    "Softplus": (lambda d: d.SoftplusTransform(), X),
    "Tanh": (lambda d: d.TanhTransform(), X),
    "Affine": (lambda d: d.AffineTransform(1.0, -2.0), X),
    "Affine-event": (lambda d: d.AffineTransform(1.0, 0.5, event_dim=1), X),
    "StickBreaking": (lambda d: d.StickBreakingTransform(), X),
    "CorrCholesky": (lambda d: d.CorrCholeskyTransform(), X),
    "Reshape": (lambda d: d.ReshapeTransform((2, 3), (3, 2)), X),
    "Independent": (lambda d: d.IndependentTransform(d.ExpTransform(), 1), X),
    "Compose": (lambda d: d.ComposeTransform([d.TanhTransform(), d.AffineTransform(2.0, 3.0)]), X),
    "Cat": (lambda d: d.CatTransform([d.ExpTransform(), d.SigmoidTransform()], dim=1, lengths=[1, 2]), X),
    "Stack": (lambda d: d.StackTransform([d.ExpTransform(), d.SigmoidTransform()], dim=0), X),
    "Cumulative": (lambda d: d.CumulativeDistributionTransform(d.Laplace(0.0, 1.0)), X),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_forth_back_and_how_space_is_stretched(name):
    make, x = TRANSFORMS[name]

    def all_of_it(lib, x):
        t = make(lib.distributions)
        y = t(x)
        return y, t.inv(y), t.log_abs_det_jacobian(x, y)

    check_op(all_of_it, Case(x), rtol=1e-8, atol=1e-8)
    mine, other = make(pyburn.distributions), make(torch.distributions)
    assert tuple(mine.forward_shape(pyburn.Size(x.shape))) == tuple(other.forward_shape(torch.Size(x.shape)))
    assert (mine.bijective, mine.domain.event_dim) == (other.bijective, other.domain.event_dim)
    if name not in ("Affine", "Affine-event", "Power", "Cumulative"):
        assert repr(mine) == repr(other)


@pytest.mark.parametrize("name", ["Softmax", "LowerCholesky", "Abs"])
def test_those_that_are_not_bijective(name):
    x = np.stack([X[:, :2], X[:, 1:]])
    check_op(lambda lib, x: getattr(lib.distributions, f"{name}Transform")()(x), Case(x))


def test_a_cache_keeps_values_that_have_no_inverse():
    t = pyburn.distributions.TanhTransform(cache_size=1)
    x = pyburn.tensor([30.0])
    y = t(x)
    assert t.inv(y) is x
    assert pyburn.distributions.TanhTransform().inv(y).isinf().all()
    assert t.with_cache(0)._cache_size == 0
    assert t == pyburn.distributions.TanhTransform()
    assert t.inv.inv is t


REGIONS = [
    ("real", lambda c: c.real),
    ("positive", lambda c: c.positive),
    ("nonnegative", lambda c: c.nonnegative),
    ("unit", lambda c: c.unit_interval),
    ("interval", lambda c: c.interval(-2.0, 3.0)),
    ("half-open", lambda c: c.half_open_interval(-2.0, 3.0)),
    ("greater", lambda c: c.greater_than(1.5)),
    ("less", lambda c: c.less_than(1.5)),
    ("simplex", lambda c: c.simplex),
    ("vector", lambda c: c.real_vector),
    ("independent", lambda c: c.independent(c.positive, 1)),
    ("corr", lambda c: c.corr_cholesky),
]


@pytest.mark.parametrize(("name", "region"), REGIONS)
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_the_registry_leads_into_the_region(name, region, registry):
    mine = getattr(pyburn.distributions, registry)(region(pyburn.distributions.constraints))
    other = getattr(torch.distributions, registry)(region(torch.distributions.constraints))
    y = mine(from_torch(torch.tensor(X)))
    torch.testing.assert_close(to_torch(y), other(torch.tensor(X)))
    assert region(pyburn.distributions.constraints).check(y).all()


VALUES = np.array([[-1.0, 0.0, 0.5], [1.0, 2.0, np.nan], [0.2, 0.3, 0.5], [0.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    "region",
    [lambda c, n=n: getattr(c, n) for n in ("boolean", "one_hot", "real", "real_vector", "simplex", "unit_interval")]
    + [lambda c, n=n: getattr(c, n) for n in ("positive", "nonnegative", "positive_integer", "nonnegative_integer")]
    + [lambda c: c.integer_interval(0, 1), lambda c: c.half_open_interval(0, 1), lambda c: c.less_than(1)]
    + [lambda c: c.multinomial(2), lambda c: c.independent(c.positive, 1), lambda c: c.greater_than_eq(0.2)],
)
def test_constraints_check_as_torchs(region):
    mine, other = region(pyburn.distributions.constraints), region(torch.distributions.constraints)
    assert mine.check(from_torch(torch.tensor(VALUES))).tolist() == other.check(torch.tensor(VALUES)).tolist()
    assert (mine.is_discrete, mine.event_dim) == (other.is_discrete, other.event_dim)
    if "multinomial" not in repr(other).lower():
        assert repr(mine) == repr(other)


def test_matrices():
    matrices = torch.tensor([[[1.0, 0.0], [0.5, 2.0]], [[1.0, 0.3], [0.3, -1.0]], [[-1.0, 0.0], [0.0, 1.0]]])
    for name in ("lower_triangular", "lower_cholesky", "square", "symmetric"):
        found = getattr(pyburn.distributions.constraints, name).check(from_torch(matrices))
        assert found.tolist() == getattr(torch.distributions.constraints, name).check(matrices).tolist()
