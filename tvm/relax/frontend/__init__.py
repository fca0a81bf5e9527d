"""Readers of models: one folder a source format."""

from typing import TYPE_CHECKING

from tvm.support.lazy import lazy_packages

if TYPE_CHECKING:
    from . import onnx as onnx
else:
    __getattr__ = lazy_packages(__name__, "onnx", "torch", "nn", "stablehlo", "tflite")
