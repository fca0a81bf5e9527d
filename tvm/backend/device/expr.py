"""Expressions to the text of a language that looks like C.

A vector is written in one of two ways. Where the language has the type, loads, constants and names
are whole (`*(float4*)(A + i)`); everything else is put together from its lanes:

    B[ramp(i, 1, 2)] = A[ramp(i, 1, 2)] + broadcast(c, 2)
    ->  float2 v_ = *(float2*)(A + i);
        *(float2*)(B + i) = make_float2((v_.x + c), (v_.y + c));

While `lane` is a number, a visit gives the text of that lane. What needs a statement of its own is
put before the statement at hand, or within the branch that asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, NoReturn

from tvm.arith.analyzer import Analyzer
from tvm.error import DTypeError, TVMError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.buffer import Buffer
from tvm.tir.functor import TirFunctor, walk
from tvm.tir.op import builtin
from tvm.tir.op.forms import power_of_two, terms_of

from .literals import float_digits
from .text import FunctionText

INT32: Final = DataType("int32")
FLOAT32: Final = DataType("float32")
Rule = Callable[[Any, e.Call], str]
# Compilers limit how deeply brackets nest (clang: 256); a longer text becomes a variable.
LONGEST: Final = 800

_SIGNS: Final = {e.Add: "+", e.Sub: "-", e.Mul: "*", e.Div: "/", e.Mod: "%"}
_COMPARE: Final = {e.EQ: "==", e.NE: "!=", e.LT: "<", e.LE: "<=", e.GT: ">", e.GE: ">="}


class DeviceExprEmitter(TirFunctor[str, None]):
    """Writes expressions of one kernel; a language overrides what it says differently."""

    LANGUAGE: ClassVar[str] = ""
    RULES: ClassVar[Mapping[str, Rule]] = {}
    TYPES: ClassVar[Mapping[str, str]] = {}  # scalar types by their TIR names
    UNSIGNED_SUFFIX: ClassVar[str] = ""

    def __init__(self, out: FunctionText, name: str) -> None:
        self.out = out
        self.name = name
        self.values: dict[e.Var, str] = {}
        self.pointees: dict[e.Var, str] = {}  # what a pointer is declared to point to
        self.lane: int | None = None
        self.analyzer = Analyzer()
        self._wholes: dict[PrimExpr, str] = {}  # vectors of this statement kept in variables
        self._arrays: set[e.Var] = set()  # vector variables kept as arrays of lanes

    # --- errors ---

    def refuse(self, asked: object, found: str, legal: str) -> NoReturn:
        """The program cannot be said in this language."""
        raise TVMError(
            message(
                f"{self.LANGUAGE} code for {asked}",
                found=found,
                where=f"function {self.name}",
                legal=legal,
            )
        )

    # --- types ---

    def type_of(self, dtype: DataType) -> str:
        """The type of one value; a DTypeError where the language has none."""
        if dtype.is_vector:
            return self.vector_type(dtype)
        found = self.TYPES.get(str(dtype))
        if found is None:
            raise DTypeError(
                message(
                    f"{self.LANGUAGE} code for values of {dtype}",
                    found="a type that the language does not have",
                    where=f"function {self.name}",
                    legal=", ".join(self.TYPES),
                )
            )
        return found

    def memory_type(self, dtype: DataType) -> str:
        """The type of one element in memory; bool lies in bytes."""
        return self.type_of(DataType("int8") if dtype.is_bool else dtype)

    def has_vector(self, dtype: DataType) -> bool:
        """Whether vectors of this type are values of the language."""
        raise NotImplementedError

    def vector_type(self, dtype: DataType) -> str:
        """The name of a vector type."""
        raise NotImplementedError

    def lane_text(self, vector: str, dtype: DataType, lane: int) -> str:
        """One lane of a vector that has a name."""
        raise NotImplementedError

    def vector_of(self, dtype: DataType, lanes: Sequence[str]) -> str:
        """A vector made of its lanes."""
        raise NotImplementedError

    def same_lanes(self, dtype: DataType, value: str) -> str:
        """A vector with one value in all lanes."""
        return self.vector_of(dtype, [value] * dtype.lanes)

    # --- variables and blocks of the language ---

    def declare(self, dtype: DataType, hint: str, value: str) -> str:
        """A variable with a value; its name."""
        name = self.out.fresh(hint)
        self.out.line(f"{self.type_of(dtype)} {name} = {value};")
        return name

    def declare_later(self, dtype: DataType, hint: str) -> str:
        """A variable whose value is assigned afterwards; its name."""
        name = self.out.fresh(hint)
        self.out.line(f"{self.type_of(dtype)} {name};")
        return name

    def declare_array(self, kind: str, name: str, count: int) -> None:
        """An array in the memory of a thread."""
        self.out.line(f"{kind} {name}[{count}];")

    def choose(self, condition: str, a: str, b: str) -> str:
        """One of two values; both may be computed."""
        return f"({condition} ? {a} : {b})"

    # --- whole values ---

    def temp(self, dtype: DataType, value: str) -> str:
        """A value kept in a variable."""
        return self.declare(dtype, "v_", value)

    def short(self, dtype: DataType, text: str) -> str:
        """The text; a variable if it is long."""
        return text if len(text) < LONGEST else self.temp(dtype.element_of(), text)

    def lane_of(self, expr: PrimExpr, lane: int | None) -> str:
        """One lane of a vector expression; of a scalar one, its value."""
        before, self.lane = self.lane, lane if expr.dtype.is_vector else None
        try:
            return self.visit_expr(expr)
        finally:
            self.lane = before

    def value(self, expr: PrimExpr) -> str:
        """A value of any type, where the language has the type."""
        return self.whole(expr) if expr.dtype.is_vector else self.lane_of(expr, None)

    def whole(self, expr: PrimExpr) -> str:
        """A vector expression as one value."""
        dtype = expr.dtype
        known = self._wholes.get(expr)
        if known is not None:
            return known
        if isinstance(expr, e.Var) and expr not in self._arrays:
            return self.known(expr)
        if isinstance(expr, e.BufferLoad) and self.loads_whole(expr):
            return self.whole_load(expr)
        if isinstance(expr, e.Broadcast):
            return self.same_lanes(dtype, self.lane_of(expr.value, None))
        if isinstance(expr, e.Call) and self._is_whole_call(expr):
            return self._call(expr)
        found = self.native_vector(expr)
        if found is not None:
            return found
        return self.vector_of(dtype, [self.lane_of(expr, n) for n in range(dtype.lanes)])

    def native_vector(self, expr: PrimExpr) -> str | None:
        """The expression in the vector arithmetic of the language, if it has that."""
        return None

    def vector_arithmetic(self, expr: PrimExpr) -> str | None:
        """Sums and products of vectors as such; None for other expressions."""
        element = expr.dtype.element_of()
        if not self.has_vector(expr.dtype) or element.is_bool or element.is_bfloat16:
            return None
        plain = isinstance(expr, (e.Add, e.Sub, e.Mul))
        if isinstance(expr, e.BinaryOpExpr) and (
            plain or (isinstance(expr, e.Div) and element.is_floating)
        ):
            return f"({self.whole(expr.a)} {_SIGNS[type(expr)]} {self.whole(expr.b)})"
        return None

    def named(self, expr: PrimExpr) -> str:
        """A vector expression as a variable."""
        text = self.whole(expr)
        if isinstance(expr, e.Var):
            return text
        if expr not in self._wholes:
            self._wholes[expr] = self.temp(expr.dtype, text)
        return self._wholes[expr]

    def _is_whole_call(self, call: e.Call) -> bool:
        """Calls of functions that take and give vectors, as opposed to math on each lane."""
        name = getattr(call.op, "name", "")
        return isinstance(call.op, GlobalVar) or name in (
            "tir.call_extern", "tir.call_pure_extern", "tir.reinterpret", "tir.call_llvm_intrin",
            "tir.call_llvm_pure_intrin",
        )  # fmt: skip

    def in_branch(self, make: Callable[[], str]) -> tuple[list[str], str]:
        """A value, with the lines that it needs, which stay in the branch at hand."""
        wholes = dict(self._wholes)
        with self.out.apart() as lines:
            text = make()
        self._wholes = wholes
        return lines, text

    # --- leaves ---

    def known(self, op: e.Var) -> str:
        """The text of a variable."""
        found = self.values.get(op)
        if found is None:
            self.refuse(f"variable {op.name}", "it is not defined here",
                        "parameters, and variables of enclosing loops and lets")  # fmt: skip
        return found

    def visit_var_(self, op: e.Var) -> str:
        text = self.known(op)
        if self.lane is None:
            return text
        if op in self._arrays:
            return f"{text}[{self.lane}]"
        return self.lane_text(text, op.dtype, self.lane)

    def visit_size_var_(self, op: e.SizeVar) -> str:
        return self.visit_var_(op)

    def visit_int_imm_(self, op: e.IntImm) -> str:
        return self.int_literal(op.dtype, op.value)

    def visit_float_imm_(self, op: e.FloatImm) -> str:
        return self.float_literal(op.dtype, op.value)

    def visit_string_imm_(self, op: e.StringImm) -> str:
        return self.refuse(f"text {op.value!r}", "kernels have no texts", "numbers")

    def int_literal(self, dtype: DataType, value: int) -> str:
        """An integer or bool literal."""
        if dtype.is_bool:
            return "true" if value else "false"
        if dtype.is_handle:
            return f"((void*){value})"
        if dtype.bits <= 16:
            return f"(({self.type_of(dtype)}){value})" if value < 0 or dtype.is_uint else f"{value}"
        if dtype.is_uint:
            suffix = "" if dtype.bits == 32 else "l"
            return f"{value}u{suffix}" if dtype.bits == 32 else f"{value}u{suffix}l"
        if value == -(1 << (dtype.bits - 1)):  # the number itself is no literal
            return f"({value + 1}{self._long(dtype)} - 1)"
        return f"{value}{self._long(dtype)}" if value >= 0 else f"({value}{self._long(dtype)})"

    def _long(self, dtype: DataType) -> str:
        return "ll" if dtype.bits == 64 else ""

    def float_literal(self, dtype: DataType, value: float) -> str:
        """A literal of a floating type."""
        if dtype.bits == 64 and dtype.is_float:
            if math.isfinite(value):
                return _signed(float_digits(value, 64))
            return self.not_finite(dtype, value)
        if dtype.bits == 32 and dtype.is_float:
            digits = float_digits(value, 32)
            return _signed(digits + "f") if digits else self.not_finite(dtype, value)
        return self.convert(FLOAT32, dtype, self.float_literal(FLOAT32, value))

    def not_finite(self, dtype: DataType, value: float) -> str:
        """Infinities, and what is not a number."""
        kind = self.type_of(dtype)
        if math.isnan(value):
            return f"(({kind})NAN)"
        return f"({'-' if value < 0 else ''}({kind})INFINITY)"

    # --- arithmetic ---

    def visit_binary_(self, op: e.BinaryOpExpr) -> str:
        """Trees of arithmetic are walked with a stack: a sum may have thousands of terms."""
        todo: list[tuple[PrimExpr, bool]] = [(op, False)]
        done: list[str] = []
        while todo:
            node, ready = todo.pop()
            if not isinstance(node, e.BinaryOpExpr):
                done.append(self.visit_expr(node))
            elif ready:
                b = done.pop()
                text = self.binary(node, node.dtype.element_of(), done.pop(), b)
                done.append(self.short(node.dtype, text))
            else:
                todo += [(node, True), (node.b, False), (node.a, False)]
        return done[0]

    def binary(self, op: e.BinaryOpExpr, dtype: DataType, a: str, b: str) -> str:
        """One operation on two values."""
        if dtype.is_bool:
            return self._bool_arithmetic(op, a, b)
        if isinstance(op, (e.Min, e.Max)):
            return self.smaller("min" if isinstance(op, e.Min) else "max", dtype, a, b)
        if isinstance(op, (e.FloorDiv, e.FloorMod)):
            return self._floor(op, dtype, a, b)
        if isinstance(op, e.Mod) and dtype.is_floating:
            return self.math("fmod", dtype, [a, b])
        return self.fit(dtype, f"({a} {_SIGNS[type(op)]} {b})")

    def _bool_arithmetic(self, op: e.BinaryOpExpr, a: str, b: str) -> str:
        if isinstance(op, (e.Add, e.Sub)):
            return f"({a} != {b})"
        if isinstance(op, (e.Mul, e.Min)):
            return f"({a} && {b})"
        if isinstance(op, e.Max):
            return f"({a} || {b})"
        return a if isinstance(op, (e.Div, e.FloorDiv)) else "false"

    def smaller(self, name: str, dtype: DataType, a: str, b: str) -> str:
        """min or max."""
        return f"{name}({a}, {b})"

    def math(self, name: str, dtype: DataType, args: Sequence[str]) -> str:
        """A function of the language's library, by the name that it has in TIR."""
        raise NotImplementedError

    def _floor(self, op: e.BinaryOpExpr, dtype: DataType, a: str, b: str) -> str:
        """Division that rounds toward minus infinity."""
        rest = isinstance(op, e.FloorMod)
        if dtype.is_floating:
            if not rest:
                return self.math("floor", dtype, [f"({a} / {b})"])
            quotient = self.math("floor", dtype, [f"({a} / {b})"])
            return f"({a} - ({quotient} * {b}))"
        power = power_of_two(op.b)
        if power is not None:
            return self._by_power(dtype, a, power, rest)
        if dtype.is_uint:
            return f"({a} {'%' if rest else '/'} {b})"
        return f"{self.need_floor(rest, dtype)}({a}, {b})"

    def _by_power(self, dtype: DataType, a: str, power: int, rest: bool) -> str:
        """Shift and mask round toward minus infinity."""
        if rest:
            return f"({a} & {self.int_literal(dtype, (1 << power) - 1)})"
        return f"({a} >> {self.int_literal(dtype, power)})" if power else a

    def need_floor(self, rest: bool, dtype: DataType) -> str:
        """The helper for division with rest of signed numbers; its name."""
        kind, name = self.type_of(dtype), f"floor{'mod' if rest else 'div'}_{dtype}"
        off = "(a % b != 0) && ((a % b < 0) != (b < 0))"
        value = f"a % b + (({off}) ? b : 0)" if rest else f"a / b - (({off}) ? 1 : 0)"
        return self.out.file.need(name, f"{self.function_word()}{kind} {name}({kind} a, {kind} b) "
                                  f"{{ return {value}; }}")  # fmt: skip

    def function_word(self) -> str:
        """What stands before a function that kernels call."""
        return "static inline "

    def fit(self, dtype: DataType, text: str) -> str:
        """The result of arithmetic that may have been done in a wider type."""
        if dtype.is_integer and dtype.bits < 32:
            return f"(({self.type_of(dtype)}){text})"
        return text

    def visit_cmp_(self, op: e.CmpExpr) -> str:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        return self.compare(op.a.dtype.element_of(), _COMPARE[type(op)], a, b)

    def compare(self, dtype: DataType, sign: str, a: str, b: str) -> str:
        """A comparison of two values of a type."""
        return f"({a} {sign} {b})"

    # --- logic ---

    def visit_and_(self, op: e.And) -> str:
        return self._logic(op, e.And, "&&")

    def visit_or_(self, op: e.Or) -> str:
        return self._logic(op, e.Or, "||")

    def _logic(self, op: e.And | e.Or, kind: type[e.And | e.Or], sign: str) -> str:
        terms = terms_of(op, kind)
        text = self.visit_expr(terms[0])
        for term in terms[1:]:
            lane = self.lane
            lines, second = self.in_branch(lambda t=term: self.visit_expr(t))  # type: ignore[misc]
            self.lane = lane
            if not lines:
                text = self.short(op.dtype, f"({text} {sign} {second})")
                continue
            held = self.declare_later(DataType("bool"), "holds")
            self.out.line(f"{held} = {text};")
            self.out.open(f"if ({held if sign == '&&' else '!' + held}) {{")
            self._indented(lines)
            self.out.line(f"{held} = {second};")
            self.out.close()
            text = held
        return text

    def _indented(self, lines: list[str]) -> None:
        self.out.lines.extend("  " + line for line in lines)

    def visit_not_(self, op: e.Not) -> str:
        return f"(!{self.visit_expr(op.a)})"

    def visit_select_(self, op: e.Select) -> str:
        lane = self.lane if op.condition.dtype.is_vector else None
        condition = self.lane_of(op.condition, lane)
        return self._choice(op.dtype, condition, op.true_value, op.false_value, either=True)

    def if_then_else(self, condition: PrimExpr, a: PrimExpr, b: PrimExpr) -> str:
        """Evaluate only the side that is taken."""
        lane = self.lane if condition.dtype.is_vector else None
        return self._choice(a.dtype, self.lane_of(condition, lane), a, b, either=False)

    def _choice(
        self, dtype: DataType, condition: str, a: PrimExpr, b: PrimExpr, *, either: bool
    ) -> str:
        yes_lines, yes = self.in_branch(lambda: self.visit_expr(a))
        no_lines, no = self.in_branch(lambda: self.visit_expr(b))
        element = dtype.element_of()
        if either and not yes_lines and not no_lines:
            return self.short(dtype, self.choose(condition, yes, no))
        name = "" if dtype.is_void else self.declare_later(element, "condval")
        self.out.open(f"if ({condition}) {{")
        for n, (lines, text) in enumerate(((yes_lines, yes), (no_lines, no))):
            if n:
                self.out.turn("} else {")
            self._indented(lines)
            if name:
                self.out.line(f"{name} = {text};")
            elif text:
                self.out.line(f"{text};")
        self.out.close()
        return name

    # --- vectors ---

    def visit_broadcast_(self, op: e.Broadcast) -> str:
        known = self._wholes.get(op)
        if known is None:
            known = self.lane_of(op.value, None)
            if any(isinstance(n, (e.Call, e.BufferLoad)) for n in walk(op.value)):
                known = self._wholes[op] = self.temp(op.value.dtype, known)
        return known

    def visit_ramp_(self, op: e.Ramp) -> str:
        assert self.lane is not None, "vectors are visited lane by lane"
        return self.lane_of(_moved(op.base, op.stride, self.lane), None)

    def visit_shuffle_(self, op: e.Shuffle) -> str:
        sources = [(v, n if v.dtype.is_vector else None) for v in op.vectors
                   for n in range(v.dtype.lanes)]  # fmt: skip
        number = op.indices[self.lane or 0]
        if not isinstance(number, e.IntImm):
            return self._shuffle_at(op, number)
        return self.lane_of(*sources[number.value])

    def _shuffle_at(self, op: e.Shuffle, number: PrimExpr) -> str:
        """A lane whose number is known only when the kernel runs."""
        lanes = [self.lane_of(v, n if v.dtype.is_vector else None) for v in op.vectors
                 for n in range(v.dtype.lanes)]  # fmt: skip
        at = self.lane_of(number, None)
        text = lanes[-1]
        for n in range(len(lanes) - 2, -1, -1):
            text = self.choose(f"({at} == {n})", lanes[n], text)
        return text

    # --- memory ---

    def element(self, buffer: Buffer, index: str) -> str:
        """One element of a buffer, in memory."""
        base, kind = self.known(buffer.data), self.memory_type(buffer.dtype.element_of())
        if self.pointees.get(buffer.data) == kind:
            return f"{base}[{index}]"
        return f"(({self.pointer_to(buffer, kind)}){base})[{index}]"

    def pointer_to(self, buffer: Buffer, kind: str) -> str:
        """The type of a pointer into a buffer's memory."""
        return f"{kind}*"

    def index_of(self, buffer: Buffer, indices: Sequence[PrimExpr], lane: int | None) -> PrimExpr:
        """The number of the element that an access means, for one lane of it."""
        if len(indices) > 1:
            self.refuse(f"access of buffer {buffer.name}", f"{len(indices)} indices",
                        "one index; tir.FlattenBuffer brings buffers to this form")  # fmt: skip
        index = indices[0] if indices else e.IntImm("int32", 0)
        wide = buffer.dtype.lanes
        if lane is None:
            return index
        outer, inner = (lane // wide, lane % wide) if index.dtype.is_vector else (0, lane)
        if isinstance(index, e.Ramp):
            index = _moved(index.base, index.stride, outer)
        elif isinstance(index, e.Broadcast):
            index = index.value
        elif index.dtype.is_vector:
            index = e.Shuffle([index], [e.IntImm("int32", outer)])
        return index * wide + inner if wide > 1 else index

    def loads_whole(self, op: e.BufferLoad) -> bool:
        """Whether a vector load is one access: neighbours, at a place that the type fits."""
        return op.predicate is None and self.run_of(op.buffer, op.indices, op.dtype) is not None

    def run_of(
        self, buffer: Buffer, indices: Sequence[PrimExpr], dtype: DataType
    ) -> PrimExpr | None:
        """The number of the first of neighbouring elements; None where they are none."""
        if not self.has_vector(dtype) or len(indices) > 1:
            return None
        index = indices[0] if indices else e.IntImm("int32", 0)
        if isinstance(index, e.Ramp) and isinstance(index.stride, e.IntImm):
            if index.stride.value != 1 or buffer.dtype.is_vector:
                return None
            return index.base if self.is_aligned(index.base, dtype.lanes) else None
        if index.dtype.is_scalar and buffer.dtype.lanes == dtype.lanes:
            return index * dtype.lanes
        return None

    def is_aligned(self, base: PrimExpr, lanes: int) -> bool:
        """Whether a place is one that a vector of so many elements may have."""
        found = self.analyzer.modular_set(base)
        return found.coeff % lanes == 0 and found.base % lanes == 0

    def whole_load(self, op: e.BufferLoad) -> str:
        """Neighbouring elements as one value."""
        start = self.run_of(op.buffer, op.indices, op.dtype)
        assert start is not None, "the caller looked"
        return self.vector_place(op.buffer, start, op.dtype)

    def vector_place(self, buffer: Buffer, start: PrimExpr, dtype: DataType) -> str:
        """Neighbouring elements in memory."""
        kind = self.pointer_to(buffer, self.type_of(dtype))
        base = self.known(buffer.data)
        if self.pointees.get(buffer.data) != self.memory_type(dtype.element_of()):
            base = f"({self.pointer_to(buffer, self.memory_type(dtype.element_of()))}){base}"
        return f"*({kind})({base} + {self.lane_of(start, None)})"

    def visit_buffer_load_(self, op: e.BufferLoad) -> str:
        if self.lane is not None and self.loads_whole(op):
            return self.lane_text(self.named(op), op.dtype, self.lane)
        index = self.index_of(op.buffer, op.indices, self.lane)
        text = self.from_memory(
            op.dtype.element_of(), self.element(op.buffer, self.lane_of(index, None))
        )
        if op.predicate is None:
            return text
        zero = e.make_const(0, op.dtype.element_of())
        mask = self.lane_of(op.predicate, self.lane)
        return self.choose(mask, text, self.lane_of(zero, None))

    def from_memory(self, dtype: DataType, text: str) -> str:
        """The value of an element."""
        return f"({text} != 0)" if dtype.is_bool else text

    def to_memory(self, dtype: DataType, text: str) -> str:
        """An element from its value."""
        return f"(({self.memory_type(dtype)}){text})" if dtype.is_bool else text

    def address(self, load: e.BufferLoad) -> str:
        """Where the first element of an access lies."""
        index = self.index_of(load.buffer, load.indices, None if load.dtype.is_scalar else 0)
        return f"(&({self.element(load.buffer, self.lane_of(index, None))}))"

    # --- casts ---

    def visit_cast_(self, op: e.Cast) -> str:
        source, target = op.value.dtype.element_of(), op.dtype.element_of()
        return self.convert(source, target, self.visit_expr(op.value))

    def convert(self, source: DataType, target: DataType, text: str) -> str:
        """One value converted from one type to another."""
        if source is target:
            return text
        if target.is_bool:
            return f"({text} != {self.lane_of(e.make_const(0, source), None)})"
        return f"(({self.type_of(target)}){text})"

    # --- lets and calls ---

    def visit_let_(self, op: e.Let) -> str:
        node: PrimExpr = op
        while isinstance(node, e.Let):
            self.let(node.var, node.value)
            node = node.body
        return self.visit_expr(node)

    def let(self, var: e.Var, value: PrimExpr) -> None:
        """Declare a variable."""
        if var.dtype.is_vector and not self.has_vector(var.dtype):
            element = var.dtype.element_of()
            lanes = [self.lane_of(value, n) for n in range(var.dtype.lanes)]
            name = self.out.fresh(var.name)
            self.declare_array(self.type_of(element), name, len(lanes))
            for n, lane in enumerate(lanes):
                self.out.line(f"{name}[{n}] = {lane};")
            self._arrays.add(var)
            self.values[var] = name
            return
        if var.dtype.is_handle:
            self._let_pointer(var, value)
            return
        self.values[var] = self.declare(var.dtype, var.name, self.value(value))
        if var.dtype.is_scalar and var.dtype.is_integer and not _reads(value):
            self.analyzer.bind(var, value, allow_override=True)

    def _let_pointer(self, var: e.Var, value: PrimExpr) -> None:
        """A name for an address: the address itself, which nothing changes."""
        self.values[var] = self.visit_expr(value)

    def visit_call_(self, op: e.Call) -> str:
        if self.lane is not None and self._is_whole_call(op):
            return self.lane_text(self.named(op), op.dtype, self.lane)
        return self._call(op)

    def _call(self, op: e.Call) -> str:
        before, self.lane = self.lane, None if self._is_whole_call(op) else self.lane
        try:
            if isinstance(op.op, GlobalVar):
                return self.call_function(op.op.name_hint, op)
            rule = self.RULES.get(op.op.name)
            if rule is None:
                self.refuse(op.op.name, "no rule for this operator",
                            "operators that lowering replaces, or the language has")  # fmt: skip
            text = rule(self, op)
        finally:
            self.lane = before
        # each lane of a call with effects is one call more; of others a long text
        acts = builtin.effect_of(op) >= e.CallEffectKind.UpdateState
        keep = self.lane is not None and acts and not op.dtype.is_void
        return self.temp(op.dtype.element_of(), text) if keep else self.short(op.dtype, text)

    def call_function(self, name: str, op: e.Call) -> str:
        """A call of another function of the file."""
        raise NotImplementedError


def _moved(base: PrimExpr, stride: PrimExpr, count: int) -> PrimExpr:
    """The element of a ramp; names of other values are kept, which a simplifier may resolve."""
    step = stride * e.IntImm(stride.dtype, count)
    return base if isinstance(step, e.IntImm) and step.value == 0 else base + step


def _signed(digits: str) -> str:
    return f"({digits})" if digits.startswith("-") else digits


def _reads(expr: PrimExpr) -> bool:
    return any(isinstance(node, (e.BufferLoad, e.Call)) for node in walk(expr))
