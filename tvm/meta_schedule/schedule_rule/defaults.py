"""The rules that a target has if nothing else is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tvm.meta_schedule.base import unknown_kind
from tvm.target.target import Target
from tvm.tir.tensor_intrin.riscv_cpu import register_rvv_isa_intrinsics

from .add_rfactor import AddRFactor
from .apply_custom_rule import ApplyCustomRule
from .auto_bind import AutoBind
from .auto_inline import AutoInline, InlineConstantScalars
from .cross_thread_reduction import CrossThreadReduction
from .multi_level_tiling import (
    MultiLevelTiling,
    MultiLevelTilingWideVector,
    MultiLevelTilingWithIntrin,
    ReuseType,
)
from .multi_level_tiling_tensor_core import MultiLevelTilingTensorCore
from .parallel_vectorize_unroll import ParallelizeVectorizeUnroll
from .random_compute_location import RandomComputeLocation
from .schedule_rule import ScheduleRule

_CPU_WRITE: Final = ReuseType("may", [1, 2], "global")
_VECTOR_LOADS: Final = [1, 2, 3, 4, 8, 16]
_DYNAMIC: Final = "shared.dyn"


def default_rules(kind: str, target: Target | None = None) -> list[ScheduleRule]:
    """New rules of a kind; those of "rvv" are for `target`, or for the target in scope."""
    if kind == "rvv":
        return _rvv(target)
    if kind not in _KINDS:
        raise unknown_kind("kind of schedule rules", kind, sorted([*_KINDS, "rvv"]))
    return _KINDS[kind]()


def _cpu_inline() -> list[ScheduleRule]:
    return [
        ApplyCustomRule(),
        InlineConstantScalars(),
        AutoInline(
            into_producer=False, into_consumer=True, inline_const_tensor=True,
            disallow_if_then_else=True, require_injective=True, require_ordered=True,
            disallow_op=["tir.exp"],
        ),
    ]  # fmt: skip


def _cpu(
    *intrins: str, jobs: int = 16, innermost: int = 64, steps: tuple[int, ...] = (0, 16, 64, 512)
) -> list[ScheduleRule]:
    """A CPU: where intrinsics fit they are used, the rest is tiled for registers and caches."""
    return [
        *_cpu_inline(),
        AddRFactor(max_jobs_per_core=jobs, max_innermost_factor=innermost),
        *[_by_intrin(intrin, innermost) for intrin in intrins],
        MultiLevelTiling("SSRSRS", max_innermost_factor=innermost, reuse_write=_CPU_WRITE),
        ParallelizeVectorizeUnroll(jobs, innermost, list(steps), unroll_explicit=True),
        RandomComputeLocation(),
    ]


def _by_intrin(intrin: str, innermost: int) -> ScheduleRule:
    return MultiLevelTilingWithIntrin(
        intrin, "SSRSRS", max_innermost_factor=innermost, reuse_write=_CPU_WRITE
    )


def _rvv(target: Target | None) -> list[ScheduleRule]:
    """RISC-V with vectors: dot products as long as the target's registers, and shorter ones."""
    known = target or Target.current(allow_none=False)
    assert known is not None, "there is one in scope, or it was refused"
    lengths = register_rvv_isa_intrinsics(known)
    before, after = _cpu()[:-3], _cpu()[-3:]
    return [*before, *[_by_intrin(name, length) for name, length in lengths.items()], *after]


def _hexagon() -> list[ScheduleRule]:
    return [
        *_cpu_inline(),
        MultiLevelTilingWideVector(
            "SRSRS", vector_length_in_bits=1024, max_innermost_factor=128,
            reuse_write=_CPU_WRITE,
        ),
        ParallelizeVectorizeUnroll(16, 128, [0, 16, 64, 512], unroll_explicit=True),
    ]  # fmt: skip


def _micro() -> list[ScheduleRule]:
    """Plain C for small devices: one core, no vectors."""
    return [
        *_cpu_inline(),
        MultiLevelTiling("SSRSRS", max_innermost_factor=64, reuse_write=_CPU_WRITE),
        ParallelizeVectorizeUnroll(-1, 64, [0, 16, 64, 512], unroll_explicit=True),
        RandomComputeLocation(),
    ]


