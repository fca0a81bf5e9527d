"""The postprocessors that a target has if nothing else is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.meta_schedule.base import unknown_kind

from .disallow_dynamic_loop import DisallowDynamicLoop
from .postproc import Postproc
from .rewrite_cooperative_fetch import RewriteCooperativeFetch
from .rewrite_layout import RewriteLayout
from .rewrite_parallel_vectorize_unroll import RewriteParallelVectorizeUnroll
from .rewrite_reduction_block import RewriteReductionBlock
from .rewrite_tensorize import RewriteTensorize
from .rewrite_unbound_block import RewriteUnboundBlock
from .verify_gpu_code import VerifyGPUCode
from .verify_vtcm_limit import VerifyVTCMLimit


def default_postprocs(kind: str) -> list[Postproc]:
    """New postprocessors of a kind."""
    if kind not in _KINDS:
        raise unknown_kind("kind of postprocessors", kind, sorted(_KINDS))
    return _KINDS[kind]()


def _cpu() -> list[Postproc]:
    return [
        DisallowDynamicLoop(),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        RewriteLayout(),
    ]


def _cpu_tensorized() -> list[Postproc]:
    return [
        DisallowDynamicLoop(),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        RewriteTensorize(vectorize_init_loop=True),
        RewriteLayout(),
    ]


def _hexagon() -> list[Postproc]:
    return [*_cpu(), VerifyVTCMLimit()]


def _cuda() -> list[Postproc]:
    return [
        DisallowDynamicLoop(),
        RewriteCooperativeFetch(),
        RewriteUnboundBlock(),
        RewriteParallelVectorizeUnroll(),
        RewriteReductionBlock(),
        VerifyGPUCode(),
    ]


def _tensor_core() -> list[Postproc]:
    # what is refused is refused before the costly step
    return [*_cuda(), RewriteTensorize(vectorize_init_loop=False)]


_KINDS: Final[dict[str, Callable[[], list[Postproc]]]] = {
    "llvm": _cpu,
    "c": _cpu,
    "vnni": _cpu_tensorized,
    "avx512": _cpu_tensorized,
    "asimd": _cpu_tensorized,
    "dotprod": _cpu_tensorized,
    "rvv": _cpu_tensorized,
    "hexagon": _hexagon,
    "cuda": _cuda,
    "cuda-tensorcore": _tensor_core,
}
