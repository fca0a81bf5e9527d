"""A reduction bound to threads becomes a reduction in each thread and one over the threads.

    for ko in range(4):
        for ki in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("B"): B[vi] = B[vi] + A[vi, ko * 32 + ki]      # init: B[vi] = 0
    ->
    for ki in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("B_in_thread_init"): own[0] = 0
        for ko in range(4):
            with T.block("B_in_thread"): own[0] = own[0] + A[vi, ko * 32 + ki]
        with T.block("B_cross_thread"): T.tvm_thread_allreduce(1, own[0], True, all[0], ki)
        with T.block("B_write_back"):
            T.where(ki == 0)
            B[vi] = all[0]

Where every reducing loop is a thread and nothing guards the block, its values go over the threads
at once. A block outside of the threads that reads such a result from thread-local memory runs in
the first of them. Runs before LowerInitBlock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.node import with_fields
from tvm.ir.transform import PassContext
from tvm.ir.type import PointerType, PrimType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.reducer import Reducer, reducer_of
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute, uses_any, vars_in, walk
from tvm.tir.op import arith as ops
from tvm.tir.op import reinterpret
from tvm.tir.op.forms import conjuncts

from .pass_form import tir_pass

THREADS: Final = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


class CrossThreadError(CheckError, ValueError):
    """A reduction is bound to threads in a way that they cannot carry out together."""


@tir_pass("tir.LowerCrossThreadReduction")
def LowerCrossThreadReduction(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No block reduces over a loop that is bound to threads."""
    return func.with_body(_Lowerer().visit_stmt(func.body))


@dataclass
class _Found:
    """A reduction over threads, and the memory that it gets: all threads', and each one's own."""

    realize: s.BlockRealize
    loops: list[s.For]  # those that reduce, from the outside
    reducer: Reducer
    over: list[Buffer]
    own: list[Buffer]

    @property
    def threads(self) -> list[s.For]:
        """The reducing loops that are bound to threads."""
        return [loop for loop in self.loops if loop.thread_binding is not None]


