"""ONNX models to Relax modules: `from_onnx(model)`."""

from .importer import from_onnx

__all__ = ["from_onnx"]
