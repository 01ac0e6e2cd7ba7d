"""torch.special: functions of analysis and statistics."""

from pyburn.ops import (
    digamma,
    erf,
    erfc,
    erfinv,
    exp2,
    expm1,
    lgamma,
    log1p,
    log_softmax,
    logit,
    logsumexp,
    polygamma,
    round,
    sigmoid,
    sinc,
    softmax,
    xlogy,
)
from pyburn.ops._arguments import publish as _publish
from pyburn.special.bessel import *
from pyburn.special.bessel import __all__ as _bessel
from pyburn.special.gamma import gammainc, gammaincc, multigammaln, zeta
from pyburn.special.normal import entr, erfcx, log_ndtr, ndtr, ndtri, xlog1py
from pyburn.special.polynomial import *
from pyburn.special.polynomial import __all__ as _polynomial

psi = digamma
gammaln = lgamma
expit = sigmoid
# torch's names of these outside of `special`.
igamma = gammainc
igammac = gammaincc
mvlgamma = multigammaln

__all__ = [
    "digamma",
    "entr",
    "erf",
    "erfc",
    "erfcx",
    "erfinv",
    "exp2",
    "expit",
    "expm1",
    "gammainc",
    "gammaincc",
    "gammaln",
    "log1p",
    "log_ndtr",
    "log_softmax",
    "logit",
    "logsumexp",
    "multigammaln",
    "ndtr",
    "ndtri",
    "polygamma",
    "psi",
    "round",
    "sinc",
    "softmax",
    "xlog1py",
    "xlogy",
    "zeta",
]
__all__ += _bessel
__all__ += _polynomial
_publish(globals(), __all__, space="special_")