class _Lowerer(StmtExprMutator):
    def __init__(self) -> None:
        super().__init__()
        self._path: list[s.Stmt] = []  # what is around, up to the next block
        self._threads: list[str] = []  # the threads around, whatever the block
        self._new: dict[s.For, s.Stmt] = {}
        self._allocated: list[list[Buffer]] = []
        self._spread: dict[Buffer, list[s.For]] = {}  # results that each thread has: the threads

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr  # blocks hide in no expression

    def visit_stmt(self, stmt: s.Stmt) -> s.Stmt:
        self._path.append(stmt)
        new = super().visit_stmt(stmt)
        self._path.pop()
        return new

    def visit_for_(self, op: s.For) -> s.Stmt:
        if op.thread_binding is not None:
            self._threads.append(op.thread_binding.thread_tag)
        new = super().visit_for_(op)
        if op.thread_binding is not None:
            self._threads.pop()
        return self._new.get(op, new)

    def visit_block_(self, op: s.Block) -> s.Stmt:
        path, self._path = self._path, []
        self._allocated.append([])
        body = self.visit_stmt(op.body)
        self._path = path
        made = self._allocated.pop()
        return with_fields(op, body=body, alloc_buffers=(*op.alloc_buffers, *made)) if made else (
            with_fields(op, body=body)
        )  # fmt: skip

    def visit_block_realize_(self, op: s.BlockRealize) -> s.Stmt:
        loops = self._reducing_loops(op) if self._allocated else []
        if any(loop.thread_binding is not None for loop in loops):
            self._reduce(op, loops)
            return op
        new = super().visit_block_realize_(op)
        assert isinstance(new, s.BlockRealize), "a block stays one"
        return self._in_first_thread(new) if self._spread else new

    def _reducing_loops(self, op: s.BlockRealize) -> list[s.For]:
        """The loops around a reduction whose variables its reducing variables are bound to."""
        if op.block.init is None:
            return []
        used = {
            n for iv, value in zip(op.block.iter_vars, op.iter_values)
            if iv.iter_type == e.IterVar.CommReduce for n in walk(value)
        }  # fmt: skip
        return [p for p in self._path if isinstance(p, s.For) and p.loop_var in used]

    def _reduce(self, op: s.BlockRealize, loops: list[s.For]) -> None:
        found = self._checked(op, loops)
        self._allocated[-1] += [*found.over, *found.own]
        self._new[loops[0]] = _lowered(found)
        for store in found.reducer.stores:
            if store.buffer.scope() == "local":
                self._spread[store.buffer] = found.threads

    def _checked(self, op: s.BlockRealize, loops: list[s.For]) -> _Found:
        name = op.block.name_hint
        for loop in loops:
            tag = None if loop.thread_binding is None else loop.thread_binding.thread_tag
            if tag is not None and tag not in THREADS:
                _refuse(name, f"its loop {loop.loop_var.name!r} is bound to {tag}",
                        f"reducing loops bound to {', '.join(THREADS)}", loop)  # fmt: skip
        inside = [p for p in self._path[self._path.index(loops[0]) : -1]]
        others = [p for p in inside if p not in loops and not isinstance(p, s.SeqStmt)]
        if others:
            _refuse(name, "the loops that reduce are not the innermost ones around it",
                    "no other loop or condition between them and the block", others[0])  # fmt: skip
        if _blocks_of(loops[0])[-1] is not op.block:
            _refuse(name, "another block follows it within the loops that reduce",
                    "a block that is the last one there", loops[0])  # fmt: skip
        reducer = reducer_of(op.block)
        if reducer is None:
            _refuse(name, "its reducer is not known to be commutative",
                    "C[...] = C[...] op x, where op is +, *, max, min, and, or; or the greatest "
                    "or least of pairs (value, index)", op.block)  # fmt: skip
        buffers = [store.buffer for store in reducer.stores]
        plain = all(loop.thread_binding is not None for loop in loops) and ops.is_one(op.predicate)
        own = [] if plain else [_scratch(f"in_thread_{b.name}", b) for b in buffers]
        return _Found(op, loops, reducer, [_scratch(f"cross_thread_{b.name}", b) for b in buffers],
                      own)  # fmt: skip

    def _in_first_thread(self, op: s.BlockRealize) -> s.Stmt:
        """A block that reads a result of threads that are not around it: one of them runs it."""
        if all(region.buffer.scope() == "local" for region in op.block.writes):
            return op  # each thread has its own
        missing: dict[str, s.For] = {}
        for region in op.block.reads:
            for loop in self._spread.get(region.buffer, ()):
                tag = _tag(loop)
                if tag not in self._threads:
                    missing[tag] = loop
        predicate = op.predicate
        around: list[s.For] = []
        for tag, loop in missing.items():
            var = e.Var(f"t{tag[-1]}", loop.loop_var.dtype)
            first = ops.equal(var, loop.min)
            predicate = first if ops.is_one(predicate) else ops.logical_and(predicate, first)
            around.append(_bound(loop, var))
        new: s.Stmt = with_fields(op, predicate=predicate)
        for loop in reversed(around):
            new = with_fields(loop, body=new)
        return new


def _refuse(name: str, found: str, legal: str, where: s.Stmt) -> NoReturn:
    asked = f"LowerCrossThreadReduction: block {name!r} cannot be reduced over threads"
    raise CrossThreadError(message(asked, found=found, where=f"\n{where}", legal=legal))


def _blocks_of(loop: s.For) -> list[s.Block]:
    """The blocks in a loop, in order, without those in blocks."""
    found: list[s.Block] = []
    stack: list[s.Stmt] = [loop]
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, s.BlockRealize):
            found.append(stmt.block)
        elif isinstance(stmt, s.SeqStmt):
            stack += reversed(stmt.seq)
        elif isinstance(stmt, s.IfThenElse):
            stack += [x for x in (stmt.else_case, stmt.then_case) if x is not None]
        else:
            body = getattr(stmt, "body", None)
            stack += [] if body is None else [body]
    return found


