"""Loops in tiles within tiles, for registers, caches, threads; copies of what tiles use again.

The structure is a word such as "SSRSRS": all data-parallel loops have a part in each S, all
reducing ones in each R, from the outside to the inside (Zheng et al., "Ansor", OSDI 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from tvm.error import TVMError, message
from tvm.meta_schedule.rule_kind import require_target, sm_version
from tvm.meta_schedule.structure import (
    FETCH,
    MAX_THREADS,
    MIN_THREADS,
    TILING,
    WRITE_CACHE_LEVEL,
    extent_of,
    is_write_cache,
    needs_multi_level_tiling,
)
from tvm.support.lazy import lazy_names
from tvm.tir.expr import IterVar
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.schedule.analysis.query import realize_of
from tvm.tir.schedule.random_variable import ExprRV
from tvm.tir.stmt import Block, For, SeqStmt

from .schedule_rule import ScheduleRule

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext

REQUESTS = ("no", "may", "must")
ASYNC_COPIES_SINCE = 80  # Ampere copies to shared memory while it computes
STAGES = (4, 5)
MAX_DRAWS = 8  # of tile sizes, until one is found for which all steps are legal
_MAX_LANES = {"float32": 4, "float16": 8, "int8": 16}


class ReuseType(NamedTuple):
    """Copies of what is read or written: "no", "may" or "must"; at which levels; in what memory."""

    req: str
    levels: Sequence[int]
    scope: str

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return self._asdict()


NO_REUSE = ReuseType("no", (), "")
Split = tuple[Sequence[ExprRV | int], list[LoopRV]]


class Tiling:
    """A schedule on its way through the steps of the rule."""

    def __init__(self, sch: Schedule, block: BlockRV) -> None:
        self.sch = sch
        self.block = block
        self.tiles: list[list[LoopRV]] = []
        self.factors: list[list[ExprRV | int]] = []  # of the loops in each tile, before fusion

    def copy(self) -> Tiling:
        """One that goes another way."""
        other = type(self)(self.sch.copy(), self.block)
        other.tiles = [list(tile) for tile in self.tiles]
        other.factors = self.factors
        return other


class MultiLevelTiling(ScheduleRule):
    """Tiles reductions that read things again. `filter_fn(sch, block)` may add other blocks.

    `tile_binds` are thread axes for the outermost tiles; `reuse_read` and `reuse_write` say after
    which level (from 1) copies are made; `vector_load_lens` how wide copies may be done.
    """

    def __init__(
        self,
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: ReuseType | Mapping[str, Any] | None = None,
        reuse_write: ReuseType | Mapping[str, Any] | None = None,
        filter_fn: Callable[[Schedule, BlockRV], bool] | None = None,
    ) -> None:
        self.structure = _checked_structure(structure)
        self.tile_binds = list(tile_binds or ())
        self.max_innermost_factor = max_innermost_factor
        self.vector_load_lens = list(vector_load_lens or ())
        self.reuse_read = _reuse(reuse_read, ("no", "must"))
        self.reuse_write = _reuse(reuse_write, REQUESTS)
        self.filter_fn = filter_fn
        self._spatial = [i for i, kind in enumerate(structure) if kind == "S"]
        self._reducing = [i for i, kind in enumerate(structure) if kind == "R"]
        self._max_threads = self._warp = -1
        self._stages: tuple[int, ...] = ()

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        target = require_target(context.target, type(self).__name__)
        if "max_threads_per_block" in target.attrs:
            self._max_threads = int(target.attrs["max_threads_per_block"])
            self._warp = int(target.attrs.get("thread_warp_size", -1))
        self._stages = STAGES if sm_version(target) >= ASYNC_COPIES_SINCE else ()

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedules with tiles, one for each way to make copies."""
        wanted = self.filter_fn is not None and self.filter_fn(sch, block)
        if not wanted and not needs_multi_level_tiling(sch.state, sch.get_sref(block)):
            return [sch]
        for attempt in range(MAX_DRAWS):
            made = sch.copy() if attempt else sch.twin()
            made.annotate(block, TILING, self.structure)
            try:
                return [state.sch for state in self._steps([Tiling(made, block)])]
            except ScheduleError:
                continue  # for tiles of other sizes a copy may not be provably whole
        return [sch]

    def _steps(self, states: list[Tiling]) -> list[Tiling]:
        for step in (self._tile, self._reuse_write, self._reuse_read, self._pipeline):
            states = [made for state in states for made in step(state)]
        return states

    # --- tiles ---

    def _tile(self, state: Tiling, tiled_spatial: int | None = None) -> list[Tiling]:
        """Split all loops, order the parts by tile, bind the outer tiles to threads.

        Only the last `tiled_spatial` data-parallel loops are split, if that is given.
        """
        sch, node = state.sch, state.sch.get(state.block)
        loops = sch.get_loops(state.block)
        kinds = [iv.iter_type for iv in node.iter_vars]
        if len(loops) != len(kinds):
            raise _not_trivial(node)
        tiles: list[list[LoopRV]] = [[] for _ in self.structure]
        state.factors = [[] for _ in self.structure]
        outer: list[LoopRV] = []
        skipped = 0 if tiled_spatial is None else kinds.count(IterVar.DataPar) - tiled_spatial
        space: int | None = 1
        for loop, kind in zip(loops, kinds):
            if kind == IterVar.DataPar and skipped > 0:
                outer.append(loop)
                skipped -= 1
                continue
            if kind == IterVar.DataPar:
                extent = extent_of(sch.get(loop))
                space = None if space is None or extent is None else space * extent
            levels = {IterVar.DataPar: self._spatial, IterVar.CommReduce: self._reducing}.get(kind)
            if levels:
                factors, parts = self._split(sch, state.block, loop, len(levels))
                for level, factor, part in zip(levels, factors, parts):
                    tiles[level].append(part)
                    state.factors[level].append(factor)
        sch.reorder(*[loop for tile in tiles for loop in tile])
        tiles[0] = [*outer, *tiles[0]]
        for level, axis in enumerate(self.tile_binds[: len(tiles)]):
            fused = sch.fuse(*tiles[level])
            sch.bind(fused, axis)
            tiles[level] = [fused]
        state.tiles = tiles
        self._limit_threads(sch, state.block, space)
        return [state]

    def _split(self, sch: Schedule, block: BlockRV, loop: LoopRV, parts: int) -> Split:
        """Factors of the loop, and loops of as many iterations."""
        if parts == 1:
            return [sch.get(loop).extent], [loop]
        factors = sch.sample_perfect_tile(
            loop, n=parts, max_innermost_factor=self.max_innermost_factor or -1
        )
        return factors, sch.split(loop, [*factors])

    def _limit_threads(self, sch: Schedule, block: BlockRV, space: int | None) -> None:
        """Where there is enough to do, a block has a warp of threads at least."""
        if self._warp == -1:
            return
        enough = space is not None and space > 2 * self._warp
        sch.annotate(block, MIN_THREADS, self._warp if enough else 1)
        sch.annotate(block, MAX_THREADS, self._max_threads)

    # --- copies ---

    def _reuse_write(self, state: Tiling) -> list[Tiling]:
        """Results are kept in other memory until a tile is done."""
        request, levels, scope = self.reuse_write
        if request == "no":
            return [state]
        given = state.sch.get(state.block).annotations.get(WRITE_CACHE_LEVEL)
        if given is not None:
            request, levels = "must", [int(level) for level in given]
        found: list[Tiling] = []
        if request == "may":
            users = state.sch.get_consumers(state.block)
            if len(users) == 1 and is_write_cache(state.sch.get_sref(users[0])):
                return [*[_finished_at(state, users[0], level) for level in levels], state]
            found.append(state.copy())
        cache = state.sch.cache_write(state.block, 0, scope)
        return [*found, *[_finished_at(state, cache, level) for level in levels]]

    def _reuse_read(self, state: Tiling) -> list[Tiling]:
        """What a tile reads is copied to other memory, by all threads together."""
        if self.reuse_read.req == "no":
            return [state]
        return [self._read_at(state.copy(), level) for level in self.reuse_read.levels]

    def _read_at(self, state: Tiling, level: int) -> Tiling:
        sch = state.sch
        node: Block = sch.get(state.block)
        written = {region.buffer for region in node.writes}
        for number, region in enumerate(node.reads):
            if region.buffer in written:
                continue
            copy = sch.cache_read(state.block, number, self.reuse_read.scope, [state.block])
            sch.compute_at(copy, state.tiles[level - 1][-1], preserve_unit_loops=True)
            sch.fuse(*sch.get_loops(copy)[-len(region.buffer.shape) :])
            self._fetch_together(sch, copy)
        return state

    def _fetch_together(self, sch: Schedule, copy: BlockRV) -> None:
        dtype = str(sch.get(copy).writes[0].buffer.dtype)
        widths = [
            width
            for width in self.vector_load_lens
            if width <= _MAX_LANES.get(dtype, width)
            and (dtype != "float16" or width == 1 or width % 2 == 0)
        ]
        if widths:
            width = sch.sample_categorical(widths, [1.0 / len(widths)] * len(widths))
            sch.annotate(copy, FETCH, width)

    def _pipeline(self, state: Tiling) -> list[Tiling]:
        """The same, and with two copies and a sum as the stages of a pipeline."""
        if not self._reducing or not self._stages:
            return [state]
        tile = state.tiles[self._reducing[0]]
        loop: For = state.sch.get(tile[-1])
        parts = loop.body.seq if isinstance(loop.body, SeqStmt) else ()
        if len(parts) != 3 or not all(isinstance(part, For) for part in parts):
            return [state]
        return [state, *[_pipelined(state.copy(), tile, stage) for stage in self._stages]]


