"""Barriers stand where threads of a block would race for shared memory.

    S[tx] = A[tx]                          S[tx] = A[tx]
    B[tx] = S[7 - tx]              ->      T.tvm_storage_sync("shared")
                                           B[tx] = S[7 - tx]

A barrier comes before a statement that reads what was written since the last one, or writes what
was read or what other threads wrote; in a loop the first two also for the sake of the next
iteration. Accesses of a thread to its own element need none, nor do those that provably never meet,
nor those under a condition that leaves one thread of a block. Dynamic shared memory is one memory:
what was read from one of its buffers may lie where another is written next, if the one is no longer
in use by then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr, Range
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import op
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, vars_in, walk
from tvm.tir.op.arith import is_one

from .lifetimes import Lives
from .pass_form import tir_pass
from .shared_accesses import (
    READ,
    SYNC,
    WRITE,
    Access,
    Conflicts,
    accesses_in,
    one_left,
    over,
    scope_of,
)


@tir_pass("tir.ThreadSync")
def ThreadSync(func: PrimFunc, mod: IRModule, ctx: PassContext, storage_scope: str) -> PrimFunc:
    """No two threads race for memory of the scope."""
    scope, body = str(storage_scope), func.body
    if func.attrs.get("tir.use_async_copy") or ctx.option("tir.use_async_copy", False):
        body = _AfterWaits(scope).visit_stmt(body)
    planner = _Planner(scope)
    planner.plan(body)
    if planner.sites:
        body = _Inserter(planner).visit_stmt(body)
    return func if body is func.body else func.with_body(body)


class _AfterWaits(StmtExprMutator):
    """A thread that waits knows its own copies to have arrived; the others' by a barrier."""

    def __init__(self, scope: str) -> None:
        super().__init__()
        self._scope = scope

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        new = super().visit_attr_stmt_(op)
        assert isinstance(new, s.AttrStmt), "an attribute stays one"
        if op.attr_key != "async_wait_inflight_count" or not _uses(new.body, self._scope):
            return new
        barrier = e.Call("int32", "tir.tvm_storage_sync", [e.StringImm(self._scope)])
        body = s.SeqStmt.flatten([s.Evaluate(barrier, op.span), new.body])
        return s.AttrStmt(new.node, new.attr_key, new.value, body, new.span)


def _uses(body: s.Stmt, scope: str) -> bool:
    return any(
        scope_of(node) == scope
        for node in vars_in(body) if node.dtype.is_handle
    )  # fmt: skip


@dataclass
class _Step:
    """A statement before which a barrier may stand, and what it accesses."""

    site: s.Stmt
    accesses: list[Access] = field(default_factory=list)