def _tensor_cores() -> list[ScheduleRule]:
    """Products on tensor cores, by fragments of 16x16 and by `mma`; the rest as on any GPU."""

    def tiled(groups: list[dict[str, str]], write: ReuseType, pipeline: bool) -> ScheduleRule:
        return MultiLevelTilingTensorCore(
            groups,
            structure="SSSRRSRS",
            tile_binds=["blockIdx.y", "blockIdx.x", "threadIdx.y"],
            max_innermost_factor=4,
            vector_load_lens=_VECTOR_LOADS,
            reuse_read=ReuseType("must", [4], _DYNAMIC),
            reuse_write=write,
            use_software_pipeline=pipeline,
        )

    first, *rest = _cuda()
    stored = ReuseType("must", [2], _DYNAMIC)
    return [
        first,
        tiled(_wmma_groups(), stored, False),
        tiled(_mma_groups(), ReuseType("no", [], ""), True),
        *rest,
    ]


def _wmma_groups() -> list[dict[str, str]]:
    types = (("f16", "f32"), ("f16", "f16"), ("s8", "s32"))
    return [
        {
            "init": f"wmma_fill_16x16x16_{out}",
            "load_a": f"wmma_load_16x16x16_{kind}_a_shared_dyn",
            "load_b": f"wmma_load_16x16x16_{kind}_b{trans}_shared_dyn",
            "compute": f"wmma_sync_16x16x16_{kind}{kind}{out}{trans}",
            "store": f"wmma_store_16x16x16_{out}_shared_dyn",
        }
        for kind, out in types
        for trans in ("", "_trans")
    ]


def _mma_groups() -> list[dict[str, str]]:
    return [
        {
            "init": f"mma_init_m16n8k8_{out}",
            "load_a": "mma_load_m16n8k8_f16_A_shared_dyn",
            "load_b": "mma_load_m16n8k8_f16_B_shared_dyn",
            "compute": f"mma_sync_m16n8k8_f16f16{out}",
            "store": f"mma_store_m16n8k8_{out}_global",
        }
        for out in ("f32", "f16")
    ]


def _cuda() -> list[ScheduleRule]:
    return [
        ApplyCustomRule(),
        MultiLevelTiling(
            "SSSRRSRS",
            tile_binds=["blockIdx.x", "vthread.x", "threadIdx.x"],
            max_innermost_factor=64,
            vector_load_lens=_VECTOR_LOADS,
            reuse_read=ReuseType("must", [4], "shared"),
            reuse_write=ReuseType("must", [3], "local"),
        ),
        InlineConstantScalars(),
        AutoInline(
            into_producer=True, into_consumer=True, inline_const_tensor=True,
            disallow_if_then_else=False, require_injective=False, require_ordered=False,
            disallow_op=[],
        ),
        CrossThreadReduction([4, 8, 16, 32, 64, 128, 256, 512]),
        ParallelizeVectorizeUnroll(-1, -1, [0, 16, 64, 512, 1024], unroll_explicit=True),
        AutoBind(max_threadblocks=256, thread_extents=[32, 64, 128, 256, 512, 1024]),
    ]  # fmt: skip


_KINDS: Final[dict[str, Callable[[], list[ScheduleRule]]]] = {
    "llvm": _cpu,
    "vnni": lambda: _cpu("dot_16x4_vnni"),
    "avx512": lambda: _cpu("dot_16x4_avx512"),
    "asimd": lambda: _cpu("dot_4x4_i8i8s32_neon", jobs=8, innermost=32, steps=(0, 8, 32, 256)),
    "dotprod": lambda: _cpu(
        "dot_4x4_i8i8s32_sdot", "dot_4x4_u8u8u32_udot", "dot_4x4_u8u8i32_hdot",
        jobs=8, innermost=32, steps=(0, 8, 32, 256),
    ),
    "c": _micro,
    "hexagon": _hexagon,
    "cuda": _cuda,
    "cuda-tensorcore": _tensor_cores,
}  # fmt: skip
