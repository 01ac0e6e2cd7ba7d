"""torch.distributions: probability distributions, what they share, and divergences between them."""

from pyburn.distributions import _kl_mixed as _kl_mixed
from pyburn.distributions import constraints
from pyburn.distributions.bernoulli import Bernoulli
from pyburn.distributions.beta import Beta
from pyburn.distributions.binomial import Binomial
from pyburn.distributions.categorical import Categorical
from pyburn.distributions.cauchy import Cauchy
from pyburn.distributions.chi2 import Chi2
from pyburn.distributions.constraint_registry import biject_to, transform_to
from pyburn.distributions.continuous_bernoulli import ContinuousBernoulli
from pyburn.distributions.dirichlet import Dirichlet
from pyburn.distributions.distribution import Distribution
from pyburn.distributions.exp_family import ExponentialFamily
from pyburn.distributions.exponential import Exponential
from pyburn.distributions.fishersnedecor import FisherSnedecor
from pyburn.distributions.gamma import Gamma
from pyburn.distributions.generalized_pareto import GeneralizedPareto
from pyburn.distributions.geometric import Geometric
from pyburn.distributions.gumbel import Gumbel
from pyburn.distributions.half_cauchy import HalfCauchy
from pyburn.distributions.half_normal import HalfNormal
from pyburn.distributions.independent import Independent
from pyburn.distributions.inverse_gamma import InverseGamma
from pyburn.distributions.kl import kl_divergence, register_kl
from pyburn.distributions.kumaraswamy import Kumaraswamy
from pyburn.distributions.laplace import Laplace
from pyburn.distributions.lkj_cholesky import LKJCholesky
from pyburn.distributions.log_normal import LogNormal
from pyburn.distributions.logistic_normal import LogisticNormal
from pyburn.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from pyburn.distributions.mixture_same_family import MixtureSameFamily
from pyburn.distributions.multinomial import Multinomial
from pyburn.distributions.multivariate_normal import MultivariateNormal
from pyburn.distributions.negative_binomial import NegativeBinomial
from pyburn.distributions.normal import Normal
from pyburn.distributions.one_hot_categorical import OneHotCategorical, OneHotCategoricalStraightThrough
from pyburn.distributions.pareto import Pareto
from pyburn.distributions.poisson import Poisson
from pyburn.distributions.relaxed_bernoulli import LogitRelaxedBernoulli, RelaxedBernoulli
from pyburn.distributions.relaxed_categorical import RelaxedOneHotCategorical
from pyburn.distributions.studentT import StudentT
from pyburn.distributions.transformed_distribution import TransformedDistribution
from pyburn.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from pyburn.distributions.uniform import Uniform
from pyburn.distributions.von_mises import VonMises
from pyburn.distributions.weibull import Weibull
from pyburn.distributions.wishart import Wishart

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LogitRelaxedBernoulli",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraints",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
]