class _Planner:
    """Finds the statements that need a barrier before them."""

    def __init__(self, scope: str) -> None:
        self.scope = scope
        self.blockwide = scope.startswith("shared")
        self.sites: list[s.Stmt] = []
        self.threads: list[e.IterVar] = []  # of the kernel, as far as it is known
        self.launches = 0  # around
        self.lives = Lives(lambda op: 0)  # of the memory of a kernel
        self.loops: list[tuple[e.Var, Range]] = []
        self.parted: list[s.Stmt] = []  # conditions around, under which threads may part
        self.varying: set[e.Var] = set()
        self.single: frozenset[e.Var] = frozenset()  # threads of which conditions leave one

    def plan(self, stmt: s.Stmt) -> None:
        self._steps(stmt)

    def _steps(self, stmt: s.Stmt) -> list[_Step]:
        """The statements that run one after the other in `stmt`."""
        steps: list[_Step] = []
        while True:
            if isinstance(stmt, s.SeqStmt):
                for child in stmt.seq:
                    steps += self._steps(child)
                return steps
            if isinstance(stmt, s.AttrStmt):
                found = self._attribute(stmt)
                if found is not None:
                    return steps + found
                stmt = stmt.body
            elif isinstance(stmt, s.LetStmt):
                if self._varies(stmt.value):
                    self.varying.add(stmt.var)
                steps.append(_Step(stmt, self._of(stmt.value)))
                stmt = stmt.body
            elif isinstance(stmt, s.AssertStmt):
                steps.append(_Step(stmt, self._of(stmt.condition)))
                stmt = stmt.body
            elif isinstance(stmt, (s.Allocate, s.AllocateConst, s.DeclBuffer, s.Block)):
                stmt = stmt.body
            elif isinstance(stmt, s.BlockRealize) and is_one(stmt.predicate):
                stmt = stmt.block
            elif isinstance(stmt, s.For):
                return [*steps, self._loop(stmt)]
            elif isinstance(stmt, s.While):
                return [*steps, self._while(stmt)]
            elif isinstance(stmt, s.IfThenElse):
                return [*steps, self._condition(stmt)]
            else:
                return [*steps, _Step(stmt, self._of(stmt))]

    def _of(self, node: PrimExpr | s.Stmt) -> list[Access]:
        return list(accesses_in(node, self.scope)) if self.launches else []

    def _attribute(self, stmt: s.AttrStmt) -> list[_Step] | None:
        if stmt.attr_key == "thread_extent" and isinstance(stmt.node, e.IterVar):
            if self.launches == 0:
                self.threads, self.lives = [], Lives(lambda op: 0)
                self.lives.visit_stmt(stmt)
            dom = Range.from_min_extent(op.const(0, stmt.node.var.dtype), stmt.value)
            self.threads.append(
                e.IterVar(dom, stmt.node.var, stmt.node.iter_type, stmt.node.thread_tag)
            )
            if stmt.node.thread_tag.startswith("threadIdx"):
                self.varying.add(stmt.node.var)
            self.launches += 1
            steps = self._steps(stmt.body)
            self.launches -= 1
            if self.launches == 0:  # what a kernel does as a whole, by all of its threads
                self._summary(steps, None)
                steps = []
            return steps
        if stmt.attr_key == "double_buffer_write":
            steps = self._steps(stmt.body)
            for step in steps:
                step.accesses = [
                    replace(a, double_buffer_write=True)
                    if a.kind == WRITE and a.buffer is stmt.node
                    else a
                    for a in step.accesses
                ]
            return steps
        return None

    def _loop(self, stmt: s.For) -> _Step:
        dom = Range.from_min_extent(stmt.min, stmt.extent)
        apart = self._varies(stmt.min) or self._varies(stmt.extent)
        if apart:
            self.varying.add(stmt.loop_var)
            self.parted.append(stmt)
        self.loops.append((stmt.loop_var, dom))
        accesses = self._summary(self._steps(stmt.body), stmt)
        self.loops.pop()
        if apart:
            self.parted.pop()
        head = [*self._of(stmt.min), *self._of(stmt.extent)]
        return _Step(stmt, head + [over(access, stmt.loop_var, dom) for access in accesses])

    def _while(self, stmt: s.While) -> _Step:
        self.parted.append(stmt)
        accesses = self._summary(self._steps(stmt.body), None)
        self.parted.pop()
        return _Step(stmt, [*self._of(stmt.condition), *accesses])

    def _condition(self, stmt: s.IfThenElse) -> _Step:
        apart = self._varies(stmt.condition)
        if apart:
            self.parted.append(stmt)
        accesses = self._of(stmt.condition)
        around = self.single
        if apart:
            self.single |= one_left(self.threads, stmt.condition)
        inner = self._summary(self._steps(stmt.then_case), None)
        if self._one_is_left():
            inner = [replace(a, only=stmt.condition) for a in inner]
        accesses += inner
        self.single = around
        if stmt.else_case is not None:
            accesses += self._summary(self._steps(stmt.else_case), None)
        if apart:
            self.parted.pop()
        return _Step(stmt, accesses)

    def _one_is_left(self) -> bool:
        """Whether the conditions around leave one thread of a block."""
        own = [t for t in self.threads if t.thread_tag.startswith("threadIdx")]
        return bool(self.single) and all(
            t.var in self.single or (t.dom is not None and is_one(t.dom.extent)) for t in own
        )

    def _varies(self, expr: PrimExpr) -> bool:
        """Whether threads of a block may find different values."""
        nodes = walk(expr)
        for node in nodes:
            if e.is_call_of(node, "tir.tvm_thread_invariant"):
                return False
            if isinstance(node, e.BufferLoad) or (isinstance(node, e.Var) and node in self.varying):
                return True
        return False

    def _summary(self, steps: Sequence[_Step], loop: s.For | None) -> list[Access]:
        """What the steps access outside of their barriers, once those stand where they have to."""
        in_turn = self._in_turn if self.scope == "shared.dyn" else None
        conflicts = Conflicts(self.threads, self.loops, self.scope, self.single, in_turn)
        since: list[Access] = []  # since the last barrier
        before: set[int] = set()
        for step in steps:
            if self._clash(conflicts, since, step, None):
                self._put(step.site)
                before.add(id(step))
                since = []
            since = _after(since, step.accesses)
        if loop is not None:
            for step in steps:
                if id(step) in before:
                    break
                if self._clash(conflicts, since, step, loop):
                    self._put(step.site)
                    before.add(id(step))
                    break
                if any(a.kind == SYNC for a in step.accesses):
                    break
        return _ends(steps, before)

    def _clash(
        self, conflicts: Conflicts, since: list[Access], step: _Step, loop: s.For | None
    ) -> bool:
        for access in step.accesses:
            if access.kind == SYNC:
                return False  # what follows it is its own concern
            wanted = WRITE if access.kind == READ else READ
            for earlier in since:
                if earlier.kind == wanted and conflicts.between(earlier, access, loop):
                    return True
            # where threads part there can be no barrier: the program's own order stands
            if access.kind == WRITE and loop is None and not self.parted and self.blockwide:
                stores = (earlier for earlier in since if earlier.kind == WRITE)
                if any(conflicts.overwritten(earlier, access) for earlier in stores):
                    return True
        return False

    def _in_turn(self, earlier: e.Var | None, later: e.Var | None) -> bool:
        """Whether one memory may be of both, one after the other."""
        lives = [self.lives.entries.get(var) for var in (earlier, later) if var is not None]
        one, other = lives if len(lives) == 2 else (None, None)
        if one is None or other is None or one.first is None or other.first is None:
            return True
        return one.last < other.first or other.last < one.first

    def _put(self, site: s.Stmt) -> None:
        if self.parted:
            raise CheckError(
                message(
                    f"ThreadSync: a barrier for {self.scope} memory",
                    found="threads that may part before it, at\n" + str(self.parted[-1]),
                    where=str(site),
                    legal="conditions and extents that are the same for all threads of a block "
                    "(T.tvm_thread_invariant marks one that is)",
                )
            )
        if not any(site is known for known in self.sites):
            self.sites.append(site)


