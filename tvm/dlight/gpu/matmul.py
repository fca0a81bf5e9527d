"""Products of matrices: tensor cores where there are some, otherwise tiles in registers.

    each thread block:   a tile of C; slices of A and B pass through shared memory
    each thread:         micro_size_x * micro_size_y results in registers
"""

from __future__ import annotations

from tvm.dlight.analysis.common_analysis import BlockInfo, IterInfo, get_root_block
from tvm.dlight.base import open_schedule
from tvm.target.gpu_tuning import SIMDGROUPS, TENSOR_CORES, ProductTiles, gpu_tuning
from tvm.target.target import Target
from tvm.tir.expr import IntImm, IterVar
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, Schedule, ScheduleError
from tvm.tir.stmt import Block

from .base import GPUScheduleRule
from .einsum import (
    IterKind,
    IterTrait,
    bring_to_form,
    detect_iter_traits,
    get_index_map,
    make_iter_fusion_index_map,
)
from .inline import auto_inline_consumer_chain, auto_inline_consumers, auto_inline_producers
from .matmul_dequantize import sums_along_memory, with_dequantized_weights
from .matmul_row_panels import with_row_panels
from .matmul_tiles import tile
from .simdgroup import MetalMatmul
from .tensor_core import MatmulInt8Tensorization, MatmulTensorization

_SMALLEST_FOR_TENSOR_CORES = 64


def get_block_info(sch: Schedule, block: BlockRV) -> BlockInfo:
    """The block with its variables and loops."""
    node: Block = sch.get(block)
    kinds = {IterVar.DataPar: "S", IterVar.CommReduce: "R"}
    iters = [
        IterInfo(kinds.get(iv.iter_type, "O"), iv.var, iv.dom.extent, loop)  # type: ignore[arg-type]
        for iv, loop in zip(node.iter_vars, sch.get_loops(block))
        if iv.dom is not None
    ]
    reduces = any(i.kind == "R" for i in iters)
    return BlockInfo(node.name_hint, iters, block, reduces)


def get_reduction_blocks(sch: Schedule, blocks: list[BlockRV]) -> list[BlockRV] | None:
    """The one block that reduces, if all the others are spatial."""
    found: list[BlockRV] = []
    for block in blocks:
        types = {iv.iter_type for iv in sch.get(block).iter_vars}
        if types == {IterVar.DataPar, IterVar.CommReduce}:
            found.append(block)
        elif types != {IterVar.DataPar}:
            return None
    return found if len(found) == 1 else None


def get_in_out_dtypes(block: Block) -> tuple[str, str]:
    """The data types of the factors and of the result."""
    a, b = (str(region.buffer.dtype) for region in block.reads)
    if a != b:
        raise ValueError(f"the factors are of {a} and {b}; legal: factors of one data type")
    return a, str(block.writes[0].buffer.dtype)


def check_sm_version(arch: str) -> int:
    """The number of a CUDA architecture, 86 of "sm_86"; -1 without one."""
    version = arch.removeprefix("sm_").rstrip("af")
    return int(version) if version.isdigit() else -1


class Matmul(GPUScheduleRule):
    """Schedules functions of one product of matrices, with elementwise blocks around it."""

    Config = ProductTiles

    def get_configs(self, target: Target) -> ProductTiles:
        """The tiles for a target."""
        return gpu_tuning(target).product

    def apply(self, func: PrimFunc, target: Target, _: bool) -> Schedule | None:
        """The schedule, or None if the function is of another form."""
        if not isinstance(func, PrimFunc) or not self.is_target_available(target):
            return None
        sch = open_schedule(func)
        blocks = sch.get_child_blocks(get_root_block(sch))
        mains = get_reduction_blocks(sch, blocks)
        if mains is None or get_index_map(sch.get(mains[0])) is None:
            return None
        config = self.get_configs(target)
        if gpu_tuning(target).on_phone and not sums_along_memory(sch.get(mains[0])):
            phone = open_schedule(func)
            children = phone.get_child_blocks(get_root_block(phone))
            main = children[blocks.index(mains[0])]
            if self.sch_outer_reduction(phone, config, main, children) is not None:
                return phone
        bring_to_form(sch, mains[0])
        tensorized = _with_matrix_units(func, target, sch.get(mains[0]))
        if tensorized is not None:
            return tensorized
        tile(sch, mains[0], config)
        return sch

    def sch_outer_reduction(
        self, sch: Schedule, config: ProductTiles, reduction_block: BlockRV, blocks: list[BlockRV]
    ) -> Schedule | None:
        """Schedule a product on a phone whose sum moves across memory, or none."""
        return with_dequantized_weights(
            sch, config, reduction_block, blocks
        ) or with_row_panels(sch, config, reduction_block)


def _with_matrix_units(func: PrimFunc, target: Target, block: Block) -> Schedule | None:
    """The function on the matrix units of the target; None if it has none that suit."""
    rule: GPUScheduleRule
    units = gpu_tuning(target).matrix_units
    if units == SIMDGROUPS:
        rule = MetalMatmul()
    elif units == TENSOR_CORES and check_sm_version(target.arch) >= 70:
        types = get_in_out_dtypes(block)
        if not _is_large(block):
            return None
        if types == ("int8", "int32"):
            rule = MatmulInt8Tensorization()
        elif types in (("float16", "float16"), ("float16", "float32")):
            rule = MatmulTensorization()
        else:
            return None
    else:
        return None
    try:
        return rule.apply(func, target, False)
    except ScheduleError:
        return None  # tiles in registers take what the units do not


def _is_large(block: Block) -> bool:
    """Whether no known extent, but for a batch, is so small that tiles would be mostly padding."""
    extents = [iv.dom.extent for iv in block.iter_vars[1:] if iv.dom is not None]
    return all(
        e.value > _SMALLEST_FOR_TENSOR_CORES for e in extents if isinstance(e, IntImm)
    )


__all__ = [
    "IterKind", "IterTrait", "Matmul", "MatmulInt8Tensorization", "MatmulTensorization",
    "MetalMatmul", "auto_inline_consumer_chain", "auto_inline_consumers",
    "auto_inline_producers", "check_sm_version", "detect_iter_traits", "get_block_info",
    "get_in_out_dtypes", "get_index_map", "get_reduction_blocks", "make_iter_fusion_index_map",
]  # fmt: skip
