"""`tir.Schedule`: rewrite loop programs step by step, each step checked and recorded.

Every method is a primitive of `tir.schedule.primitive`, where it is described by what it rewrites.
An illegal request raises ScheduleError with the program as it is, and changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tvm.ir.expr import PrimExpr
from tvm.tir.buffer import Buffer
from tvm.tir.expr import FloatImm, IntImm
from tvm.tir.index_map import IndexMap
from tvm.tir.stmt import Block

from ._type_checker import type_explained
from .arguments import Arguments, index_dtype
from .error import ScheduleError as ScheduleError
from .explain import explained
from .primitive import add_unit_loop as _add_unit_loop
from .primitive import annotate as _annotate
from .primitive import blockize as _blockize
from .primitive import buffer_access as _buffer_access
from .primitive import cache_index as _cache_index
from .primitive import cache_inplace as _cache_inplace
from .primitive import cache_read as _cache_read
from .primitive import cache_write as _cache_write
from .primitive import compute_at as _compute_at
from .primitive import compute_inline as _compute_inline
from .primitive import copy_at as _copy_at
from .primitive import decompose_padding as _decompose_padding
from .primitive import decompose_reduction as _decompose_reduction
from .primitive import enter_postproc as _enter_postproc
from .primitive import for_kind as _for_kind
from .primitive import fuse as _fuse
from .primitive import get_block as _get_block
from .primitive import get_child_blocks as _get_child_blocks
from .primitive import get_consumers as _get_consumers
from .primitive import get_loops as _get_loops
from .primitive import get_output_blocks as _get_output_blocks
from .primitive import get_producers as _get_producers
from .primitive import loop_partition as _loop_partition
from .primitive import merge as _merge
from .primitive import pad_einsum as _pad_einsum
from .primitive import reindex as _reindex
from .primitive import reindex_cache as _reindex_cache
from .primitive import reorder as _reorder
from .primitive import reorder_block_iter_var as _reorder_block_iter_var
from .primitive import reverse_compute_inline as _reverse_compute_inline
from .primitive import rfactor as _rfactor
from .primitive import rolling_buffer as _rolling_buffer
from .primitive import sampling as _sampling
from .primitive import set_axis_separator as _set_axis_separator
from .primitive import set_scope as _set_scope
from .primitive import split as _split
from .primitive import storage_align as _storage_align
from .primitive import tensorize as _tensorize
from .primitive import transform_block_layout as _transform_block_layout
from .primitive import transform_layout as _transform_layout
from .primitive import unsafe_repeat_edge as _unsafe_repeat_edge
from .primitive import unsafe_set_dtype as _unsafe_set_dtype
from .random_variable import BlockRV, ExprRV, LoopRV
from .recorder import Recorder

Factor = ExprRV | int | None
BlockArg = BlockRV | str

class Schedule(Recorder):
    """A module with the means to rewrite it. `trace` records how."""

    def _block(self, block: BlockArg) -> BlockRV:
        return self.get_block(block) if isinstance(block, str) else block

    # --- sampling ---

    @type_explained
    def sample_categorical(
        self, candidates: list[int], probs: list[float], decision: int | None = None
    ) -> ExprRV:
        """One of the candidates, drawn with the given probabilities."""
        arguments = {"candidates": list(candidates), "probs": [_as_node(p) for p in probs]}
        kind = _sampling.CATEGORICAL
        value, index = self._sample(
            kind,
            lambda: _sampling.sample_categorical(self._engine, candidates, probs, decision),
            arguments,
        )
        outputs = self._outputs(value)
        self._record(kind, arguments, outputs, IntImm("int32", index))
        return outputs[0]  # type: ignore[no-any-return]

    @type_explained
    def sample_perfect_tile(
        self,
        loop: LoopRV,
        n: int,
        max_innermost_factor: int = 16,
        decision: list[int] | None = None,
    ) -> list[ExprRV]:
        """`n` factors whose product is the extent of the loop; None first for a symbolic one."""
        sref = self._resolve(_sampling.PERFECT_TILE, "loop", loop)
        arguments = {"loop": loop, "n": n, "max_innermost_factor": max_innermost_factor}
        tiles: list[int] = self._sample(
            _sampling.PERFECT_TILE,
            lambda: _sampling.sample_perfect_tile(
                self._state, self._engine, sref, n, max_innermost_factor, decision
            ),
            arguments,
        )
        outputs = self._outputs(tiles)
        self._record(_sampling.PERFECT_TILE, arguments, outputs, tiles)
        return _factors(outputs, tiles)

    @type_explained
    def sample_partitioned_tile(
        self,
        loop: LoopRV,
        n: int,
        partition_pos: int = 0,
        innerpart_factor: int = 1,
        decision: list[int] | None = None,
    ) -> list[ExprRV]:
        """`n` factors whose product is the extent; the inner ones make up a given multiple."""
        kind = _sampling.PARTITIONED_TILE
        sref = self._resolve(kind, "loop", loop)
        arguments = {
            "loop": loop, "n": n, "partition_pos": partition_pos,
            "innerpart_factor": innerpart_factor,
        }  # fmt: skip
        tiles: list[int] = self._sample(
            kind,
            lambda: _sampling.sample_partitioned_tile(
                self._state, self._engine, sref, n, partition_pos, innerpart_factor, decision
            ),
            arguments,
        )
        outputs = self._outputs(tiles)
        self._record(kind, arguments, outputs, tiles)
        return outputs

    @type_explained
    def sample_compute_location(self, block: BlockArg, decision: int | None = None) -> LoopRV:
        """A loop that the block may be computed at, or the marks for the root and for inlining."""
        rv = self._block(block)
        kind = _sampling.COMPUTE_LOCATION
        sref = self._resolve(kind, "block", rv)
        location, index = self._sample(
            kind,
            lambda: _sampling.sample_compute_location(self._state, self._engine, sref, decision),
            {"block": rv},
        )
        outputs = self._outputs(location)
        self._record(kind, {"block": rv}, outputs, IntImm("int32", index))
        return outputs[0]  # type: ignore[no-any-return]

    # --- questions ---

    @type_explained
    def get_block(self, name: str, func_name: str | None = None) -> BlockRV:
        """The block called `name`."""
        if not isinstance(name, str):
            raise TypeError(
                "In `Schedule.get_block`, type of `name` does not match: expected str, "
                f"found {type(name).__name__}"
            )
        if func_name is None:
            func_name = self._working_on
        if func_name is None:
            raise ValueError(
                "ValueError: `get_block` does not know which function to be working on. Please "
                "specify the function name explicitly, or call `work_on` to specify the function "
                "before using `get_block`."
            )
        rule = _get_block.get_block
        return self._run(_get_block.KIND, rule, name=name, func_name=func_name)  # type: ignore[no-any-return]

    @type_explained
    def get_loops(self, block: BlockArg) -> list[LoopRV]:
        """The loops around a block, outermost first."""
        return self._run(_get_loops.KIND, _get_loops.get_loops, block=self._block(block))  # type: ignore[no-any-return]

    @type_explained
    def get_child_blocks(self, block_or_loop: BlockRV | LoopRV) -> list[BlockRV]:
        """The blocks directly below a block or loop."""
        rule = _get_child_blocks.get_child_blocks
        return self._run(_get_child_blocks.KIND, rule, block_or_loop=block_or_loop)  # type: ignore[no-any-return]

    @type_explained
    def get_producers(self, block: BlockArg) -> list[BlockRV]:
        """The blocks whose results a block uses."""
        rule = _get_producers.get_producers
        return self._run(_get_producers.KIND, rule, block=self._block(block))  # type: ignore[no-any-return]

    @type_explained
    def get_consumers(self, block: BlockArg) -> list[BlockRV]:
        """The blocks that use the results of a block."""
        rule = _get_consumers.get_consumers
        return self._run(_get_consumers.KIND, rule, block=self._block(block))  # type: ignore[no-any-return]

    @type_explained
    def get_output_blocks(self, scope_block: BlockArg) -> list[BlockRV]:
        """The blocks of a scope that write what outlives it."""
        rule = _get_output_blocks.get_output_blocks
        return self._run(_get_output_blocks.KIND, rule, scope_block=self._block(scope_block))  # type: ignore[no-any-return]

    # --- loops ---

    @type_explained
    def merge(self, *loops: LoopRV) -> LoopRV:
        """Make one loop nest of several that stand one after the other."""
        return self._run(_merge.KIND, _merge.merge, loops=list(loops))  # type: ignore[no-any-return]

    @type_explained
    def fuse(self, *loops: LoopRV, preserve_unit_iters: bool = True) -> LoopRV:
        """Make one loop of several nested ones."""
        return self._run(  # type: ignore[no-any-return]
            _fuse.KIND, _fuse.fuse, loops=list(loops), preserve_unit_iters=preserve_unit_iters
        )

    @type_explained
    def split(
        self,
        loop: LoopRV,
        factors: list[Factor],
        preserve_unit_iters: bool = True,
        disable_predication: bool = False,
    ) -> list[LoopRV]:
        """Make several nested loops of one; one factor may be None."""
        return self._run(  # type: ignore[no-any-return]
            _split.KIND,
            _split.split,
            loop=loop,
            factors=list(factors),
            preserve_unit_iters=preserve_unit_iters,
            disable_predication=disable_predication,
        )

    @type_explained
    def loop_partition(
        self, loop: LoopRV, factors: list[Factor], preserve_unit_iters: bool = True
    ) -> list[LoopRV]:
        """Make several loops of one that run one after the other; one factor may be None."""
        return self._run(  # type: ignore[no-any-return]
            _loop_partition.KIND,
            _loop_partition.loop_partition,
            loop=loop,
            factors=list(factors),
            preserve_unit_iters=preserve_unit_iters,
        )

    @type_explained
    def reorder(self, *ordered_loops: LoopRV) -> None:
        """Nest loops in another order."""
        self._run(_reorder.KIND, _reorder.reorder, ordered_loops=list(ordered_loops))

    @type_explained
    def reorder_block_iter_var(self, block: BlockArg, new_order: list[int]) -> None:
        """List the variables of a block in another order."""
        self._run(
            _reorder_block_iter_var.KIND,
            _reorder_block_iter_var.reorder_block_iter_var,
            block=self._block(block),
            new_order=list(new_order),
        )

    @type_explained
    def add_unit_loop(self, block_or_loop: LoopRV | BlockRV) -> LoopRV:
        """Put a loop of one iteration around a block or loop."""
        rule = _add_unit_loop.add_unit_loop
        return self._run(_add_unit_loop.KIND, rule, block_or_loop=block_or_loop)  # type: ignore[no-any-return]

    @type_explained
    def parallel(self, loop: LoopRV) -> None:
        """Let the iterations run on several threads."""
        self._run(_for_kind.PARALLEL, _for_kind.parallel, loop=loop)

    @type_explained
    def vectorize(self, loop: LoopRV) -> None:
        """Let the iterations be the lanes of vectors."""
        self._run(_for_kind.VECTORIZE, _for_kind.vectorize, loop=loop)

    @type_explained
    def bind(self, loop: LoopRV, thread_axis: str) -> None:
        """Let the iterations be threads or blocks of a launch."""
        self._run(_for_kind.BIND, _for_kind.bind, loop=loop, thread_axis=thread_axis)

    @type_explained
    def unroll(self, loop: LoopRV) -> None:
        """Let the code of all iterations stand one after the other."""
        self._run(_for_kind.UNROLL, _for_kind.unroll, loop=loop)

    # --- copies in other memory ---

    @type_explained
    def cache_read(
        self,
        block: BlockArg,
        read_buffer_index: int | str | Buffer,
        storage_scope: str,
        consumer_blocks: Sequence[BlockArg] | None = None,
    ) -> BlockRV:
        """Read a buffer through a copy in other memory."""
        consumers = [self._block(b) for b in consumer_blocks or ()]  # a trace has them first
        rv = self._block(block)
        if not isinstance(read_buffer_index, int):
            _, read_buffer_index, _ = self._buffer_of("cache_read", rv, read_buffer_index, "read")
        return self._run(  # type: ignore[no-any-return]
            _cache_read.KIND,
            _cache_read.cache_read,
            block=rv,
            read_buffer_index=read_buffer_index,
            storage_scope=storage_scope,
            consumer_blocks=consumers,
        )

    @type_explained
    def cache_write(
        self,
        block: BlockArg,
        write_buffer_index: int | str | Buffer,
        storage_scope: str,
        consumer_blocks: Sequence[BlockArg] | None = None,
    ) -> BlockRV:
        """Write a buffer through a copy in other memory."""
        consumers = [self._block(b) for b in consumer_blocks or ()]  # a trace has them first
        rv = self._block(block)
        if not isinstance(write_buffer_index, int):
            _, write_buffer_index, _ = self._buffer_of(
                "cache_write", rv, write_buffer_index, "write"
            )
        return self._run(  # type: ignore[no-any-return]
            _cache_write.KIND,
            _cache_write.cache_write,
            block=rv,
            write_buffer_index=write_buffer_index,
            storage_scope=storage_scope,
            consumer_blocks=consumers,
        )

    @type_explained
    def reindex(
        self, block: BlockArg, buffer: tuple[str, int] | str | Buffer
    ) -> BlockRV:
        """Access a buffer through a copy indexed by the block's variables."""
        rv = self._block(block)
        side, number, _ = self._buffer_of("reindex", rv, buffer)
        return self._run(  # type: ignore[no-any-return]
            _reindex.KIND, _reindex.reindex, block=rv, buffer=(side, number)
        )

    @type_explained
    def reindex_cache_read(
        self,
        block: BlockArg,
        read_buffer_index: int,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockRV:
        """Read a buffer through a copy laid out by a map of the block's variables."""
        rv = self._block(block)
        return self._run(  # type: ignore[no-any-return]
            _reindex_cache.READ,
            _reindex_cache.reindex_cache_read,
            block=rv,
            read_buffer_index=read_buffer_index,
            storage_scope=storage_scope,
            index_map=self._block_map(rv, index_map),
        )

    @type_explained
    def reindex_cache_write(
        self,
        block: BlockArg,
        write_buffer_index: int,
        storage_scope: str,
        index_map: IndexMap | Callable[..., Any],
    ) -> BlockRV:
        """Write a buffer through a copy laid out by a map of the block's variables."""
        rv = self._block(block)
        return self._run(  # type: ignore[no-any-return]
            _reindex_cache.WRITE,
            _reindex_cache.reindex_cache_write,
            block=rv,
            write_buffer_index=write_buffer_index,
            storage_scope=storage_scope,
            index_map=self._block_map(rv, index_map),
        )

    @type_explained
    def cache_inplace(
        self, block: BlockArg, read_buffer_index: int | str | Buffer, storage_scope: str
    ) -> list[BlockRV]:
        """Update a buffer through a copy in other memory."""
        rv = self._block(block)
        if not isinstance(read_buffer_index, int):
            _, read_buffer_index, _ = self._buffer_of(
                "cache_inplace", rv, read_buffer_index, "read"
            )
        return self._run(  # type: ignore[no-any-return]
            _cache_inplace.KIND,
            _cache_inplace.cache_inplace,
            block=rv,
            read_buffer_index=read_buffer_index,
            storage_scope=storage_scope,
        )

    @type_explained
    def cache_index(
        self, block: BlockArg, storage_scope: str, cse_thresh: int = 0
    ) -> list[BlockRV]:
        """Keep the indices that a block computes in buffers; returns the blocks that fill them."""
        return self._run(  # type: ignore[no-any-return]
            _cache_index.KIND,
            _cache_index.cache_index,
            block=self._block(block),
            storage_scope=storage_scope,
            cse_thresh=cse_thresh,
        )

    @type_explained
    def read_at(
        self, loop: LoopRV, block: BlockRV, read_buffer_index: int, storage_scope: str
    ) -> BlockRV:
        """Copy what a loop reads of a buffer in each iteration, in one block."""
        return self._run(  # type: ignore[no-any-return]
            _copy_at.READ_AT, _copy_at.read_at, loop=loop, block=self._block(block),
            read_buffer_index=read_buffer_index, storage_scope=storage_scope,
        )  # fmt: skip

    @type_explained
    def write_at(
        self, loop: LoopRV, block: BlockRV, write_buffer_index: int, storage_scope: str
    ) -> BlockRV:
        """Write other memory and copy it in each iteration of a loop, in one block."""
        return self._run(  # type: ignore[no-any-return]
            _copy_at.WRITE_AT, _copy_at.write_at, loop=loop, block=self._block(block),
            write_buffer_index=write_buffer_index, storage_scope=storage_scope,
        )  # fmt: skip

    def _block_map(self, rv: BlockRV, index_map: IndexMap | Callable[..., Any]) -> IndexMap:
        """A map of the block's variables."""
        node: Block = self.get(rv)
        dtype = str(node.iter_vars[0].var.dtype) if node.iter_vars else "int32"
        made, _ = Arguments.index_map(index_map, len(node.iter_vars), dtype)
        return made

    # --- where to compute ---

    @type_explained
    def compute_at(
        self, block: BlockArg, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Compute a producer in each iteration of a consumer's loop."""
        self._run(
            _compute_at.COMPUTE_AT,
            _compute_at.compute_at,
            block=self._block(block),
            loop=loop,
            preserve_unit_loops=preserve_unit_loops,
            index=index,
        )

    @type_explained
    def reverse_compute_at(
        self, block: BlockArg, loop: LoopRV, preserve_unit_loops: bool = False, index: int = -1
    ) -> None:
        """Compute a consumer in each iteration of a producer's loop."""
        self._run(
            _compute_at.REVERSE_COMPUTE_AT,
            _compute_at.reverse_compute_at,
            block=self._block(block),
            loop=loop,
            preserve_unit_loops=preserve_unit_loops,
            index=index,
        )

    @type_explained
    def compute_inline(self, block: BlockArg) -> None:
        """Compute a value where it is used."""
        rule = _compute_inline.compute_inline
        self._run(_compute_inline.KIND, rule, block=self._block(block))

    @type_explained
    def reverse_compute_inline(self, block: BlockArg) -> None:
        """Finish a value where it is made."""
        rule = _reverse_compute_inline.reverse_compute_inline
        self._run(_reverse_compute_inline.KIND, rule, block=self._block(block))

    @type_explained
    def blockize(self, target: LoopRV | list[BlockRV], preserve_unit_iters: bool = True) -> BlockRV:
        """Make a block of its own of a loop and all that is in it, or of several blocks."""
        rule = _blockize.blockize
        return self._run(  # type: ignore[no-any-return]
            _blockize.KIND, rule, target=target, preserve_unit_iters=preserve_unit_iters
        )

    @type_explained
    def tensorize(
        self, block_or_loop: BlockRV | LoopRV, tensor_intrin: str, preserve_unit_iters: bool = True
    ) -> None:
        """Compute a block, or all that is in a loop, by a tensor intrinsic."""
        self._run(
            _tensorize.KIND,
            _tensorize.tensorize,
            block_or_loop=block_or_loop,
            tensor_intrin=str(tensor_intrin),
            preserve_unit_iters=preserve_unit_iters,
        )

    # --- reductions ---

    @type_explained
    def decompose_reduction(self, block: BlockArg, loop: LoopRV) -> BlockRV:
        """Give the init of a reduction a block of its own, before a loop."""
        return self._run(  # type: ignore[no-any-return]
            _decompose_reduction.KIND,
            _decompose_reduction.decompose_reduction,
            block=self._block(block),
            loop=loop,
        )

    @type_explained
    def rfactor(self, loop: LoopRV, factor_axis: int) -> BlockRV:
        """Reduce within each iteration of a loop first, then over the iterations."""
        return self._run(_rfactor.KIND, _rfactor.rfactor, loop=loop, factor_axis=factor_axis)  # type: ignore[no-any-return]

    @type_explained
    def decompose_padding(self, block: BlockArg, loop: LoopRV) -> BlockRV:
        """Fill a padded buffer with its constant before a loop, then copy the inside."""
        return self._run(  # type: ignore[no-any-return]
            _decompose_padding.KIND,
            _decompose_padding.decompose_padding,
            block=self._block(block),
            loop=loop,
        )

    @type_explained
    def can_decompose_padding(self, block: BlockArg, loop: LoopRV) -> bool:
        """True if `decompose_padding` would be legal."""
        sref, at = self.get_sref(self._block(block)), self.get_sref(loop)
        return _decompose_padding.why_not_decomposable(self._state, sref, at) is None

    # --- buffers ---

    @type_explained
    def storage_align(
        self, block: BlockArg, buffer_index: int, axis: int, factor: int, offset: int
    ) -> None:
        """Give a dimension of a buffer the stride k * factor + offset."""
        self._run(
            _storage_align.KIND,
            _storage_align.storage_align,
            block=self._block(block),
            buffer_index=buffer_index,
            axis=axis,
            factor=factor,
            offset=offset,
        )

    @type_explained
    def set_scope(
        self, block: BlockArg, buffer_index: int | str | Buffer, storage_scope: str
    ) -> None:
        """Keep a buffer that the block writes in other memory."""
        rv = self._block(block)
        if not isinstance(buffer_index, int):
            _, buffer_index, _ = self._buffer_of("set_scope", rv, buffer_index, "write")
        self._run(
            _set_scope.KIND,
            _set_scope.set_scope,
            block=rv,
            buffer_index=buffer_index,
            storage_scope=storage_scope,
        )

    @type_explained
    def unsafe_repeat_edge(self, block: BlockArg) -> None:
        """Let a copy that pads read its last element again; for where nobody reads the padding."""
        self._run(
            _unsafe_repeat_edge.KIND,
            _unsafe_repeat_edge.unsafe_repeat_edge,
            block=self._block(block),
        )

    @type_explained
    def unsafe_set_dtype(self, block: BlockArg, buffer_index: int, dtype: str) -> None:
        """Keep a buffer that the block writes in another data type."""
        self._run(
            _unsafe_set_dtype.KIND,
            _unsafe_set_dtype.unsafe_set_dtype,
            block=self._block(block),
            buffer_index=buffer_index,
            dtype=str(dtype),
        )

    @type_explained
    def set_axis_separator(
        self,
        block: BlockArg,
        buffer: tuple[str, int] | str | Buffer,
        axis_separators: list[int] | None,
    ) -> None:
        """Say which dimensions of a buffer are flattened together."""
        rv = self._block(block)
        side, number, _ = self._buffer_of("set_axis_separator", rv, buffer)
        self._run(
            _set_axis_separator.KIND,
            _set_axis_separator.set_axis_separator,
            block=rv,
            buffer=(side, number),
            axis_separators=list(axis_separators or ()),
        )

    @type_explained
    def transform_layout(
        self,
        block: BlockArg,
        buffer: tuple[str, int] | str | Buffer,
        index_map: IndexMap | Callable[..., Any],
        pad_value: float | PrimExpr | IndexMap | Callable[..., Any] | None = None,
        *,
        assume_injective_transform: bool = False,
    ) -> None:
        """Lay a buffer out in another way, in all its uses."""
        rv = self._block(block)
        side, number, target = self._buffer_of("transform_layout", rv, buffer)
        made, separators = Arguments.index_map(index_map, len(target.shape), index_dtype(target))
        self._run(
            _transform_layout.KIND,
            _transform_layout.transform_layout,
            block=rv,
            buffer=(side, number),
            index_map=made,
            pad_value=Arguments.pad_value(pad_value, target, len(made.final_indices)),
            assume_injective_transform=assume_injective_transform,
        )
        if separators:
            self.set_axis_separator(rv, (side, number), separators)

    @type_explained
    def transform_block_layout(
        self, block: BlockArg, index_map: IndexMap | Callable[..., Any]
    ) -> None:
        """Let a block run over fusions and splits of its variables."""
        rv = self._block(block)
        self._run(
            _transform_block_layout.KIND, _transform_block_layout.transform_block_layout,
            block=rv, index_map=self._block_map(rv, index_map),
        )  # fmt: skip

    @type_explained
    def pad_einsum(self, block: BlockArg, padding: list[int]) -> None:
        """Let a contraction run over extents that are multiples of the padding."""
        self._run(
            _pad_einsum.KIND, _pad_einsum.pad_einsum, block=self._block(block),
            padding=list(padding),
        )  # fmt: skip

    @type_explained
    def rolling_buffer(self, block: BlockArg, write_buffer_index: int) -> None:
        """Keep one window of a buffer, and do not compute again what it holds already."""
        self._run(
            _rolling_buffer.KIND,
            _rolling_buffer.rolling_buffer,
            block=self._block(block),
            write_buffer_index=write_buffer_index,
        )

    @type_explained
    def unsafe_hide_buffer_access(
        self, block: BlockRV, buf_type: str, buf_index_array: list[int]
    ) -> None:
        """Leave some regions out of what a block says that it accesses."""
        self._run(
            _buffer_access.HIDE,
            _buffer_access.unsafe_hide_buffer_access,
            block=self._block(block),
            buf_type=buf_type,
            buf_index_array=list(buf_index_array),
        )

    @type_explained
    def annotate_buffer_access(
        self,
        block: BlockRV,
        buffer_index: int,
        buf_type: str,
        gen_new_ranges: Callable[..., Any] | IndexMap,
    ) -> None:
        """Replace one of the regions that a block says it accesses."""
        rv = self._block(block)
        node: Block = self.get(rv)
        if isinstance(gen_new_ranges, IndexMap):
            ranges = gen_new_ranges
        else:
            regions = node.writes if buf_type == "write" else node.reads
            rank = len(regions[buffer_index].region) if buffer_index < len(regions) else 0
            ranges = _buffer_access.ranges_map(gen_new_ranges, node, rank)
        self._run(
            _buffer_access.ANNOTATE,
            _buffer_access.annotate_buffer_access,
            block=rv,
            buffer_index=buffer_index,
            buf_type=buf_type,
            gen_new_ranges=ranges,
        )

    # --- annotations ---

    @type_explained
    def annotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str, ann_val: Any) -> None:
        """Add an annotation."""
        self._run(
            _annotate.ANNOTATE,
            _annotate.annotate,
            block_or_loop=block_or_loop,
            ann_key=ann_key,
            ann_val=_annotation(ann_val),
        )

    @type_explained
    def unannotate(self, block_or_loop: BlockRV | LoopRV, ann_key: str) -> None:
        """Take an annotation away."""
        self._run(
            _annotate.UNANNOTATE, _annotate.unannotate, block_or_loop=block_or_loop, ann_key=ann_key
        )

    # --- telling ---

    def explain(self) -> str:
        """The steps so far, each with what it did, below the reason that a rule gave for them."""
        return explained(self.trace, self.mod, type(self))

    def _repr_html_(self) -> str:
        """What notebooks show: the program as it is now, and the steps, folded."""
        from tvm.support.html import code, document, folded  # for notebooks alone

        program: str = self.mod._repr_html_()
        return program + document(folded(f"{len(self.trace.insts)} steps", code(self.explain())))

    def enter_postproc(self) -> None:
        """Mark where postprocessing begins in the trace."""
        self._run(_enter_postproc.KIND, _enter_postproc.enter_postproc)


def _as_node(value: Any) -> FloatImm:
    """A probability as the attributes of an instruction have it, in Python and from a file."""
    return value if isinstance(value, FloatImm) else FloatImm("float32", value)


def _factors(outputs: list[Any], tiles: list[int]) -> list[Any]:
    """The factors; a first one that the extent decides, when it is known, is None."""
    return [None, *outputs[1:]] if tiles[0] == -1 else outputs


def _annotation(value: Any) -> Any:
    """An annotation in the form that IR nodes hold."""
    if isinstance(value, (list, tuple)):
        return tuple([_annotation(part) for part in value])
    return value
