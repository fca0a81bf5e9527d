"""Cost models: which candidates are worth a measurement, learned from those that had one."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_names

from .cost_model import CostModel, PyCostModel, create
from .random_model import RandomModel
from .xgb_model import XGBModel

if TYPE_CHECKING:
    from .mlp_model import MLPModel as MLPModel
else:
    # needs torch, which a search without this model does not
    __getattr__ = lazy_names(__name__, {"MLPModel": f"{__name__}.mlp_model:MLPModel"})

__all__ = ["CostModel", "MLPModel", "PyCostModel", "RandomModel", "XGBModel", "create"]
