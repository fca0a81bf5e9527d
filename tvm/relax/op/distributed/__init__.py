"""Operators on tensors that are spread over a mesh of devices."""

from .distributed import (
    annotate_sharding,
    call_tir_local_view,
    redistribute,
    redistribute_replica_to_shard,
)

__all__ = [
    "annotate_sharding", "call_tir_local_view", "redistribute", "redistribute_replica_to_shard",
]  # fmt: skip
