"""Callbacks: what happens with the results of each batch of measurements."""

from .add_to_database import AddToDatabase
from .measure_callback import MeasureCallback, PyMeasureCallback, create
from .remove_build_artifact import RemoveBuildArtifact
from .update_cost_model import UpdateCostModel

__all__ = [
    "AddToDatabase", "MeasureCallback", "PyMeasureCallback", "RemoveBuildArtifact",
    "UpdateCostModel", "create",
]  # fmt: skip
