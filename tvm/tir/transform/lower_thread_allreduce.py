"""A reduction over threads becomes shuffles within warps, or a tree in shared memory.

    with T.attr(T.comm_reducer(lambda x, y: x + y, [T.float32(0)]), "reduce_scope", ...):
        T.tvm_thread_allreduce(T.uint32(1), A[tx], True, r[0], tx)
    ->
        r[0] = A[tx]
        mask[0] = T.tvm_warp_activemask()
        t0[0] = T.tvm_warp_shuffle_down(mask[0], r[0], 16, 32, 32)
        r[0] = r[0] + t0[0]
        ...                                                      # 8, 4, 2, 1
        r[0] = T.tvm_warp_shuffle(mask[0], r[0], 0, 32, 32)

CUDA, ROCm and Metal have shuffles. More threads than a warp reduce in two rounds: within the warps,
and, by way of shared memory, over the warps. Elsewhere each thread puts its value into shared
memory, and half of the threads at a time add the other half's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NoReturn

from tvm.arith.analyzer import Analyzer
from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.support.dtype import DataType
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import op as ops
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, substitute, walk

from .pass_form import tir_pass

ALLREDUCE: Final = "tir.tvm_thread_allreduce"


@tir_pass("tir.LowerThreadAllreduce")
def LowerThreadAllreduce(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No reduction over threads is left; the function needs the attribute `target`."""
    target = func.attrs.get("target")
    if not isinstance(target, Target):
        _refuse("LowerThreadAllreduce", "a function without target", "functions after BindTarget")
    return func.with_body(_Lowerer(target).visit_stmt(func.body))


def _refuse(asked: str, found: str, legal: str, where: object = None) -> NoReturn:
    raise CheckError(message(asked, found=found, where=None if where is None else str(where),
                           legal=legal))  # fmt: skip


