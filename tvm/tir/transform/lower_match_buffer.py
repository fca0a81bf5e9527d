"""A buffer matched to a region of another is replaced by that other buffer.

    b = T.match_buffer(A[i, 0:16], (16,), strides=(s,), elem_offset=e)
    b[k] = 1; f(e, s)                 ->      A[i, k] = 1; f(i * 16, 1)

The dimensions of `b` are the last ones of the region; those in front have extent one. Variables in
the shape, strides and offset of `b` stand for those of the region; a constant there is checked.
"""

from __future__ import annotations

from tvm.arith.analyzer import Analyzer
from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.buffer_access import buffer_offset, element_strides
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, rewrite
from tvm.tir.op import arith as ops

from .pass_form import tir_pass


@tir_pass("tir.LowerMatchBuffer")
def LowerMatchBuffer(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No block matches buffers afterwards."""
    return rewrite(_MatchLowerer(), func)


class _MatchLowerer(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._analyzer = Analyzer()
        self._sources: dict[Buffer, s.BufferRegion] = {}
        self._values: dict[e.Var, PrimExpr] = {}

    def visit_var_(self, op: e.Var) -> PrimExpr:
        return self._values.get(op, op)

    def visit_seq_stmt_(self, op: s.SeqStmt) -> s.Stmt:
        """Each statement stays one, whether it does anything or not."""
        parts = [self.visit_stmt(part) for part in op.seq]
        same = all(old is new for old, new in zip(op.seq, parts))
        return op if same else s.SeqStmt(parts, op.span)

    def visit_block_(self, op: s.Block) -> s.Stmt:
        for match in op.match_buffers:
            self._match(match)
        bare = with_fields(op, match_buffers=()) if op.match_buffers else op
        return super().visit_block_(bare)

    def _match(self, match: s.MatchBufferRegion) -> None:
        target, source = match.buffer, self.visit_region(match.source)
        inner = self._sources.get(source.buffer)
        assert inner is None, "visit_region has replaced matched buffers"
        self._check_dimensions(target, source)
        self._sources[target] = source
        lead = len(source.region) - len(target.shape)
        for extent, rng in zip(target.shape, source.region[lead:]):
            self._bind(target, "shape", extent, rng.extent)
        self._bind_address(target, source, lead)

    def _check_dimensions(self, target: Buffer, source: s.BufferRegion) -> None:
        lead = len(source.region) - len(target.shape)
        wide = [r for r in source.region[: max(lead, 0)] if not self._equal(r.extent, 1)]
        if lead < 0 or wide:
            extents = [str(r.extent) for r in source.region]
            raise CheckError(
                message(
                    f"match_buffer {target.name} with {len(target.shape)} dimensions",
                    found=f"a region of {source.buffer.name} with extents {extents}",
                    legal="as many dimensions; more only where the leading ones have extent 1",
                )
            )

    def _bind_address(self, target: Buffer, source: s.BufferRegion, lead: int) -> None:
        outer = source.buffer
        self._bind(target, "data", target.data, outer.data)
        begin = tuple(rng.min for rng in source.region)
        offset = self._analyzer.simplify(buffer_offset(outer, begin)[-1])
        factor = target.offset_factor
        if factor > 1 and not self._equal(ops.floormod(offset, factor), 0):
            raise CheckError(
                message(
                    f"match_buffer {target.name} with offset_factor {factor}",
                    found=f"the region starts at element {offset} of {outer.name}",
                    legal=f"a start that is provably a multiple of {factor}",
                )
            )
        if not (isinstance(target.elem_offset, e.IntImm) and target.elem_offset.value == 0):
            self._bind(target, "elem_offset", target.elem_offset, offset)
        if target.strides:
            for stride, actual in zip(target.checked_strides(), element_strides(outer)[lead:]):
                self._bind(target, "strides", stride, actual)

    def _equal(self, a: PrimExpr, b: PrimExpr | int) -> bool:
        return bool(self._analyzer.can_prove_equal(a, b))

    def _bind(self, target: Buffer, what: str, given: PrimExpr, actual: PrimExpr) -> None:
        """A variable takes the actual value, anything else must equal it."""
        if isinstance(given, e.Var) and given not in self._values:
            if given is not actual:
                self._values[given] = actual if given.dtype.is_handle else ops.cast(
                    actual, given.dtype
                )  # fmt: skip
            return
        known = self.visit_expr(given)
        if known is not actual and not self._equal(known, actual):
            raise CheckError(
                message(
                    f"match_buffer {target.name} with {what} {given}",
                    found=f"{actual} in the region that it stands for",
                    legal=f"the same {what}, or a variable that takes its value",
                )
            )

    def _indices(self, region: s.BufferRegion, indices: tuple[PrimExpr, ...]) -> list[PrimExpr]:
        lead = len(region.region) - len(indices)
        offsets = [rng.min for rng in region.region]
        inner = [ops.add(low, _as_wide(i, low)) for low, i in zip(offsets[lead:], indices)]
        return [*offsets[:lead], *[self._analyzer.simplify(i) for i in inner]]

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        load = super().visit_buffer_load_(op)
        assert isinstance(load, e.BufferLoad)
        region = self._sources.get(load.buffer)
        if region is None:
            return load
        indices = self._indices(region, load.indices)
        return e.BufferLoad(region.buffer, indices, load.predicate, load.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        store = super().visit_buffer_store_(op)
        assert isinstance(store, s.BufferStore)
        region = self._sources.get(store.buffer)
        if region is None:
            return store
        indices = self._indices(region, store.indices)
        return s.BufferStore(region.buffer, store.value, indices, store.predicate, store.span)

    def visit_region(self, region: s.BufferRegion) -> s.BufferRegion:
        inner = super().visit_region(region)
        outer = self._sources.get(inner.buffer)
        if outer is None:
            return inner
        starts = self._indices(outer, tuple(rng.min for rng in inner.region))
        lead = len(starts) - len(inner.region)
        ranges = list(outer.region[:lead])
        for start, rng in zip(starts[lead:], inner.region):
            ranges.append(Range.from_min_extent(start, rng.extent))
        return s.BufferRegion(outer.buffer, ranges)


def _as_wide(index: PrimExpr, low: PrimExpr) -> PrimExpr:
    """A ramp of indices with its start and step in the type of what is added: it stays a ramp."""
    if isinstance(index, e.Ramp) and index.dtype.bits < low.dtype.bits:
        base, stride = (ops.cast(part, low.dtype) for part in (index.base, index.stride))
        return e.Ramp(base, stride, index.lanes, index.span)
    return index
