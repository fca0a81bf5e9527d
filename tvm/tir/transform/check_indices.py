"""Indices that come from data are checked before any element they name is accessed.

    for i in T.parallel(1000):                 for i in T.parallel(1000):
        for v in T.vectorized(16):                 if a quick look at I[i, 0:16] fails:
            B[i, v] = A[I[i, v]]       ->              for v in range(16): assert 0 <= I[i, v] < 64
                                                   for v in T.vectorized(16):
                                                       B[i, v] = A[I[i, v]]

A check stands outside of all loops that its index does not depend on. It covers a block of indices
at once, for which loops over single ones are taken in blocks. Where data says where to write, the
check stands ahead of the whole loop nest: nothing is written before, unless the function has
overwritten by then what was there. What is provably within its buffer is not checked, nor is what
a condition keeps inside. A target with `-unsafe-indices` goes without.

An element that is found by one number, as in out[(i * 64 + I[i, k]) // 64, ... % 64], would still
lie within the buffer when I[i, k] is 64; so there it is the remainder that is checked.
"""

from __future__ import annotations

import math

from tvm.error import message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.span import Span
from tvm.ir.transform import PassContext
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.buffer_facts import Written, assumed
from tvm.tir.analysis.data_flow import DataFlow
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.analysis.lasting_fact import lasting_fact
from tvm.tir.analysis.overwritten import memory_touched, overwritten
from tvm.tir.buffer import Buffer
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, expr_children, statements, substitute, walk
from tvm.tir.op import arith as ops
from tvm.tir.op import builtin
from tvm.tir.op.forms import terms_of

from .analyzed_mutator import AnalyzedMutator, as_fact
from .index_blocks import in_blocks, iterations_of_a_block, lanes_of_a_look
from .index_check import IndexCheck, checking, with_body
from .index_look import MIN_LANES
from .pass_form import tir_pass


