"""Memory of a warp becomes registers of its threads, and reads of others' elements shuffles.

    W = allocate([32], "float32", "warp")        W = allocate([1], "float32", "local")
    W[tx] = A[tx]                          ->    W[0] = A[tx]
    B[tx] = W[(tx + 1) % 32]                     B[tx] = T.tvm_warp_shuffle(
                                                     T.tvm_warp_activemask(), W[0], (tx + 1) % 32,
                                                     32, 32)

Element `y * (width * m) + tx * m + x` belongs to thread tx as its element `y * m + x`, where m is
the factor of tx in what is stored and width the number of threads.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn

from tvm.arith.analyzer import Analyzer
from tvm.arith.pattern import linear_equation
from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.transform import PassContext
from tvm.ir.type import PointerType
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import op as ops
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements, substitute, uses_var, walk

from .pass_form import tir_pass

# Argument indices of a warp's memory; its offset is the argument that follows.
_MEMORY_ARGS: Final = {
    "tir.ptx_mma": (6, 8, 10), "tir.ptx_ldmatrix": (3,), "tir.mma_store": (3,), "tir.mma_fill": (1,)
}  # fmt: skip


@tir_pass("tir.LowerWarpMemory")
def LowerWarpMemory(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No memory of scope `warp` is left; the function needs the attribute `target`."""
    target = func.attrs.get("target")
    if not isinstance(target, Target):
        _refuse("a function without target", "functions after BindTarget")
    lowerer = _Lowerer(int(target.attrs.get("thread_warp_size", 1)), _named_indices(func.body))
    body = lowerer.visit_stmt(func.body)
    return func.with_body(substitute(body, lowerer.registers))


def _named_indices(body: s.Stmt) -> dict[e.Var, PrimExpr]:
    """What names stand for that need no memory: an index may have been computed before its use."""
    found: dict[e.Var, PrimExpr] = {}
    for node in statements(body, s.LetStmt):
        if not any(isinstance(part, (e.BufferLoad, e.Call)) for part in walk(node.value)):
            found[node.var] = substitute(node.value, found)
    return found


def _refuse(found: str, legal: str, where: object = None) -> NoReturn:
    location = None if where is None else str(where)
    raise CheckError(message("lower memory of a warp", found=found, where=location, legal=legal))


class _Lowerer(StmtExprMutator):
    """Rewrites each allocation of scope `warp`, the innermost first."""

    def __init__(self, warp_size: int, named: dict[e.Var, PrimExpr]) -> None:
        super().__init__()
        self._warp_size = warp_size
        self._named = named
        self._analyzer = Analyzer()
        self._launches: list[s.AttrStmt] = []  # of threadIdx.x, around what is visited
        self.registers: dict[e.Var, PrimExpr] = {}  # what stands for the memory

    def visit_for_(self, op: s.For) -> s.Stmt:
        dom = Range.from_min_extent(op.min, op.extent)
        self._analyzer.bind(op.loop_var, dom, allow_override=True)
        return super().visit_for_(op)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key == "thread_extent" and isinstance(op.node, e.IterVar):
            dom = Range.from_min_extent(ops.const(0, op.node.var.dtype), op.value)
            self._analyzer.bind(op.node.var, dom, allow_override=True)
        if not _is_launch(op):
            return super().visit_attr_stmt_(op)
        self._launches.append(op)
        new = super().visit_attr_stmt_(op)
        self._launches.pop()
        return new

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        new = super().visit_allocate_(op)
        kind = op.buffer_var.type_annotation
        if not isinstance(kind, PointerType) or kind.storage_scope != "warp":
            return new
        assert isinstance(new, s.Allocate), "no rule removes one"
        local = PointerType(kind.element_type, "local")
        self.registers[op.buffer_var] = e.Var(op.buffer_var.name, local, op.buffer_var.span)
        return _Accesses(
            new, self._warp_size, self._analyzer, self._launches, self._named
        ).rewritten()


