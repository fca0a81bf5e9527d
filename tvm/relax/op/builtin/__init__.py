"""Operators that the compiler itself puts in."""

from .builtin import alloc_tensor, stop_lift_params

__all__ = ["alloc_tensor", "stop_lift_params"]