@tir_pass("tir.CheckIndices")
def CheckIndices(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """No access by an index from data leaves its buffer."""
    if ctx.option("tir.instrument_bound_checkers", False):
        return func  # which looks at each access by itself
    target = func.attrs.get("target")
    if isinstance(target, Target) and not _is_checked(target):
        return func
    flow = DataFlow(func)
    if not flow.reaches_an_index:
        return func
    name = next((v.name_hint for v, f in mod.functions.items() if f is func), "")
    checker = _Checker(func, flow, str(func.attrs.get("global_symbol") or name))
    return func.with_body(checker.checked(func.body))


def _lanes(func: PrimFunc) -> int:
    """How many numbers of 32 bits an instruction of the target compares."""
    target = func.attrs.get("target")
    if not isinstance(target, Target) or not target.kind.traits.machine_code:
        return MIN_LANES
    return max(MIN_LANES, target.cpu.vector_bits // 32)


def _is_checked(target: Target) -> bool:
    """Targets have an option that switches the checks off, or no checks."""
    option = "unsafe-indices"
    return option in target.kind.options and not target.attrs.get(option)


class _Checker(AnalyzedMutator):
    """Collects the checks of each statement, and lets them rise until something holds them."""

    def __init__(self, func: PrimFunc, flow: DataFlow, name: str) -> None:
        super().__init__(func)
        self._flow = flow
        self._name = name
        self._lanes = _lanes(func)
        self._span = func.span
        self._rising: list[IndexCheck] = []
        self._lets: dict[e.Var, PrimExpr] = {}
        self._fresh: frozenset[e.Var] = frozenset()  # memory that the function has overwritten
        self._touched: set[e.Var] = set()
        # an argument may be another one as well, unless the function says that none is
        alone = bool(func.attrs.get("tir.noalias", False))
        self._scattered = alone and any(
            flow.decides(node.indices)
            for node in statements(func.body, s.BufferStore)
        )

    def checked(self, body: s.Stmt) -> s.Stmt:
        """The body of the function with its checks."""
        if isinstance(body, s.BlockRealize):  # the root stays the root
            return _with_block_body(body, self.checked(body.block.body))
        body = self.visit_stmt(body)
        return _ahead(self._rising, body)

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    # --- where checks stop rising ---

    def _inside(self, stmt: s.Stmt) -> tuple[s.Stmt, list[IndexCheck]]:
        """A visited statement, and the checks that rise out of it."""
        before, self._rising = self._rising, []
        new = self.visit_stmt(stmt)
        found, self._rising = self._rising, before
        return new, found

    def visit_seq_stmt_(self, op: s.SeqStmt) -> s.Stmt:
        parts: list[s.Stmt] = []
        entered = []
        written: list[Written] = []
        fresh = self._fresh
        for position, part in enumerate(op.seq):
            new, checks = self._inside(part)
            held = [c for c in checks if any(c.depends_on(w) for w in written)]
            self._rising += [c for c in checks if c not in held]
            parts.append(_ahead(held, new))
            written.append(Written(part))
            self._overwrite(part)
            condition = assumed(part)
            if condition is not None:
                fact = lasting_fact(condition, *op.seq[position + 1 :])
                entered.append(self.analyzer.enter(fact))
        for one in reversed(entered):
            self.analyzer.leave(one)
        self._fresh = fresh
        if all(old is new for old, new in zip(op.seq, parts)):
            return op
        return s.SeqStmt.flatten(parts)

    def _overwrite(self, stmt: s.Stmt) -> None:
        """What held a buffer before, nobody can see any more."""
        if self._scattered:
            buffer = overwritten(stmt)
            if buffer is not None and buffer.data not in self._touched:
                self._fresh = self._fresh | {buffer.data}
            self._touched |= memory_touched(stmt)

    def visit_for_(self, op: s.For) -> s.Stmt:
        self._look([op.min, op.extent], op.span)
        self.bind_range(op)
        body, checks = self._inside(op.body)
        if not checks:
            return op if body is op.body else with_body(op, body)
        written, jumps = Written(op.body), _jumps(op.body)
        held = [check for check in checks if jumps or check.depends_on(written)]
        free = [check for check in checks if check not in held]
        together = [c for c in free if op.loop_var in c.uses and c.covers()]
        lanes = lanes_of_a_look(op.body, together, self._lanes)
        count = iterations_of_a_block(op, together, lanes)
        if count > 1:
            free = [check for check in free if check not in together]
        for check in free:
            risen = check.out_of(op, self.analyzer)
            (held if risen is None else self._rising).append(risen or check)
        body = _ahead(held, body)
        if count > 1:
            return in_blocks(op, count, lanes, together, body, _ahead)
        return with_body(op, body)

    def visit_while_(self, op: s.While) -> s.Stmt:
        body, checks = self._inside(op.body)
        before = len(self._rising)
        self._look([op.condition], op.span)  # once ahead of the loop, and after each round
        again = self._rising[before:]
        body = _ahead(checks, body)
        if again:
            body = s.SeqStmt.flatten(body, checking(again))
        return op if body is op.body else with_body(op, body)

    def visit_let_stmt_(self, op: s.LetStmt) -> s.Stmt:
        self._look([op.value], op.span)
        if self._flow.from_data(op.value):
            self._lets[op.var] = substitute(op.value, self._lets) if self._lets else op.value
        if op.value.dtype.is_int and op.value.dtype.is_scalar:
            self.analyzer.update(op.var, self.analyzer.const_int_bound(op.value), True)
        body, checks = self._inside(op.body)
        held = [c for c in checks if op.var in c.uses]
        self._rising += [c for c in checks if op.var not in c.uses]
        body = _ahead(held, body)
        return op if body is op.body else with_body(op, body)

    def _leave(self, checks: list[IndexCheck], condition: PrimExpr, stmt: s.Stmt) -> s.Stmt:
        """Checks rise out of a branch, if the condition can be looked at before it is checked."""
        if not self._is_nested(condition):
            self._rising += [check.under(condition) for check in checks]
            return stmt
        return _ahead(checks, stmt)

    def _is_nested(self, expr: PrimExpr) -> bool:
        """An element is read whose index comes from data."""
        loads = (node for node in walk(expr) if isinstance(node, e.BufferLoad))
        return any(self._flow.decides(load.indices) for load in loads)

    def visit_if_then_else_(self, op: s.IfThenElse) -> s.Stmt:
        self._look([op.condition], op.span)
        fact = as_fact(op.condition)
        opposite = ops.logical_not(fact)
        with self.analyzer.constraint_scope(lasting_fact(fact, op.then_case)):
            then_case, checks = self._inside(op.then_case)
        then_case = self._leave(checks, fact, then_case)
        else_case = op.else_case
        if else_case is not None:
            with self.analyzer.constraint_scope(lasting_fact(opposite, else_case)):
                else_case, checks = self._inside(else_case)
            else_case = self._leave(checks, opposite, else_case)
        if then_case is op.then_case and else_case is op.else_case:
            return op
        return s.IfThenElse(op.condition, then_case, else_case, op.span)

    def visit_block_realize_(self, op: s.BlockRealize) -> s.Stmt:
        self._look([*op.iter_values, op.predicate], op.span)
        with self.analyzer.constraint_scope(op.predicate):
            body, checks = self._inside(op.block.body)
        made = {buffer.data for buffer in op.block.alloc_buffers}
        held = [c for c in checks if c.reads & made]
        always = ops.is_one(op.predicate)
        self._rising += [
            c if always else c.under(op.predicate) for c in checks if not c.reads & made
        ]
        body = _ahead(held, body)
        if body is op.block.body:
            return op
        return _with_block_body(op, body)

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        return self._scope(op, op.buffer_var)

    def visit_allocate_const_(self, op: s.AllocateConst) -> s.Stmt:
        return self._scope(op, op.buffer_var)

    def visit_decl_buffer_(self, op: s.DeclBuffer) -> s.Stmt:
        return self._scope(op, op.buffer.data)

    def _scope(self, op: s.Allocate | s.AllocateConst | s.DeclBuffer, data: e.Var) -> s.Stmt:
        """Statements that read this memory follow the one that fills it."""
        body, checks = self._inside(op.body)
        held = [c for c in checks if data in c.reads]
        self._rising += [c for c in checks if data not in c.reads]
        body = _ahead(held, body)
        return op if body is op.body else with_body(op, body)

    # --- where checks come from ---

    def visit_buffer_store_(self, op: s.BufferStore) -> s.Stmt:
        self._look([op.value], op.span)
        self._look(list(op.indices), op.span, stores=op.buffer.data not in self._fresh)
        kept = op.buffer.data not in self._fresh
        self._access(op.buffer, op.indices, op.span, None, stores=kept)
        return op

    def visit_evaluate_(self, op: s.Evaluate) -> s.Stmt:
        self._look([op.value], op.span)
        return op

    def visit_assert_stmt_(self, op: s.AssertStmt) -> s.Stmt:
        self._look([op.condition], op.span)
        with self.analyzer.constraint_scope(lasting_fact(op.condition, op.body)):
            body, checks = self._inside(op.body)
        body = _ahead(checks, body)  # what was asserted may be why an index is right
        return op if body is op.body else with_body(op, body)

    def _look(self, exprs: list[PrimExpr], span: Span | None, stores: bool = False) -> None:
        """Find the loads in expressions, each under the condition that guards it.

        What an index is read from is checked before the index.
        """
        stack: list[tuple[PrimExpr, PrimExpr | None]] = [(x, None) for x in reversed(exprs)]
        seen: list[e.BufferLoad] = []  # their own indices have been looked at
        while stack:
            node, guard = stack.pop()
            if isinstance(node, e.BufferLoad) and self._flow.decides(node.indices):
                if seen and seen[-1] is node:
                    seen.pop()
                    self._access(node.buffer, node.indices, node.span or span, guard, stores)
                else:
                    seen.append(node)
                    stack.append((node, guard))
                    stack += [(index, guard) for index in reversed(node.indices)]
                continue
            if isinstance(node, e.And):
                stack += [(node.b, _both(guard, node.a)), (node.a, guard)]
            elif isinstance(node, e.Or):
                stack += [(node.b, _both(guard, ops.logical_not(node.a))), (node.a, guard)]
            elif isinstance(node, e.Select):
                stack += _sides(node.condition, node.true_value, node.false_value, guard)
            elif e.is_call_of(node, "tir.if_then_else"):
                assert isinstance(node, e.Call), "it has an operator"
                stack += _sides(as_fact(node.args[0]), node.args[1], node.args[2], guard)
            elif not isinstance(node, e.Let):  # its variable is not known outside of it
                stack += [(child, guard) for child in reversed(expr_children(node))]

    def _access(
        self,
        buffer: Buffer,
        indices: tuple[PrimExpr, ...],
        span: Span | None,
        guard: PrimExpr | None,
        stores: bool,
    ) -> None:
        if not self._flow.decides(indices):
            return
        with self.analyzer.constraint_scope(guard if guard is not None else ops.const(True)):
            for axis, (index, extent) in enumerate(zip(indices, buffer.shape)):
                if self._flow.from_data(index) and index.dtype.is_scalar:
                    self._axis(buffer, axis, index, extent, span, guard, stores)

    def _axis(
        self,
        buffer: Buffer,
        axis: int,
        index: PrimExpr,
        extent: PrimExpr,
        span: Span | None,
        guard: PrimExpr | None,
        stores: bool,
    ) -> None:
        expr = substitute(index, self._lets) if self._lets else index
        for value, limit in self._parts(expr, extent):
            inside = self._unproved(value, limit)
            if inside is None:
                continue
            named = axis
            if limit is not extent:  # the axis that a digit stands for has its extent
                axes = range(axis, len(buffer.shape))
                same = (a for a in axes if self.analyzer.can_prove_equal(buffer.shape[a], limit))
                named = next(same, axis)
            note = self._note(buffer, named, value, limit, span)
            made = IndexCheck.of(
                inside, note, stores, span, self._is_nested(inside), self._lanes
            )
            check = made if guard is None else made.under(guard)
            if not any(check.same(known) for known in self._rising):
                self._rising.append(check)

    def _parts(self, index: PrimExpr, extent: PrimExpr) -> list[tuple[PrimExpr, PrimExpr]]:
        """What has to lie within which extent, for the index to be the one that is meant."""
        if isinstance(index, (e.FloorDiv, e.FloorMod)) and self._flow.from_data(index.a):
            found = self._digit(index.a, index.b)
            if found is not None:
                return found
        return [(index, extent)]

    def _digit(self, number: PrimExpr, base: PrimExpr) -> list[tuple[PrimExpr, PrimExpr]] | None:
        """Of s * unit + remainder: the remainder, without the factor of inner terms.

        The unit, below which the remainder has to be, is a multiple of the base: rows of 12 may be
        read as three of 4, and an index of 7 within the row is none beyond the four.
        """
        remainder: list[PrimExpr] = []
        moved: list[PrimExpr] = []
        for term in terms_of(number, e.Add):
            if ops.is_zero(term):
                continue  # which moves nothing
            whole = self.analyzer.can_prove_equal(ops.floormod(term, base), 0)
            if whole and not any(isinstance(node, e.BufferLoad) for node in walk(term)):
                moved.append(term)
            elif not whole or not self._flow.from_data(term):
                remainder.append(term)
        if not moved:
            return None
        data = [t for t in remainder if self._flow.from_data(t)]
        if not data:
            return []
        unit = self._unit(moved, base)
        factor = data[0].b if len(data) == 1 and isinstance(data[0], e.Mul) else None
        if factor is not None and not self._flow.from_data(factor):
            inner = ops.const(0, number.dtype)
            for term in remainder:
                inner = inner if term is data[0] else ops.add(inner, term)
            fits = self.analyzer.can_prove_equal(ops.floormod(unit, factor), 0)
            if fits and self.analyzer.can_prove(ops.less(inner, factor)):
                assert isinstance(data[0], e.Mul), "it has a factor"
                return [(data[0].a, ops.floordiv(unit, factor))]
        total = remainder[0]
        for term in remainder[1:]:
            total = ops.add(total, term)
        return [(total, unit)]

    def _unit(self, moved: list[PrimExpr], base: PrimExpr) -> PrimExpr:
        """What all terms that are no part of the remainder count: a multiple of the base."""
        units: list[PrimExpr] = []
        for term in moved:
            if isinstance(term, e.IntImm):
                continue  # where the first row lies says nothing of its length
            while isinstance(term, e.Cast):
                term = term.value
            sides = (term.b, term.a) if isinstance(term, e.Mul) else ()
            whole = (x for x in sides if self.analyzer.can_prove_equal(ops.floormod(x, base), 0))
            units.append(next(whole, base))
        known = [unit.value for unit in units if isinstance(unit, e.IntImm)]
        if units and len(known) == len(units):
            return ops.const(math.gcd(*known), base.dtype)
        same = units and all(self.analyzer.can_prove_equal(unit, units[0]) for unit in units)
        return units[0] if same else base

    def _unproved(self, index: PrimExpr, extent: PrimExpr) -> PrimExpr | None:
        """What is to be checked; None if it is known to hold."""
        extent = ops.cast(extent, index.dtype)
        conditions = [ops.greater_equal(index, ops.const(0, index.dtype)), ops.less(index, extent)]
        unknown = [c for c in conditions if not self.analyzer.can_prove(c)]
        return ops.all(*unknown) if unknown else None

    def _note(
        self, buffer: Buffer, axis: int, index: PrimExpr, extent: PrimExpr, span: Span | None
    ) -> PrimExpr:
        """The error: which operator, where from, which axis, value and bound."""
        loads = _outer_loads(index)
        shown, low = index, "0"
        source = loads[0] if loads and len({x.buffer for x in loads}) == 1 else None
        values: list[PrimExpr] = []
        if source is not None and source is not index and source.dtype.is_int:
            shown, low = self._as_given(index, source, extent)
        found = "{}" if source is None else f"{{}}, by {_plain(source.buffer.name)}"
        values.append(shown)
        if isinstance(extent, e.IntImm):
            most, least = str(extent.value), f"-{extent.value}"
        else:
            most, least = "{}", "-{}"
        legal = f"{low if low == '0' else least} <= index < {most}"
        values += [extent] * (legal.count("{}"))
        origin = span or self._span
        text = message(
            f"{_plain(self._name)}: index on axis {axis} of {_plain(buffer.name)}",
            found=found,
            where=None if origin is None else _plain(str(origin)),
            legal=legal,
        )
        return builtin.tvm_tuple(e.StringImm(f"BoundsError: {text}"), *values)

    def _as_given(
        self, index: PrimExpr, source: e.BufferLoad, extent: PrimExpr
    ) -> tuple[PrimExpr, str]:
        """The index as the data has it, where negative ones count from the end."""
        last = _with_load(index, source, ops.const(-1, source.dtype))
        if last is not None and self.analyzer.can_prove_equal(last, ops.subtract(extent, 1)):
            return source, "-"
        return index, "0"


def _with_block_body(op: s.BlockRealize, body: s.Stmt) -> s.BlockRealize:
    return s.BlockRealize(op.iter_values, op.predicate, with_body(op.block, body), op.span)


class _LoadReplacer(StmtExprMutator):
    """Replaces one load by a value."""

    def __init__(self, load: e.BufferLoad, value: PrimExpr) -> None:
        super().__init__()
        self._load = load
        self._value = value

    def visit_buffer_load_(self, op: e.BufferLoad) -> PrimExpr:
        return self._value if expr_deep_equal(op, self._load) else op


def _outer_loads(index: PrimExpr) -> list[e.BufferLoad]:
    """The loads that are not made to find another."""
    found: list[e.BufferLoad] = []
    stack = [index]
    while stack:
        node = stack.pop()
        if isinstance(node, e.BufferLoad):
            found.append(node)
        else:
            stack += expr_children(node)
    return found


def _with_load(index: PrimExpr, load: e.BufferLoad, value: PrimExpr) -> PrimExpr | None:
    """The index if the load had a value; None where it reads several elements."""
    new = _LoadReplacer(load, value).visit_expr(index)
    return None if any(isinstance(node, e.BufferLoad) for node in walk(new)) else new


def _plain(name: str) -> str:
    """A name that cannot be bound to a value."""
    return name.replace("{}", "{ }")


def _ahead(checks: list[IndexCheck], stmt: s.Stmt) -> s.Stmt:
    return s.SeqStmt.flatten(checking(checks), stmt) if checks else stmt


def _jumps(body: s.Stmt) -> bool:
    """Some iterations may not run."""
    names = ("tir.break_loop", "tir.continue_loop", "tir.ret")
    return any(e.op_name(n) in names for n in walk(body))


def _both(guard: PrimExpr | None, condition: PrimExpr) -> PrimExpr:
    return condition if guard is None else ops.logical_and(guard, condition)


def _sides(
    condition: PrimExpr, x: PrimExpr, y: PrimExpr, guard: PrimExpr | None
) -> list[tuple[PrimExpr, PrimExpr | None]]:
    """The condition of a choice, and its sides under it."""
    return [
        (y, _both(guard, ops.logical_not(condition))),
        (x, _both(guard, condition)),
        (condition, guard),
    ]
