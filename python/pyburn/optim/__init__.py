"""torch.optim: optimizers and learning-rate schedules."""

from pyburn.optim import lr_scheduler
from pyburn.optim.adadelta import Adadelta
from pyburn.optim.adagrad import Adagrad
from pyburn.optim.adam import Adam, AdamW
from pyburn.optim.adamax import Adamax
from pyburn.optim.asgd import ASGD
from pyburn.optim.nadam import NAdam
from pyburn.optim.optimizer import Optimizer
from pyburn.optim.radam import RAdam
from pyburn.optim.rmsprop import RMSprop
from pyburn.optim.rprop import Rprop
from pyburn.optim.sgd import SGD

__all__ = [
    "ASGD",
    "SGD",
    "Adadelta",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "lr_scheduler",
]