class MultiLevelTilingWithIntrin(MultiLevelTiling):
    """Tiles blocks that a tensor intrinsic can compute, with the intrinsic innermost."""

    def __init__(
        self,
        intrin_name: str,
        structure: str,
        tile_binds: Sequence[str] | None = None,
        max_innermost_factor: int | None = None,
        vector_load_lens: Sequence[int] | None = None,
        reuse_read: ReuseType | Mapping[str, Any] | None = None,
        reuse_write: ReuseType | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(
            structure, tile_binds, max_innermost_factor, vector_load_lens, reuse_read, reuse_write
        )
        from .tensorized_tile import description  # derived rules and intrinsics know each other

        description(intrin_name)
        self.intrin_name = intrin_name

    def apply(self, sch: Schedule, block: BlockRV) -> list[Schedule]:
        """The schedules with tiles; the one given if the intrinsic computes something else."""
        from .tensorized_tile import computes

        if not computes(sch, block, self.intrin_name):
            return [sch]
        return super().apply(sch.copy(), block) or [sch]  # a copy draws as v0.22 does

    def _steps(self, states: list[Tiling]) -> list[Tiling]:
        from .tensorized_tile import tile_for_intrin

        kept: list[Tiling] = []
        for state in states:
            block = tile_for_intrin(state.sch, state.block, self.intrin_name)
            if block is not None:
                state.block = block
                kept.append(state)
        return super()._steps(kept)


class MultiLevelTilingWideVector(MultiLevelTiling):
    """Tiles so that the innermost dimension of the result always fills a vector."""

    def __init__(
        self,
        structure: str,
        vector_length_in_bits: int,
        max_innermost_factor: int | None = None,
        reuse_read: ReuseType | Mapping[str, Any] | None = None,
        reuse_write: ReuseType | Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(structure, None, max_innermost_factor, None, reuse_read, reuse_write)
        self.vector_length_in_bits = vector_length_in_bits

    def _split(self, sch: Schedule, block: BlockRV, loop: LoopRV, parts: int) -> Split:
        if parts == 1 or not _is_innermost(sch, block, loop):
            return super()._split(sch, block, loop, parts)
        written = sch.get(block).writes[0].buffer
        lanes = self.vector_length_in_bits // written.dtype.bits
        extent = extent_of(sch.get(loop))
        if extent is None or extent <= lanes:
            whole = [*[1] * (parts - 1), sch.get(loop).extent if extent is None else extent]
            return whole, sch.split(loop, whole)
        outer, inner = sch.split(loop, [None, lanes])
        factors, outers = super()._split(sch, block, outer, parts - 1)
        return [*factors, lanes], [*outers, inner]


def _is_innermost(sch: Schedule, block: BlockRV, loop: LoopRV) -> bool:
    """True if the loop runs along the last dimension of the result."""
    node: Block = sch.get(block)
    last = node.writes[0].region[-1].min
    values = realize_of(sch.state, sch.get_sref(block)).iter_values
    var = sch.get(loop).loop_var
    return any(iv.var is last and value is var for iv, value in zip(node.iter_vars, values))


def _finished_at(state: Tiling, cache: BlockRV, level: int) -> Tiling:
    made = state.copy()
    made.sch.reverse_compute_at(cache, made.tiles[level - 1][-1], preserve_unit_loops=True)
    return made


def _pipelined(state: Tiling, tile: list[LoopRV], stage: int) -> Tiling:
    fused = state.sch.fuse(*tile)
    state.sch.annotate(fused, "software_pipeline_stage", [0, 0, stage - 2])
    state.sch.annotate(fused, "software_pipeline_order", [0, 1, 2])
    state.sch.annotate(fused, "software_pipeline_async_stages", [0])
    return state


def _checked_structure(structure: str) -> str:
    if not structure or set(structure) - {"S", "R"}:
        raise ValueError(
            message(
                f"MultiLevelTiling: invalid tiling structure {structure!r}",
                legal='letters S (data parallel) and R (reducing), such as "SSRSRS"',
            )
        )
    return structure


def _reuse(given: ReuseType | Mapping[str, Any] | None, legal: Sequence[str]) -> ReuseType:
    if given is None:
        return NO_REUSE
    reuse = ReuseType(**given) if isinstance(given, Mapping) else given
    if reuse.req not in legal:
        raise ValueError(
            message(
                f"MultiLevelTiling: unknown request for reuse {reuse.req!r}",
                legal=", ".join(map(repr, legal)),
            )
        )
    return reuse


def _not_trivial(node: Block) -> TVMError:
    return TVMError(
        message(
            f"MultiLevelTiling: block {node.name_hint!r} cannot be tiled",
            found=f"{len(node.iter_vars)} variables in another number of loops",
            legal="a block each of whose variables is a loop",
        )
    )


# It builds on this module; programs may look for it here as well.
__getattr__ = lazy_names(
    __name__,
    {
        "MultiLevelTilingTensorCore":
            "tvm.meta_schedule.schedule_rule.multi_level_tiling_tensor_core"
            ":MultiLevelTilingTensorCore"
    },
)  # fmt: skip
