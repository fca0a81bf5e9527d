"""Products in tiles of what a warp computes by one instruction, with fragments as register tiles.

The product is brought to the form of the intrinsic first: operands are copied so that the block's
variables are their indices, and variables that one of the intrinsic's stands for are fused. The
copies end up in shared memory; fragments are filled from there, step by step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tvm.error import message
from tvm.ir.expr import PrimExpr
from tvm.meta_schedule.structure import TENSORIZE, TENSORIZE_INIT, TILING, WARP, extent_of
from tvm.tir.buffer import Buffer
from tvm.tir.expr import IntImm, IterVar, Var
from tvm.tir.functor import vars_in
from tvm.tir.index_map import IndexMap
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.schedule.analysis import AutoTensorizeMappingInfo, get_auto_tensorize_mapping_info
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.schedule.random_variable import ExprRV
from tvm.tir.stmt import Block

from .multi_level_tiling import MAX_DRAWS, MultiLevelTiling, ReuseType, Split, Tiling
from .tensorized_tile import description, tile_for_intrin

_STEPS: Final = ("init", "load_a", "load_b", "compute", "store")
_MMA: Final = "m16n8k8."  # fragments whose elements TransformMmaBufferLayout gives to threads
_PADDING: Final = {16: 8, 8: 16}  # elements by bits: rows begin in different banks


class TensorCoreTiling(Tiling):
    """A schedule on its way, with the intrinsics of its steps and the copies around the product."""

    def __init__(
        self, sch: Schedule, block: BlockRV, group: Mapping[str, str],
        info: AutoTensorizeMappingInfo,
    ) -> None:  # fmt: skip
        super().__init__(sch, block)
        self.group = group
        self.info = info
        self.operands: list[BlockRV] = []
        self.result: BlockRV | None = None
        self.shared: list[BlockRV] = []

    def copy(self) -> TensorCoreTiling:
        other = TensorCoreTiling(self.sch.copy(), self.block, self.group, self.info)
        other.tiles = [list(tile) for tile in self.tiles]
        other.factors = self.factors
        other.operands, other.result = list(self.operands), self.result
        other.shared = list(self.shared)
        return other

    def scope(self, step: str, number: int) -> str:
        """The scope of a parameter of a step's intrinsic."""
        desc = description(self.group[step])
        return desc.buffer_map[desc.params[number]].scope()

    @property
    def is_mma(self) -> bool:
        """Whether fragments are stored by loops of the threads, for want of an intrinsic."""
        return self.scope("init", 0).startswith(_MMA)


