"""Operators of the virtual machine."""

from .vm import alloc_storage, alloc_tensor, call_tir_dyn, kill_object

__all__ = ["alloc_storage", "alloc_tensor", "call_tir_dyn", "kill_object"]
