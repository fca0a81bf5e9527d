"""Cost models: which candidates are worth a measurement, learned from those that had one."""

from .cost_model import CostModel, PyCostModel, create
from .mlp_model import MLPModel
from .random_model import RandomModel
from .xgb_model import XGBModel

__all__ = ["CostModel", "MLPModel", "PyCostModel", "RandomModel", "XGBModel", "create"]