class _Accesses(StmtExprMutator):
    """Rewrites the accesses to one allocation."""

    def __init__(
        self,
        op: s.Allocate,
        warp_size: int,
        analyzer: Analyzer,
        around: Sequence[s.AttrStmt],
        named: dict[e.Var, PrimExpr],
    ) -> None:
        super().__init__()
        self._op: Final = op
        self._memory: Final = op.buffer_var
        self._warp_size: Final = warp_size
        self._analyzer: Final = analyzer
        self._named: Final = named
        self._thread, self._width = self._find_thread(around)
        self._step = self._find_step()
        size = op.dtype.lanes
        for extent in op.extents:
            if not isinstance(extent, e.IntImm):
                _refuse(f"{self._memory.name!r} of {extent} elements", "constant extents")
            size *= extent.value
        round_ = self._width * self._step
        self._rounds = (size + round_ - 1) // round_  # the last may not be full
        self._own = self._rounds * self._step  # elements of each thread

    def rewritten(self) -> s.Stmt:
        """The allocation in registers."""
        op = self._op
        body = self.visit_stmt(op.body)
        return s.Allocate(
            op.buffer_var, op.dtype, [self._own], op.condition, body, op.annotations, op.span
        )

    def visit_buffer_use(self, buffer: Buffer) -> Buffer:
        return self.visit_buffer_def(buffer)

    def visit_buffer_def(self, buffer: Buffer) -> Buffer:
        if buffer.data is not self._memory:
            return buffer
        if buffer not in self.buffers:
            shape = [ops.const(max(1, self._own // buffer.dtype.lanes), "int32")]
            self.buffers[buffer] = buffer.with_changes(shape=shape, strides=())
        return self.buffers[buffer]

    def _find_thread(self, around: Sequence[s.AttrStmt]) -> tuple[e.Var, int]:
        found: tuple[e.Var, int] | None = None
        within = [n for n in statements(self._op.body, s.AttrStmt) if _is_launch(n)]
        for node in within or around[-1:]:
            assert isinstance(node.node, e.IterVar), "a launch names an axis"
            extent = node.value.value if isinstance(node.value, e.IntImm) else 0
            if extent < 1 or self._warp_size % extent:
                _refuse(
                    f"{node.value} threads in threadIdx.x",
                    f"a number of threads that divides the warp size {self._warp_size}",
                )
            if found is not None and found[0] is not node.node.var:
                _refuse("two launches of threadIdx.x", "one threadIdx.x in a kernel")
            found = node.node.var, extent
        if found is None:
            _refuse(
                f"no threadIdx.x around or within the allocation of {self._memory.name!r}",
                "memory of a kernel that launches threadIdx.x",
            )
        return found

    def _find_step(self) -> int:
        """The factor of the thread in what is stored."""
        found = 0
        for node in walk(self._op.body):
            factor = self._factor(node)
            if factor is None:
                continue
            if found not in (0, factor):
                _refuse(
                    f"stores with factors {found} and {factor} of {self._thread.name}",
                    "one factor for all stores", node,
                )  # fmt: skip
            found = factor
        if found == 0:
            _refuse(f"nothing that is stored to {self._memory.name!r}", "memory that is stored to")
        return found

    def _factor(self, node: Node) -> int | None:
        """The factor in the index of a store, or of a call that fills; None for other nodes."""
        if isinstance(node, s.BufferStore) and node.buffer.data is self._memory:
            index = _only(node.indices, node)
        elif isinstance(node, e.Call) and any(arg is self._memory for arg in node.args):
            name = e.op_name(node)
            if name == "tir.mma_fill" and isinstance(node.args[0], e.IntImm):
                return node.args[0].value  # each thread fills so many
            if name != "tir.ptx_ldmatrix":
                return None
            index = node.args[4]
        else:
            return None
        if isinstance(index, e.Ramp):
            if not isinstance(index.stride, e.IntImm) or index.stride.value != 1:
                _refuse(f"a store with stride {index.stride}", "stride 1", node)
            index = index.base
        parts = linear_equation(substitute(index, self._named), [self._thread])
        factor = self._analyzer.canonical_simplify(parts[0]) if len(parts) == 2 else None
        if not isinstance(factor, e.IntImm) or factor.value < 1:
            _refuse(
                f"the index {index} of a store",
                f"a constant, positive factor of {self._thread.name} in it", node,
            )  # fmt: skip
        return factor.value

    def visit_call_(self, op: e.Call) -> PrimExpr:
        new = super().visit_call_(op)
        positions = _MEMORY_ARGS.get(e.op_name(op), ())
        if not isinstance(new, e.Call) or not any(op.args[at] is self._memory for at in positions):
            return new
        args = list(new.args)
        for at in positions:
            if op.args[at] is self._memory:
                args[at + 1] = self._split(args[at + 1])[0]
        return e.Call(new.dtype, new.op, args, op.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        new = super().visit_buffer_store_(op)
        if op.buffer.data is not self._memory or not isinstance(new, s.BufferStore):
            return new
        own, _ = self._split(_only(new.indices, op))
        return s.BufferStore(new.buffer, new.value, [own], new.predicate, op.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        new = super().visit_buffer_load_(op)
        if op.buffer.data is not self._memory or not isinstance(new, e.BufferLoad):
            return new
        own, thread = self._split(_only(new.indices, op))
        if uses_var(own, self._thread):
            _refuse(
                f"the index {op.indices[0]} of a load, of element {own} of its thread",
                f"an element that does not depend on {self._thread.name}", op,
            )  # fmt: skip
        value = e.BufferLoad(new.buffer, [own], new.predicate, op.span)
        if self._analyzer.can_prove(thread.equal(self._thread)):
            return value
        return ops.tvm_warp_shuffle(
            ops.tvm_warp_activemask(), value, thread,
            ops.const(self._width, "int32"), ops.const(self._warp_size, "int32"),
        )  # fmt: skip

    def _split(self, index: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """Which element of which thread; all lanes of an access are of one thread."""
        if isinstance(index, e.Ramp):
            own, thread = self._split(index.base)
            return e.Ramp(own, index.stride, index.lanes, index.span), thread
        simplify, step = self._analyzer.canonical_simplify, self._step
        index = substitute(index, self._named)
        own = simplify(ops.floormod(index, step))
        if self._rounds == 1:
            return own, simplify(ops.floordiv(index, step))
        round_ = step * self._width
        within = ops.floordiv(ops.floormod(index, round_), step)
        return simplify(ops.floordiv(index, round_) * step + own), simplify(within)


def _is_launch(op: s.AttrStmt) -> bool:
    axis = op.node
    named = isinstance(axis, e.IterVar) and axis.thread_tag == "threadIdx.x"
    return named and op.attr_key == "thread_extent"


def _only(indices: tuple[PrimExpr, ...], where: object) -> PrimExpr:
    if len(indices) != 1:
        _refuse(f"an access with {len(indices)} indices", "flat memory, after FlattenBuffer", where)
    return indices[0]
