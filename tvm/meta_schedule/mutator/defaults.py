"""The mutators that a target has if nothing else is said, with how often each is used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.meta_schedule.base import unknown_kind

from .mutate_compute_location import MutateComputeLocation
from .mutate_parallel import MutateParallel
from .mutate_thread_binding import MutateThreadBinding
from .mutate_tile_size import MutateTileSize
from .mutate_unroll import MutateUnroll
from .mutator import Mutator


def default_mutators(kind: str) -> dict[Mutator, float]:
    """New mutators of a kind."""
    if kind not in _KINDS:
        raise unknown_kind("kind of mutators", kind, sorted(_KINDS))
    return _KINDS[kind]()


def _cpu() -> dict[Mutator, float]:
    return {
        MutateTileSize(): 0.9,
        MutateComputeLocation(): 0.05,
        MutateUnroll(): 0.03,
        MutateParallel(max_jobs_per_core=16): 0.02,
    }


def _micro() -> dict[Mutator, float]:
    return {MutateTileSize(): 0.9, MutateComputeLocation(): 0.05, MutateUnroll(): 0.05}


def _gpu() -> dict[Mutator, float]:
    return {MutateTileSize(): 0.9, MutateUnroll(): 0.08, MutateThreadBinding(): 0.02}


_KINDS: Final[dict[str, Callable[[], dict[Mutator, float]]]] = {
    "llvm": _cpu,
    "vnni": _cpu,
    "avx512": _cpu,
    "asimd": _cpu,
    "dotprod": _cpu,
    "rvv": _cpu,
    "hexagon": _cpu,
    "c": _micro,
    "cuda": _gpu,
    "cuda-tensorcore": _gpu,
}
