"""Training: losses, optimizers, and what runs them. The gradient pass is a transform."""

from . import loss, optimizer, utils
from .loss import CategoricalCrossEntropyLoss, CrossEntropyLoss, L1Loss, MSELoss
from .optimizer import SGD, Adam, MomentumSGD, Optimizer
from .setup_trainer import SetupTrainer
from .trainer import Trainer
from .utils import AppendLoss

__all__ = [
    "SGD",
    "Adam",
    "AppendLoss",
    "CategoricalCrossEntropyLoss",
    "CrossEntropyLoss",
    "L1Loss",
    "MSELoss",
    "MomentumSGD",
    "Optimizer",
    "SetupTrainer",
    "Trainer",
    "loss",
    "optimizer",
    "utils",
]
