"""Statements to C text.

Statements are worked off from an explicit stack, so neither long sequences nor deep nests need
Python recursion: a visit appends lines and pushes what is to follow (a statement, or a step that
closes what the visit opened).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from tvm.backend.c_family.code import ADD, ATOM, UNARY, Code
from tvm.backend.c_family.expr import Rule
from tvm.backend.c_family.unmasked import refuse_predicate
from tvm.backend.host_functions import (
    callee_of,
    constant_data,
    error_words,
    refuse_threads,
)
from tvm.backend.operands import require_run_once
from tvm.error import CheckError
from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.effects import has_effect
from tvm.tir.functor import StmtExprMutator, walk
from tvm.tir.transform.lower_workspaces import ON_FAILURE
from tvm.tir.transform.outline_parallel_loops import is_own_memory
from tvm.tir.transform.stack_memory import checked_stack_bytes

from .constants import constant_text
from .expr import ExprEmitter, is_text
from .function_text import FunctionText
from .intrinsics import INTRINSICS
from .types import element_bytes, memory_type, string_literal, value_type


@dataclass
class Failure:
    """What is to be done where something fails, and then what is around it."""

    outer: Failure | None
    label: str | None = None  # of the lines that do it, once something jumps there


class StmtEmitter(ExprEmitter):
    """Turns the body of a function into lines of C."""

    RULES: ClassVar[Mapping[str, Rule]] = INTRINSICS

    def __init__(self, out: FunctionText) -> None:
        super().__init__(out)
        self.roots: set[e.Var] = set()  # pointers that nothing else in scope points into
        self._loops = 0  # around the statement at hand
        self._failure: Failure | None = None
        self._returned = False

    def begin_statement(self) -> None:
        self._returned = False

    def close(self) -> None:
        """End the function with success."""
        if not self._returned:
            self.leave(Code("0") if self.out.signature.fallible else None)
        self.out.finish()

    # --- leaving and failing ---

    def leave(self, value: Code | None) -> None:
        """Return from the function."""
        if self.out.signature.result == "void":
            self.out.line("return;")
        else:
            self.out.line(f"return {'0' if value is None else value};")
        self._returned = self.out.indent == 1

    def failure(self) -> str:
        """A statement that returns a failure."""
        if self._failure is not None:
            self._failure.label = self._failure.label or self.out.fresh("fail")
            return f"goto {self._failure.label};"
        signature = self.out.signature
        status = "-1" if signature.fallible else "" if signature.result == "void" else "0"
        return f"return {status};".replace(" ;", ";")

    def check(self, call: str) -> None:
        """Call a function with a status; its failure is passed on."""
        self.out.line(f"if ({call} != 0) {self.failure()}")

    # --- plain statements ---

    def evaluate(self, value: PrimExpr) -> None:
        if value.dtype.is_vector:
            with self.lanes(value.dtype) as lane:
                self._do(value, self.lane_of(value, lane))
            return
        depends = self._in_order
        self._in_order = depends or _nested_effects(value)
        made = self.visit_expr(value)
        self._in_order = depends
        self._do(value, made)

    def _do(self, value: PrimExpr, made: Code) -> None:
        if made not in ("", "0"):
            self.out.line(self.discard(value, made))

    def visit_buffer_store_(self, op: s.BufferStore) -> None:
        refuse_predicate(op)
        if op.value.dtype.is_vector:
            self._vector_store(op)
            return
        before = self._in_order
        self._in_order = before or has_effect(op.value)
        value = self.visit_expr(op.value)
        self._in_order = before
        self._store_lane(op, value, None)

    def _store_lane(self, op: s.BufferStore, value: Code, lane: str | None) -> None:
        index = self.element_index(op.buffer, op.indices, lane)
        pointer = self.known(op.buffer.data)
        if pointer in self.out.params:
            self.out.read(pointer)  # a variable that is only written counts as unread
        self.out.line(f"{self.element(op.buffer, index)} = {value};")

    def _vector_store(self, op: s.BufferStore) -> None:
        """All lanes are read before the first is written, where that may matter."""
        op = self._hoisted(op)
        dtype = op.value.dtype
        if self._reads_elsewhere(op):
            name = self.in_array(op.value, "lanes")
            self.out.read(name)
            with self.lanes(dtype) as lane:
                self._store_lane(op, Code(f"{name}[{lane}]"), lane)
            return
        with self.lanes(dtype) as lane:
            self._store_lane(op, self.lane_of(op.value, lane), lane)

    def _hoisted(self, op: s.BufferStore) -> s.BufferStore:
        """The store with calls that have effects made once, before the loop over lanes."""
        if not has_effect(op.value):
            return op
        found: dict[PrimExpr, e.Var] = {}
        for node in walk(op.value):
            if isinstance(node, e.Broadcast) and has_effect(node.value):
                var = e.Var("t", node.value.dtype)
                self.values[var] = self.temp(var.dtype, self.value(node.value))
                found[node.value] = var
        if not found:
            return op
        value = _replaced(op.value, found)
        return s.BufferStore(op.buffer, value, op.indices, span=op.span)

    def _reads_elsewhere(self, op: s.BufferStore) -> bool:
        """Whether the value may read what another lane of the store writes."""
        data = op.buffer.data
        for node in walk(op.value):
            if isinstance(node, e.BufferLoad):
                other = node.buffer.data
                if other is data:
                    same = len(node.indices) == len(op.indices) and all(
                        expr_deep_equal(a, b) for a, b in zip(node.indices, op.indices)
                    )
                    if not same or node.buffer.dtype is not op.buffer.dtype:
                        return True
                elif not (other in self.roots and data in self.roots):
                    return True
        return False

    def visit_let_stmt_(self, op: s.LetStmt) -> None:
        before = self._in_order
        self._in_order = before or _nested_effects(op.value)
        self.let(op.var, op.value)
        self._in_order = before
        if is_own_memory(op.value):
            self.roots.add(op.var)
        self._work.append(op.body)

    def visit_attr_stmt_(self, op: s.AttrStmt) -> None:
        refuse_threads(op, "C code", self.name)
        if op.attr_key == "coproc_uop_scope":
            self.run_once(op)
            return
        if op.attr_key == "volatile_scope" and isinstance(op.node, e.Var):
            self.volatile.add(op.node)
        if op.attr_key == ON_FAILURE:
            self._on_failure(op)
            return
        self._work.append(op.body)

    def _on_failure(self, op: s.AttrStmt) -> None:
        """The body, and behind it what failures within it jump to."""
        assert isinstance(op.value, e.Call), "a tuple of calls"
        calls, failure = op.value.args, Failure(self._failure)
        self._failure = failure

        def close() -> None:
            self._failure = failure.outer
            if failure.label is None:
                return
            self.out.open("if (0) {")
            self.out.line(f"{failure.label}:")
            for call in calls:
                self.evaluate(call)
            self.out.line(self.failure())
            self.out.close()
            self._returned = False

        self._work += [close, op.body]

    def run_once(self, op: s.AttrStmt) -> None:
        """Only the first call of the function, of all threads, does what is inside."""
        require_run_once(op, self.out.signature.name)
        mark = self.module.names.fresh("once")
        self.module.constant(f"static int {mark};")
        self.out.open(f"if (!__atomic_exchange_n(&{mark}, 1, __ATOMIC_SEQ_CST)) {{")
        self._work += [self.out.close, op.body]

    def visit_assert_stmt_(self, op: s.AssertStmt) -> None:
        fails = self._negated(op.condition)
        before, call = self._set_error(op.message)
        direct = self.out.signature.fallible and self._failure is None
        self.out.open(f"if ({fails}) {{")
        for line in (*before, ("return " if direct else "") + call[0], *call[1:]):
            self.out.line(line)
        if not direct:
            self.out.line(self.failure())
        self.out.close()
        self._work.append(op.body)

    def _negated(self, condition: PrimExpr) -> str:
        """The opposite of a condition."""
        if isinstance(condition, e.EQ):
            return self.value(e.NE(condition.a, condition.b))
        if isinstance(condition, e.Not):
            return self.value(condition.a)
        return f"!{self.value(condition).at(ATOM)}"

    def _set_error(self, text: PrimExpr) -> tuple[list[str], list[str]]:
        """Lines that prepare, and the lines of the call that sets the error for the caller."""
        kind, words, values = error_words(text)
        form = words.replace("%", "%%")
        operands = []
        with self.out.apart() as before:
            for value in values:
                letters, operand = self._shown(value)
                form = form.replace("{}", letters, 1)
                operands.append(operand)
        rows = [string_literal(row) for row in form.splitlines(keepends=True)] or ['""']
        call = f"{self.module.need('raise_error')}({string_literal(kind)},"
        parts = [*rows[:-1], ", ".join([rows[-1], *operands]) + ");"]
        return [line.strip() for line in before], [call, *(f"    {part}" for part in parts)]

    def _shown(self, value: PrimExpr) -> tuple[str, str]:
        """A printf directive for a value, and the value as it wants it."""
        held = self.visit_expr(value)
        if value.dtype.is_floating:
            return "%g", self.cast(value.dtype, DataType("float64"), held)
        if value.dtype.is_handle:
            text = held if is_text(value) else f"(const char*){held.at(ATOM)}"
            return "%s", text
        return "%lld", f"(long long){held.at(UNARY)}"

    # --- branches and loops ---

    def condition(self, expr: PrimExpr) -> str:
        return self.value(expr)

    def visit_while_(self, op: s.While) -> None:
        out = self.out
        depth = out.indent
        with out.apart() as lines:
            out.indent = depth + 1
            holds = self.value(op.condition)
        if lines:
            out.open("while (true) {")
            out.lines.extend(lines)
            out.line(f"if (!{holds.at(ATOM)}) break;")
        else:
            out.open(f"while ({holds}) {{")
        self._loops += 1
        self._work += [self._end_loop, op.body]

    def _end_loop(self) -> None:
        self._loops -= 1
        self.out.close()

    def visit_for_(self, op: s.For) -> None:
        refuse_threads(op, "C code", self.name)
        if isinstance(op.extent, e.IntImm) and op.extent.value <= 0:
            return
        start, extent = self.value(op.min), self.value(op.extent)
        kind = value_type(op.loop_var.dtype)
        if isinstance(op.min, e.IntImm) and isinstance(op.extent, e.IntImm):
            stop = Code(str(op.min.value + op.extent.value))
        elif isinstance(op.min, e.IntImm) and op.min.value == 0:
            stop = self._fixed(kind, op.extent, extent)
        else:
            start = self._fixed(kind, op.min, start)
            end = self.out.declare(kind, f"{op.loop_var.name}_end",
                                   f"{start.at(ADD)} + {extent.at(ADD - 1)}")  # fmt: skip
            self.out.read(end)
            stop = Code(end)
        self.counted_loop(op, start, stop)

    def _fixed(self, kind: str, expr: PrimExpr, code: Code) -> Code:
        """A bound of a loop: computed once, not in each iteration."""
        simple = all(isinstance(n, (e.Var, e.IntImm, e.BinaryOpExpr, e.Cast)) for n in walk(expr))
        return code if simple else self.held(kind, code)

    def counted_loop(self, op: s.For, start: Code, stop: Code) -> None:
        """Run the body for loop_var in [start, stop)."""
        out, kind = self.out, value_type(op.loop_var.dtype)
        name = out.fresh(op.loop_var.name)
        self.values[op.loop_var] = Code(name)
        out.open(f"for ({kind} {name} = {start}; {name} < {stop.at(ADD)}; ++{name}) {{")
        self._loops += 1
        self._work += [self._end_loop, op.body]

    def jump(self, how: str) -> str:
        if not self._loops:
            raise CheckError("break_loop and continue_loop need a serial loop around them")
        self.out.line(how + ";")
        return ""

    # --- memory ---

    def visit_allocate_(self, op: s.Allocate) -> None:
        size, kind = checked_stack_bytes(op, self.name), memory_type(op.dtype.element_of())
        count = max(size // element_bytes(op.dtype.element_of()), 1)
        self.values[op.buffer_var] = Code(self.out.array(kind, op.buffer_var.name, count, 64))
        self.roots.add(op.buffer_var)
        self.pointees[op.buffer_var] = kind
        self._work.append(op.body)

    def visit_allocate_const_(self, op: s.AllocateConst) -> None:
        data = constant_data(op)
        kind = memory_type(op.dtype.element_of())
        name = self.module.names.fresh(self.out.fresh(op.buffer_var.name))
        text = constant_text(name, kind, op.dtype.element_of(), data)
        if "NAN" in text or "INFINITY" in text:
            self.module.header("math.h")
        self.module.constant(text)
        self.values[op.buffer_var] = Code(f"({kind}*){name}", UNARY)
        self.pointees[op.buffer_var] = kind
        self._work.append(op.body)

    # --- calls ---

    def call_function(self, name: str, op: e.Call) -> str:
        return self.call_local(name, op.args)

    def call_local(self, name: str, args: tuple[PrimExpr, ...]) -> Code:
        """A direct call of a function of this module; a failure is passed on."""
        signature = callee_of(self.module.signatures, name, args, self.name)
        given = []
        for kind, arg in zip(signature.params, args):
            value = self.value(arg)
            pointer = kind.endswith("*") and kind != "void*"
            known = isinstance(arg, e.Var) and kind == f"{self.pointees.get(arg)}*"
            given.append(f"({kind}){value.at(ATOM)}" if pointer and not known else value)
        self.module.called.add(signature.name)
        call = f"{signature.name}({', '.join(given)})"
        if signature.result == "void":
            self.out.line(call + ";")
            return Code("")
        if signature.fallible:
            self.check(call)
            return Code("0")
        return Code(call)


def _nested_effects(expr: PrimExpr) -> bool:
    """Whether something below the root of an expression has effects."""
    if isinstance(expr, e.Call):
        return any(has_effect(arg) for arg in expr.args)
    return has_effect(expr)


def _replaced(expr: PrimExpr, found: dict[PrimExpr, e.Var]) -> PrimExpr:
    return _Replacer(found).visit_expr(expr)


class _Replacer(StmtExprMutator):
    """Gives variables to the values of broadcasts."""

    def __init__(self, found: dict[PrimExpr, e.Var]) -> None:
        super().__init__()
        self._found = found

    def visit_broadcast_(self, op: e.Broadcast) -> PrimExpr:
        var = self._found.get(op.value)
        return op if var is None else e.Broadcast(var, op.lanes)
