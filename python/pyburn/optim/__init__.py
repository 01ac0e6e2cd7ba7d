"""torch.optim: optimizers and learning-rate schedules."""

from pyburn.optim import lr_scheduler, swa_utils
from pyburn.optim.adadelta import Adadelta
from pyburn.optim.adafactor import Adafactor
from pyburn.optim.adagrad import Adagrad
from pyburn.optim.adam import Adam, AdamW
from pyburn.optim.adamax import Adamax
from pyburn.optim.adan import Adan
from pyburn.optim.asgd import ASGD
from pyburn.optim.lamb import Lamb
from pyburn.optim.lbfgs import LBFGS
from pyburn.optim.lion import Lion
from pyburn.optim.muon import Muon
from pyburn.optim.nadam import NAdam
from pyburn.optim.optimizer import Optimizer
from pyburn.optim.radam import RAdam
from pyburn.optim.rmsprop import RMSprop
from pyburn.optim.rprop import Rprop
from pyburn.optim.sgd import SGD
from pyburn.optim.sparse_adam import SparseAdam

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Adan",
    "Lamb",
    "Lion",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]