def _after(since: list[Access], accesses: list[Access]) -> list[Access]:
    """The accesses since the last barrier, after a statement with these."""
    for position in range(len(accesses) - 1, -1, -1):
        if accesses[position].kind == SYNC:
            return accesses[position + 1 :]
    return since + accesses


def _ends(steps: Sequence[_Step], before: set[int]) -> list[Access]:
    """The accesses before the first barrier and after the last, with a barrier between them."""
    line: list[Access] = []
    for step in steps:
        if id(step) in before:
            line.append(Access(SYNC))
        line += step.accesses
    barriers = [i for i, access in enumerate(line) if access.kind == SYNC]
    if not barriers:
        return line
    return [*line[: barriers[0]], Access(SYNC), *line[barriers[-1] + 1 :]]


class _Inserter(StmtExprMutator):
    """Puts the barriers."""

    def __init__(self, planner: _Planner) -> None:
        super().__init__()
        self.scope = planner.scope
        self.sites = {id(site) for site in planner.sites}
        self.threads: list[tuple[e.IterVar, PrimExpr]] = []

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key != "thread_extent" or not isinstance(op.node, e.IterVar):
            return super().visit_attr_stmt_(op)
        self.threads.append((op.node, op.value))
        new = super().visit_attr_stmt_(op)
        self.threads.pop()
        return new

    def visit_stmt(self, stmt: s.Stmt) -> s.Stmt:
        new = super().visit_stmt(stmt)
        if id(stmt) not in self.sites:
            return new
        return s.SeqStmt([s.Evaluate(self._barrier(), stmt.span), new], stmt.span)

    def _barrier(self) -> PrimExpr:
        args: list[PrimExpr] = [e.StringImm(self.scope)]
        if self.scope == "global":  # a barrier of all blocks: who leads, and how many there are
            first = [iv.var.equal(0) for iv, _ in self.threads if "threadIdx" in iv.thread_tag]
            blocks = [extent for iv, extent in self.threads if "blockIdx" in iv.thread_tag]
            args.append(reduce(op.all, first) if first else op.const(True, "bool"))
            args.append(reduce(lambda a, b: a * b, blocks) if blocks else op.const(1, "int32"))
        return e.Call("int32", "tir.tvm_storage_sync", args)