def _tag(loop: s.For) -> str:
    assert loop.thread_binding is not None, "a loop bound to a thread"
    return loop.thread_binding.thread_tag


def _bound(loop: s.For, var: e.Var) -> s.For:
    """A loop over the same thread, with a variable of its own."""
    assert loop.thread_binding is not None, "a loop bound to a thread"
    old = loop.thread_binding
    axis = e.IterVar(None, e.Var("", var.dtype), e.IterVar.ThreadIndex, old.thread_tag, old.span)
    return s.For(
        var, loop.min, loop.extent, s.ForKind.THREAD_BINDING, loop.body, axis, None, loop.span
    )


def _scratch(name: str, like: Buffer) -> Buffer:
    """One element of memory that each thread has."""
    data = e.Var(name, PointerType(PrimType(str(like.dtype)), "local"))
    return Buffer(data, like.dtype, [ops.const(1)], [ops.const(1)], name=name, span=like.span)


_AT_ZERO: Final = (e.IntImm("int32", 0),)


def _regions(buffers: Sequence[Buffer]) -> list[s.BufferRegion]:
    return [s.BufferRegion.from_point(buffer, _AT_ZERO) for buffer in buffers]


def _loads(buffers: Sequence[Buffer]) -> list[PrimExpr]:
    return [e.BufferLoad(buffer, _AT_ZERO) for buffer in buffers]


def _lowered(found: _Found) -> s.Stmt:
    """The statements that replace the first reduction loop."""
    stmts = [_in_thread_init(found)] if found.own else []
    in_thread = _InThread(found).visit_stmt(found.loops[0])
    body: s.Stmt = s.SeqStmt.flatten([*stmts, in_thread, _cross_thread(found), _write_back(found)])
    for loop in reversed(found.threads):
        body = with_fields(loop, body=body)
    return body


def _in_thread_init(found: _Found) -> s.Stmt:
    block, starts = found.realize.block, found.reducer.identities
    body = s.SeqStmt.flatten([
        s.BufferStore(buffer, start, _AT_ZERO, None, block.span)
        for buffer, start in zip(found.own, starts)
    ])  # fmt: skip
    name = f"{block.name_hint}_in_thread_init"
    init = s.Block((), (), _regions(found.own), name, body, span=block.span)
    return s.BlockRealize((), ops.const(True, "bool"), init, found.realize.span)


class _InThread(StmtExprMutator):
    """The loops that are not bound to threads, around each thread's partial reduction."""

    def __init__(self, found: _Found) -> None:
        super().__init__()
        self._found = found

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_for_(self, op: s.For) -> s.Stmt:
        body = self.visit_stmt(op.body)
        if op in self._found.loops and op.thread_binding is not None:
            return body
        return s.Evaluate(ops.const(0)) if _is_empty(body) else with_fields(op, body=body)

    def visit_block_realize_(self, op: s.BlockRealize) -> s.Stmt:
        found = self._found
        if op is not found.realize:
            return op
        if not found.own:
            return s.Evaluate(ops.const(0))
        block = op.block
        old = [store.buffer for store in found.reducer.stores]
        body = _ToScratch(dict(zip(old, found.own))).visit_stmt(block.body)
        reads = [region for region in block.reads if region.buffer not in old]
        new = with_fields(
            block, reads=tuple(reads), writes=tuple(_regions(found.own)), body=body, init=None,
            name_hint=f"{block.name_hint}_in_thread",
        )  # fmt: skip
        return with_fields(op, block=new)


def _is_empty(stmt: s.Stmt) -> bool:
    return isinstance(stmt, s.Evaluate) and isinstance(stmt.value, e.IntImm)


