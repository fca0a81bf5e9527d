"""Mutators: each makes of a trace another one with one decision changed."""

from .mutate_compute_location import MutateComputeLocation
from .mutate_parallel import MutateParallel
from .mutate_thread_binding import MutateThreadBinding
from .mutate_tile_size import MutateTileSize
from .mutate_unroll import MutateUnroll
from .mutator import Mutator, PyMutator, create

__all__ = [
    "MutateComputeLocation", "MutateParallel", "MutateThreadBinding", "MutateTileSize",
    "MutateUnroll", "Mutator", "PyMutator", "create",
]  # fmt: skip