class MultiLevelTilingTensorCore(MultiLevelTiling):
    """Tiles products that an intrinsic of one of the groups computes; there is a sketch for each.

    A group names the intrinsics of the steps "init", "load_a", "load_b", "compute", "store".
    """

    def __init__(
        self,
        intrin_groups: Sequence[Mapping[str, str]],
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: ReuseType | Mapping[str, Any] | None = None,
        reuse_write: ReuseType | Mapping[str, Any] | None = None,
        use_software_pipeline: bool = False,
    ) -> None:
        super().__init__(
            structure, tile_binds, max_innermost_factor, vector_load_lens, reuse_read, reuse_write
        )
        self.intrin_groups = [_checked_group(group) for group in intrin_groups]
        self.use_software_pipeline = use_software_pipeline

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedules with tiles; the one given if no intrinsic computes what the block does."""
        found = [made for group in self.intrin_groups for made in self._sketches(sch, block, group)]
        return found or [sch]

    def _sketches(self, sch: Schedule, block: BlockRV, group: Mapping[str, str]) -> list[Schedule]:
        info = get_auto_tensorize_mapping_info(sch, block, description(group["compute"]))
        node: Block = sch.get(block)
        if info is None or len(node.reads) != 2 or len(node.writes) != 1:
            return []
        for _ in range(MAX_DRAWS):
            made = sch.copy()
            made.annotate(block, TILING, self.structure)
            try:
                state = TensorCoreTiling(made, block, group, info)
                return [one.sch for one in self._steps([state])]
            except ScheduleError:
                continue  # for tiles of other sizes the steps may be legal
        return []

    def _steps(self, states: list[Tiling]) -> list[Tiling]:
        for state in states:
            assert isinstance(state, TensorCoreTiling), "made by apply"
            _to_form(state)
            block = tile_for_intrin(state.sch, state.block, state.group["compute"], True)
            if block is None:
                return []
            state.block = block
            state.operands = _makers_of_operands(state)
            state.sch.annotate(block, TENSORIZE_INIT, state.group["init"])
            state.sch.annotate(block, WARP, 1)
        return super()._steps(states)

    # --- tiles ---

    def _split(self, sch: Schedule, block: BlockRV, loop: LoopRV, parts: int) -> Split:
        """Tiles of a warp are multiples of what a load of fragments brings."""
        multiple = self._multiple(sch, block, loop)
        inner = self._warp_level() + 1
        if multiple == 1 or inner >= parts:
            return super()._split(sch, block, loop, parts)
        factors = sch.sample_partitioned_tile(
            loop, n=parts, partition_pos=inner, innerpart_factor=multiple
        )
        return factors, sch.split(loop, [*factors])

    def _multiple(self, sch: Schedule, block: BlockRV, loop: LoopRV) -> int:
        """How many of the product's tiles a load has along a loop of the result."""
        node: Block = sch.get(block)
        compute = str(node.annotations.get(TENSORIZE, ""))
        group = next((g for g in self.intrin_groups if g["compute"] == compute), None)
        spatial = [iv for iv in node.iter_vars if iv.iter_type == IterVar.DataPar][-2:]
        values = realize_of(sch.state, sch.get_sref(block)).iter_values
        bound = dict(zip([iv.var for iv in node.iter_vars], values))
        axes = [n for n, iv in enumerate(spatial) if bound[iv.var] is sch.get(loop).loop_var]
        if group is None or not axes:
            return 1
        step = ("load_a", "load_b")[axes[0]]
        desc = description(group[step])
        loaded = desc.buffer_map[desc.params[0]].shape
        tile = description(group["init"])
        own = tile.buffer_map[tile.params[0]].shape[axes[0]]
        lengths = [extent.value for extent in (*loaded, own) if isinstance(extent, IntImm)]
        return max(max(lengths[:2]) // lengths[2], 1)

    # --- results ---

    def _reuse_write(self, state: Tiling) -> list[Tiling]:
        """Fragments are stored to shared memory, where threads of a block fetch them together.

        A row of fragments of all warps at a time, so that there is room for no more than that.
        """
        assert isinstance(state, TensorCoreTiling), "made by apply"
        sch, warps = state.sch, state.tiles[self._warp_level()][-1]
        fragments = state.scope("init", 0)
        assert state.result is not None, "the first step makes it"
        if self.reuse_write.req == "no":
            store = sch.cache_write(state.block, 0, fragments)
            sch.reverse_compute_at(store, warps, preserve_unit_loops=True)
            sch.reverse_compute_inline(state.result)
            self._store(state, store)
            return [state]
        self._lay_out_by_fragments(state)
        shared = sch.cache_write(state.block, 0, self.reuse_write.scope)
        level = self.reuse_write.levels[0]
        sch.reverse_compute_at(shared, state.tiles[level - 1][-1], preserve_unit_loops=True)
        store = sch.cache_write(state.block, 0, fragments)
        warp_row, warp_column, row, column = sch.get_loops(shared)[-6:-2]
        sch.reorder(row, warp_row, warp_column, column)
        sch.compute_at(store, row, preserve_unit_loops=True)
        sch.bind(sch.fuse(*sch.get_loops(store)[-6:-4]), "threadIdx.y")
        sch.reverse_compute_inline(state.result)
        tile = sch.blockize(sch.get_loops(store)[-2])
        sch.annotate(tile, TENSORIZE, state.group["store"])
        sch.fuse(*sch.get_loops(shared)[-5:])
        self._fetch_together(sch, shared)
        return [state]

    def _lay_out_by_fragments(self, state: TensorCoreTiling) -> None:
        """Let the result be laid out by warps, by fragments of a warp, and within each of them.

        C[i, j]  ->  C[warp row, warp column, row, column, i % 16, j % 16]
        """
        rows, columns = (self._fragments_of_a_warp(state, axis) for axis in (-2, -1))
        desc = description(state.group["init"])
        high, wide = desc.buffer_map[desc.params[0]].shape[-2:]

        def by_fragments(*index: Var) -> list[PrimExpr]:
            *outer, i, j = index
            down, along = i // high, j // wide
            return [
                *outer, down // rows, along // columns, down % rows, along % columns,
                i % high, j % wide,
            ]  # fmt: skip

        state.sch.transform_layout(
            state.block, ("write", 0), by_fragments, assume_injective_transform=True
        )

    def _fragments_of_a_warp(self, state: TensorCoreTiling, axis: int) -> ExprRV | int:
        """How many a warp has along one of the two last loops of the result."""
        found: ExprRV | int = 1
        for level in self._spatial[self._spatial.index(self._warp_level()) + 1 :]:
            factor = state.factors[level][axis]
            found = factor if isinstance(found, int) else found * factor
        return found

    def _store(self, state: TensorCoreTiling, store: BlockRV) -> None:
        if not state.is_mma:
            _tile(state.sch, store, state.group["store"])
            return
        # a thread has pairs in two rows of a tile of 16x8 (PTX ISA, figures of mma.m16n8k8)
        sch = state.sch
        rows, columns = sch.get_loops(store)[-2:]
        down, row = sch.split(rows, [None, 8])
        along, pair, _ = sch.split(columns, [None, 4, 2])
        sch.reorder(down, along, row, pair)
        sch.bind(sch.fuse(row, pair), "threadIdx.x")

    def _warp_level(self) -> int:
        """The tiles that are spread over warps."""
        return self.tile_binds.index("threadIdx.y") if "threadIdx.y" in self.tile_binds else 0

    # --- operands ---

    def _reuse_read(self, state: Tiling) -> list[Tiling]:
        """Operands come to shared memory a slice at a time, to fragments a step at a time."""
        made = [self._read_at(state.copy(), level) for level in self.reuse_read.levels]
        if self.reuse_read.req == "no":
            made = [state]
        for one in made:
            assert isinstance(one, TensorCoreTiling), "made by apply"
            for number, step in enumerate(("load_a", "load_b")):
                self._load(one, number, step)
            for operand in one.operands:
                one.sch.compute_inline(operand)
            for copy in one.shared:
                bits = one.sch.get(copy).writes[0].buffer.dtype.bits
                one.sch.storage_align(copy, 0, axis=-2, factor=32, offset=_PADDING.get(bits, 8))
        return made

    def _read_at(self, state: Tiling, level: int) -> Tiling:
        assert isinstance(state, TensorCoreTiling), "made by apply"
        sch = state.sch
        for number in (0, 1):
            copy = sch.cache_read(state.block, number, self.reuse_read.scope, [state.block])
            sch.compute_at(copy, state.tiles[level - 1][-1], preserve_unit_loops=True)
            sch.fuse(*sch.get_loops(copy)[-len(sch.get(copy).writes[0].region) :])
            self._fetch_together(sch, copy)
            state.shared.append(copy)
        return state

    def _load(self, state: TensorCoreTiling, number: int, step: str) -> None:
        sch = state.sch
        fragment = sch.cache_read(state.block, number, state.scope(step, 1), [state.block])
        inner = self._reducing[1] if len(self._reducing) > 1 else self._reducing[0]
        sch.compute_at(fragment, state.tiles[inner][-1], preserve_unit_loops=True)
        _tile(sch, fragment, state.group[step])

    # --- stages ---

    def _pipeline(self, state: Tiling) -> list[Tiling]:
        """Slices are read one ahead of what is multiplied, fragments one step ahead."""
        assert isinstance(state, TensorCoreTiling), "made by apply"
        if not self.use_software_pipeline or len(self._reducing) < 2 or len(state.shared) != 2:
            return [state]
        sch, levels = state.sch, self._reducing[:2]
        tiles = [loop for level in self._reducing for loop in state.tiles[level]]
        if all(extent_of(sch.get(loop)) == 1 for loop in tiles):
            return [state]  # no stage to be ahead of
        for copy in state.shared:
            sch.annotate(copy, "tir.manifest_shared_memory_local_stage", 1)
            sch.annotate(copy, "double_buffer_scope", 0)
        outer, inner = (state.tiles[level][-1] for level in levels)
        sch.annotate(inner, "software_pipeline_stage", [0, 0, 1])
        sch.annotate(inner, "software_pipeline_order", [0, 1, 2])
        # load, load, wait, store, store, the inner prologue, the rest
        sch.annotate(outer, "software_pipeline_stage", [0, 0, 0, 0, 0, 1, 1])
        sch.annotate(outer, "software_pipeline_order", [0, 3, 1, 4, 5, 2, 6])
        return [state]


def _checked_group(group: Mapping[str, str]) -> dict[str, str]:
    missing = [step for step in _STEPS if step not in group]
    if missing:
        raise ValueError(
            message(
                f"MultiLevelTilingTensorCore: a group without {missing[0]!r}",
                found=", ".join(sorted(map(str, group))),
                legal="intrinsics for " + ", ".join(_STEPS),
            )
        )
    for step in _STEPS:
        description(str(group[step]))
    return {step: str(group[step]) for step in _STEPS}


def _tile(sch: Schedule, block: BlockRV, intrin: str) -> BlockRV:
    tiled = tile_for_intrin(sch, block, intrin)
    if tiled is None:
        raise ScheduleError(
            message(f"tile a copy for {intrin}", found="loops of other extents",
                    legal="multiples of the intrinsic's")
        )  # fmt: skip
    return tiled


# --- the form of the intrinsic ---


def _to_form(state: TensorCoreTiling) -> None:
    """Copies of operands and result, and the block, with the intrinsic's variables innermost."""
    sch, info = state.sch, state.info
    before: Block = sch.get(state.block)
    buffers = [before.writes[0].buffer, *[region.buffer for region in before.reads]]
    state.result = sch.reindex(state.block, ("write", 0))
    state.operands = [sch.reindex(state.block, ("read", number)) for number in (0, 1)]
    maps: list[IndexMap] = []
    node: Block = sch.get(state.block)
    regions = [node.writes[0], *node.reads]
    for (side, number), region, buffer in zip((("write", 0), ("read", 0), ("read", 1)), regions,
                                             buffers):  # fmt: skip
        own = _sub_map(info, [r.min for r in region.region], buffer, node)
        sch.transform_layout(
            state.block, (side, number), own, assume_injective_transform=True
        )
        maps.append(own)
    for copy, own in zip((state.result, *state.operands), maps):
        sch.transform_block_layout(copy, own)
    sch.transform_block_layout(state.block, info.mappings[0])


def _makers_of_operands(state: TensorCoreTiling) -> list[BlockRV]:
    """The blocks that lay the operands out, or those with padding that these were inlined into."""
    sch, node = state.sch, state.sch.get(state.block)
    makers = {sch.get(maker).writes[0].buffer: maker for maker in sch.get_producers(state.block)}
    return [makers[region.buffer] for region in node.reads if region.buffer in makers]


def _sub_map(
    info: AutoTensorizeMappingInfo, indices: Sequence[PrimExpr], buffer: Buffer, node: Block
) -> IndexMap:
    """What the block's map does to one buffer, whose indices are variables of the block."""
    whole = info.mappings[0]
    by_var = {iv.var: name for iv, name in zip(node.iter_vars, whole.initial_indices)}
    names = [by_var[index] for index in indices if isinstance(index, Var)]
    in_front = len(whole.final_indices) - len(info.rhs_iters)
    fused = dict(zip([iv.var for iv in info.rhs_iters], whole.final_indices[in_front:]))
    kept = [final for final in whole.final_indices[:in_front] if final in names]
    for index in info.rhs_indices[info.lhs_buffer_map[buffer]]:
        kept += [fused[var] for var in vars_in(index)]
    return IndexMap(names, kept, None)