class _ToScratch(StmtExprMutator):
    """The update on each thread's local memory instead of the reduced buffers."""

    def __init__(self, own: dict[Buffer, Buffer]) -> None:
        super().__init__()
        self._own = own

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        buffer = self._own.get(op.buffer)
        if buffer is None:
            return super().visit_buffer_load_(op)
        return e.BufferLoad(buffer, _AT_ZERO, None, op.span)

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        buffer = self._own.get(op.buffer)
        if buffer is None:
            return super().visit_buffer_store_(op)
        return s.BufferStore(buffer, self.visit_expr(op.value), _AT_ZERO, None, op.span)


def _cross_thread(found: _Found) -> s.Stmt:
    realize, block = found.realize, found.realize.block
    reduced = {store.buffer for store in found.reducer.stores}
    iters: list[e.IterVar] = []
    bindings: list[PrimExpr] = []
    if found.own:
        reads, values = _regions(found.own), _loads(found.own)
    else:  # the variables get names of their own: other blocks keep the old ones
        iters, renamed = _copied(block.iter_vars)
        bindings = list(realize.iter_values)
        reads = [substitute(r, renamed) for r in block.reads if r.buffer not in reduced]
        values = [substitute(part, renamed) for part in found.reducer.parts]
    call = e.Call(
        "handle", "tir.tvm_thread_allreduce",
        [
            e.IntImm("uint32", len(values)), *values, ops.const(True, "bool"),
            *_loads(found.over), *[loop.loop_var for loop in found.threads],
        ],
    )  # fmt: skip
    reducer = found.reducer.as_comm_reducer()
    nothing = reinterpret("handle", e.IntImm("uint64", 0))
    body = s.AttrStmt(reducer, "reduce_scope", nothing, s.Evaluate(call, block.span), block.span)
    name = f"{block.name_hint}_cross_thread"
    made = s.Block(iters, reads, _regions(found.over), name, body, span=block.span)
    return s.BlockRealize(bindings, ops.const(True, "bool"), made, realize.span)


def _write_back(found: _Found) -> s.Stmt:
    """The results go where the block had them; one thread is enough for memory that all see."""
    realize, block = found.realize, found.realize.block
    kept = [
        (iv, value) for iv, value in zip(block.iter_vars, realize.iter_values)
        if iv.iter_type == e.IterVar.DataPar
    ]  # fmt: skip
    iters, renamed = _copied([iv for iv, _ in kept])
    body = s.SeqStmt.flatten([
        s.BufferStore(
            store.buffer, value, [substitute(i, renamed) for i in store.indices], None, store.span
        )
        for store, value in zip(found.reducer.stores, _loads(found.over))
    ])  # fmt: skip
    predicate: PrimExpr = ops.const(True, "bool")
    if found.reducer.stores[0].buffer.scope() != "local":
        for loop in found.threads:
            first = ops.equal(loop.loop_var, ops.const(0, loop.loop_var.dtype))
            predicate = first if ops.is_one(predicate) else ops.logical_and(predicate, first)
    for part in _of_results(realize):
        predicate = part if ops.is_one(predicate) else ops.logical_and(predicate, part)
    writes = [substitute(region, renamed) for region in block.writes]
    name = f"{block.name_hint}_write_back"
    made = s.Block(iters, _regions(found.over), writes, name, body, span=block.span)
    return s.BlockRealize([value for _, value in kept], predicate, made, realize.span)


def _of_results(realize: s.BlockRealize) -> list[PrimExpr]:
    """The parts of the predicate that say which results there are."""
    summed = {
        node
        for iv, value in zip(realize.block.iter_vars, realize.iter_values)
        if iv.iter_type != e.IterVar.DataPar
        for node in vars_in(value)
    }
    return [
        part
        for part in conjuncts(realize.predicate)
        if not ops.is_one(part) and not uses_any(part, summed)
    ]


def _copied(iter_vars: Sequence[e.IterVar]) -> tuple[list[e.IterVar], dict[e.Var, PrimExpr]]:
    made = [with_fields(iv, var=iv.var.copy_with_suffix("")) for iv in iter_vars]
    return made, {old.var: new.var for old, new in zip(iter_vars, made)}
