"""Operators by which several workers exchange tensors."""

from .ccl import allgather, allreduce, broadcast_from_worker0, scatter_from_worker0

__all__ = ["allgather", "allreduce", "broadcast_from_worker0", "scatter_from_worker0"]