@dataclass
class _Reduction:
    """One reduction: its values, and how the threads of a block are numbered."""

    combiner: e.CommReducer
    values: list[PrimExpr]
    index: PrimExpr  # among the threads that reduce together
    extent: int
    group: PrimExpr  # which of the groups
    groups: int
    contiguous: int  # so many threads in a row reduce together

    @property
    def dtypes(self) -> list[DataType]:
        """The dtypes of the values."""
        return [value.dtype for value in self.values]

    def combined(self, a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> list[PrimExpr]:
        """What the reducer makes of two partial results."""
        known = dict(zip((*self.combiner.lhs, *self.combiner.rhs), (*a, *b)))
        return [substitute(one, known) for one in self.combiner.result]


@dataclass
class _Result:
    """The statements, what they allocate (innermost first), and where the results are."""

    stmts: list[s.Stmt]
    allocated: list[Buffer]
    loads: list[e.BufferLoad]


class _Lowerer(StmtExprMutator):
    def __init__(self, target: Target) -> None:
        super().__init__()
        self._target = target
        self._warp = int(target.attrs.get("thread_warp_size", 1))
        self._threads: list[s.AttrStmt] = []
        self._combiners: list[e.CommReducer] = []
        self._results: dict[e.Var, e.BufferLoad] = {}  # of results, by the memory that had them

    # --- what is around, and what is left of the results' memory ---

    def visit_attr_stmt_(self, op: s.AttrStmt) -> s.Stmt:
        if op.attr_key == "thread_extent":
            self._threads.append(op)
            new = super().visit_attr_stmt_(op)
            self._threads.pop()
            return new
        if op.attr_key == "reduce_scope" and isinstance(op.node, e.CommReducer):
            self._combiners.append(op.node)
            new = super().visit_attr_stmt_(op)
            self._combiners.pop()
            return new
        return super().visit_attr_stmt_(op)

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        new = super().visit_allocate_(op)
        load = self._results.get(op.buffer_var)
        if load is None or not isinstance(new, s.Allocate):
            return new
        memory, body = load.buffer, new.body
        if any(n is op.buffer_var for n in walk(body)):  # it had other uses before
            body = s.Allocate(
                op.buffer_var, op.dtype, new.extents, new.condition, body, op.annotations, op.span
            )
        if memory.scope() == "shared":
            body = s.AttrStmt(memory.data, "volatile_scope", 1, body, op.span)
        true = ops.const(True, "bool")
        return s.Allocate(
            memory.data, memory.dtype, memory.shape, true, body, op.annotations, op.span
        )

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> s.Stmt:
        body = self.visit_stmt(op.body)
        load = self._results.get(op.buffer.data)
        if load is not None:
            if any(getattr(n, "buffer", None) is op.buffer for n in walk(body)):
                body = s.DeclBuffer(op.buffer, body, op.span)
            return s.DeclBuffer(load.buffer, body, op.span)
        return op if body is op.body else s.DeclBuffer(op.buffer, body, op.span)

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        load = self._results.get(op.buffer.data)
        return super().visit_buffer_load_(op) if load is None else load

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        new = super().visit_buffer_store_(op)
        load = self._results.get(op.buffer.data)
        if load is None or not isinstance(new, s.BufferStore):
            return new
        return s.BufferStore(load.buffer, new.value, load.indices, new.predicate, op.span)

    # --- the reduction ---

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        call = op.value
        if not e.is_call_of(call, ALLREDUCE):
            return super().visit_evaluate_(op)
        if not self._combiners:
            _refuse(
                "lower a reduction over threads", "a call outside of a reduce_scope",
                'calls within T.attr(T.comm_reducer(...), "reduce_scope", ...)', op,
            )  # fmt: skip
        combiner = self._combiners[-1]
        count = len(combiner.identity_element)
        # a bool lies in a byte, and is a cast of it where buffers are flat
        places = [a.value if isinstance(a, e.Cast) and a.dtype.is_bool else a
                  for a in call.args[count + 2 : 2 * count + 2]]  # fmt: skip
        targets = [a for a in places if isinstance(a, e.BufferLoad)]
        first = call.args[0] if call.args else None
        if not isinstance(first, e.IntImm) or first.value != count or len(targets) != count:
            _refuse(
                "lower a reduction over threads", f"the call {call}",
                f"{count}, its values, a condition, elements for its results, threads", op,
            )  # fmt: skip
        known = [t.buffer.name for t in targets if t.buffer.data in self._results]
        if known:
            _refuse(
                "lower a reduction over threads", f"a second reduction into {known[0]}",
                "results that are reduced once", op,
            )  # fmt: skip
        reduction = self._reduction(combiner, call, count)
        if reduction.extent == 1:  # nothing to reduce
            return s.SeqStmt.flatten(
                [s.BufferStore(t.buffer, v, [_int(0)], span=op.span)
                 for t, v in zip(targets, reduction.values)]
            )  # fmt: skip
        if not self._by_shuffles(reduction):
            result = _in_shared_memory(reduction, self._partly_waiting())
        elif reduction.extent <= self._warp:
            result = self._in_a_warp(reduction)
        else:
            result = self._over_warps(reduction)
        for element, load in zip(targets, result.loads):
            self._results[element.buffer.data] = load
        body = s.SeqStmt.flatten(result.stmts)
        true = ops.const(True, "bool")
        for buffer in result.allocated:
            body = s.DeclBuffer(buffer, body)
            body = s.Allocate(buffer.data, buffer.dtype, buffer.shape, true, body)
        return body

    def _reduction(self, combiner: e.CommReducer, call: e.Call, count: int) -> _Reduction:
        args = [self.visit_expr(a) for a in call.args[1 : count + 2]]
        condition = args.pop()
        if not (isinstance(condition, e.IntImm) and condition.value == 1):
            args = [e.Select(condition, a, i) for a, i in zip(args, combiner.identity_element)]
        named = [_thread(a, call) for a in thread_args(call)]
        wanted = {var for var in named if var is not None}
        here = self._threads_of_block(call)
        missing = wanted - {var for var, _ in here.values()}
        if missing:
            _refuse(
                "lower a reduction over threads",
                f"thread {sorted(v.name for v in missing)[0]!r}, which is not launched around",
                "threads of the block that runs it", call,
            )  # fmt: skip
        several = [here[dim] for dim in sorted(here) if here[dim][1] != 1]
        contiguous = 1
        for var, extent in several:
            if var not in wanted:
                break
            contiguous *= extent
        index, extent = _flat([t for t in several if t[0] in wanted])
        group, groups = _flat([t for t in several if t[0] not in wanted])
        return _Reduction(combiner, args, index, extent, group, groups, contiguous)

    def _threads_of_block(self, call: e.Call) -> dict[str, tuple[e.Var, int]]:
        """Variable and extent of each thread around, by its tag."""
        found: dict[str, tuple[e.Var, int]] = {}
        for launch in self._threads:
            if not isinstance(launch.node, e.IterVar):
                continue
            tag = launch.node.thread_tag
            if tag.startswith("vthread"):
                _refuse(
                    "lower a reduction over threads", f"virtual thread {launch.node.var.name!r}",
                    "threads of a block, after InjectVirtualThread", call,
                )  # fmt: skip
            if not tag.startswith("threadIdx"):
                continue
            if not isinstance(launch.value, e.IntImm):
                _refuse(
                    "lower a reduction over threads", f"{launch.value} threads of {tag}",
                    "extents that are constant", call,
                )  # fmt: skip
            found[tag] = (launch.node.var, launch.value.value)
        return found

    def _by_shuffles(self, one: _Reduction) -> bool:
        """Whether the target's shuffles can do it."""
        shuffles = self._target.kind.traits.shuffles
        if shuffles is None or not all(_can_shuffle(dtype) for dtype in one.dtypes):
            return False
        if shuffles.words_only and any(d.bits * d.lanes != 32 for d in one.dtypes):
            return False
        if one.contiguous != one.extent:
            return False
        if shuffles.whole_warps:
            return one.extent == self._warp
        limit = int(self._target.attrs.get("max_num_threads", -1))
        if self._warp % one.extent == 0:
            return True
        if one.extent % self._warp == 0 and limit != -1 and limit <= self._warp * self._warp:
            return True
        return one.groups == 1 and one.extent <= self._warp

    def _partly_waiting(self) -> int:
        """Threads of which some may wait for each other while the others do not."""
        shuffles = self._target.kind.traits.shuffles
        whole = shuffles is not None and not (shuffles.masked or shuffles.whole_warps)
        return 1 if whole else self._warp

    def _in_a_warp(self, one: _Reduction) -> _Result:
        """All that reduce together are in one warp."""
        mask = self._mask()
        round_ = self._round(one, one.values, one.extent, mask, None)
        # every thread has the result, so all may store it
        kept = round_.allocated[-1] if mask is not None else None
        for load in round_.loads:
            value = self._shuffle("tvm_warp_shuffle", kept, load, one.extent * one.group)
            round_.stmts.append(s.BufferStore(load.buffer, value, [_int(0)]))
        return round_

    def _over_warps(self, one: _Reduction) -> _Result:
        """Each warp reduces, then one of them what all have found."""
        warps = one.extent // self._warp
        staging = [
            decl_buffer([_int(warps * one.groups)], str(d), "red_buf_staging", scope="shared")
            for d in one.dtypes
        ]
        mask = self._mask()
        within = self._round(one, one.values, self._warp, mask, None)
        slot = one.group * warps + ops.floordiv(one.index, self._warp)
        leads = ops.floormod(one.index, self._warp).equal(0)
        put = [s.BufferStore(b, p, [slot]) for b, p in zip(staging, within.loads)]
        between = [s.IfThenElse(leads, s.SeqStmt.flatten(put)), _barrier("shared")]
        values: list[PrimExpr] = [
            e.BufferLoad(b, [one.group * warps + one.index]) for b in staging
        ]
        over = self._round(one, values, warps, mask, one.index < warps)
        results = [
            decl_buffer([_int(one.groups)], str(d), "red_result", scope="shared")
            for d in one.dtypes
        ]
        give = [s.BufferStore(b, p, [one.group]) for b, p in zip(results, over.loads)]
        last = [s.IfThenElse(one.index.equal(0), s.SeqStmt.flatten(give)), _barrier("shared")]
        allocated = list(staging)
        for part in (within, over):
            allocated += [*part.allocated, *[load.buffer for load in part.loads]]
        return _Result(
            [*within.stmts, *between, *over.stmts, *last],
            allocated,
            [e.BufferLoad(b, [one.group]) for b in results],
        )

    def _round(
        self,
        one: _Reduction,
        values: Sequence[PrimExpr],
        extent: int,
        mask: PrimExpr | None,
        predicate: PrimExpr | None,
    ) -> _Result:
        """Reduce over `extent` lanes of a warp; the first of them has the result."""
        zero = _int(0)
        kept = [
            decl_buffer([1], str(v.dtype), f"red_buf{i}", scope="local")
            for i, v in enumerate(values)
        ]
        others = [
            decl_buffer([1], str(v.dtype), f"t{i}", scope="local") for i, v in enumerate(values)
        ]
        allocated = list(others)
        stmts: list[s.Stmt] = []
        for buffer, value in zip(kept, values):
            put: s.Stmt = s.BufferStore(buffer, value, [zero])
            stmts.append(put if predicate is None else s.IfThenElse(predicate, put))
        cached = None
        if mask is not None:
            cached = decl_buffer([1], "uint32", "mask", scope="local")
            stmts.append(s.BufferStore(cached, mask, [zero]))
            allocated.append(cached)
        own = [e.BufferLoad(b, [zero]) for b in kept]
        offset = 1
        while offset * 2 < extent:
            offset *= 2
        while offset > 0:
            # shuffles stand for themselves: within a condition not all lanes would take part
            for buffer, load in zip(others, own):
                moved = self._shuffle("tvm_warp_shuffle_down", cached, load, _int(offset))
                stmts.append(s.BufferStore(buffer, moved, [zero]))
            combined = one.combined(own, [e.BufferLoad(b, [zero]) for b in others])
            stores = [s.BufferStore(b, v, [zero]) for b, v in zip(kept, combined)]
            if offset * 2 > extent:  # lanes beyond the last have nothing to give
                fits = one.index + offset < extent
                stmts.append(s.IfThenElse(fits, s.SeqStmt.flatten(stores)))
            else:
                stmts += stores
            offset //= 2
        return _Result(stmts, allocated, own)

    def _mask(self) -> PrimExpr | None:
        shuffles = self._target.kind.traits.shuffles
        assert shuffles is not None, "the caller looked"
        return ops.tvm_warp_activemask() if shuffles.masked else None

    def _shuffle(
        self, name: str, mask: Buffer | None, value: PrimExpr, which: PrimExpr
    ) -> PrimExpr:
        lanes = _int(0) if mask is None else e.BufferLoad(mask, [_int(0)])
        width = _int(self._warp)
        return e.Call(value.dtype, f"tir.{name}", [lanes, value, which, width, width])


def _in_shared_memory(one: _Reduction, warp: int) -> _Result:
    """A tree of sums in shared memory."""
    analyzer = Analyzer()

    def at(index: PrimExpr) -> PrimExpr:
        if isinstance(one.group, e.IntImm):
            return index
        return analyzer.simplify(one.group * one.extent + index)

    buffers = [
        decl_buffer([_int(one.groups * one.extent)], str(d), f"red_buf{i}", scope="shared")
        for i, d in enumerate(one.dtypes)
    ]
    slot = at(one.index)

    def sums(offset: int) -> list[PrimExpr]:
        mine = [e.BufferLoad(b, [slot]) for b in buffers]
        return one.combined(mine, [e.BufferLoad(b, [at(one.index + offset)]) for b in buffers])

    def put(values: Sequence[PrimExpr]) -> list[s.Stmt]:
        return [s.BufferStore(b, v, [slot]) for b, v in zip(buffers, values)]

    # the first barrier is for threads that still read what an earlier round left
    stmts = [_barrier("shared"), *put(one.values), _barrier("shared")]
    reach = 1
    while reach < one.extent:
        reach *= 2
    if reach > one.extent:
        reach //= 2
        beyond = one.index < one.extent - reach
        stmts += [s.IfThenElse(beyond, s.SeqStmt.flatten(put(sums(reach)))), _barrier("shared")]
    in_line = one.groups == 1 or one.contiguous % warp == 0
    while reach > 1 and (reach > one.contiguous or reach > warp or not in_line):
        reach //= 2
        half = one.index < reach
        stmts += [s.IfThenElse(half, s.SeqStmt.flatten(put(sums(reach)))), _barrier("shared")]
    if reach > 1:  # the remaining steps are within one warp
        half = one.index < reach // 2
        steps: list[s.Stmt] = []
        while reach > 1:
            reach //= 2
            found = sums(reach)
            # threads write what others read: all read before any writes
            names = [e.Var(f"w_{reach}_{i}", v.dtype) for i, v in enumerate(found)]
            step = s.SeqStmt.flatten(_barrier("warp"), put(names), _barrier("warp"))
            for name, value in zip(names, found):
                step = s.LetStmt(name, value, step)
            steps.append(step)
        stmts += [s.IfThenElse(half, s.SeqStmt.flatten(steps)), _barrier("shared")]
    return _Result(stmts, [], [e.BufferLoad(b, [at(_int(0))]) for b in buffers])


def thread_args(call: e.Call) -> Sequence[PrimExpr]:
    """The last arguments of a reduction: the threads that reduce together."""
    count = call.args[0]
    assert isinstance(count, e.IntImm), "a reduction begins with the number of its values"
    return tuple(call.args[2 * count.value + 2 :])


def _thread(arg: PrimExpr, call: e.Call) -> e.Var | None:
    """The thread that an argument names, in whatever width; a thread alone on its axis is 0."""
    while isinstance(arg, e.Cast):
        arg = arg.value
    if isinstance(arg, e.Var):
        return arg
    if not isinstance(arg, e.IntImm) or arg.value != 0:
        _refuse(
            "lower a reduction over threads", f"{arg} where a thread is named",
            "variables of threads, or 0 for an axis of one thread", call,
        )  # fmt: skip
    return None


def _can_shuffle(dtype: DataType) -> bool:
    if str(dtype.element_of()) == "float16":
        return dtype.lanes <= 2
    return dtype.lanes == 1 and dtype.bits in (32, 64)


def _flat(threads: Sequence[tuple[e.Var, int]]) -> tuple[PrimExpr, int]:
    """The number of a thread among all of these, and how many there are; the first moves first."""
    total = 1
    index: PrimExpr = _int(0)
    for position, (var, extent) in enumerate(threads):
        index = index + var * total if position else var
        total *= extent
    return index, total


def _int(value: int) -> e.IntImm:
    return e.IntImm("int32", value)


def _barrier(scope: str) -> s.Stmt:
    return s.Evaluate(e.Call("int32", "tir.tvm_storage_sync", [e.StringImm(scope)]))
