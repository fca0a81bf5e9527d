"""Readers of models: one folder a source format."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_names

if TYPE_CHECKING:
    from . import onnx as onnx
    from . import torch as torch
    from .common import detach_params as detach_params
else:
    __getattr__ = lazy_names(
        __name__,
        {"detach_params": "tvm.relax.frontend.common:detach_params"},
    )
