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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import ClassVar, Final

from tvm.arith.analyzer import Analyzer
from tvm.backend.c_family.code import Code, code
from tvm.backend.c_family.stmt import StmtWriter
from tvm.backend.c_family.unmasked import refuse_predicate
from tvm.error import DTypeError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.buffer import Buffer
from tvm.tir.effects import is_acting_call
from tvm.tir.functor import walk
from tvm.tir.op.forms import power_of_two

from .literals import float_digits
from .text import FunctionText

INT32: Final = DataType("int32")
FLOAT32: Final = DataType("float32")

_SIGNS: Final = {e.Add: "+", e.Sub: "-", e.Mul: "*", e.Div: "/", e.Mod: "%"}


class DeviceExprEmitter(StmtWriter[int]):
    """Writes expressions of one kernel; a language overrides what it says differently."""

    TYPES: ClassVar[Mapping[str, str]] = {}  # scalar types by their TIR names
    LONG: ClassVar[str] = "ll"  # what ends literals of 64 bits
    VECTOR_ARITHMETIC: ClassVar[bool] = True  # the language has operators on its vectors
    out: FunctionText

    def __init__(self, out: FunctionText, name: str) -> None:
        super().__init__(out, name)
        self.pointees: dict[e.Var, str] = {}  # what a pointer is declared to point to
        self.analyzer = Analyzer()
        self._wholes: dict[PrimExpr, Code] = {}  # vectors of this statement kept in variables
        self._arrays: set[e.Var] = set()  # vector variables kept as arrays of lanes
        self._declared: set[e.Var] = set()  # vector variables of this statement

    def loose(self, text: str, level: int) -> Code:
        return Code(f"({text})")  # whole by itself: rules put operands together without a look

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
        return f"{self.type_of(dtype.element_of())}{dtype.lanes}"

    def lane_text(self, vector: str, dtype: DataType, lane: int) -> str:
        """One lane of a vector that has a name."""
        return f"{vector}.{'xyzw'[lane]}"

    def vector_of(self, dtype: DataType, lanes: Sequence[str]) -> str:
        """A vector made of its lanes, or of one value for all of them."""
        return f"{self.type_of(dtype)}({', '.join(lanes)})"

    def same_lanes(self, dtype: DataType, value: str) -> str:
        """A vector with one value in all lanes."""
        return self.vector_of(dtype, [value])

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

    # --- whole values ---

    def temp(self, dtype: DataType, value: str) -> Code:
        return Code(self.declare(dtype, "v_", value))

    def value(self, expr: PrimExpr) -> Code:
        """A value of any type, where the language has the type."""
        return self.whole(expr) if expr.dtype.is_vector else self.lane_of(expr, None)

    def whole(self, expr: PrimExpr) -> Code:
        """A vector expression as one value."""
        return code(self._whole(expr))

    def _whole(self, expr: PrimExpr) -> str:
        dtype = expr.dtype
        known = self._wholes.get(expr)
        if known is not None:
            return known
        if isinstance(expr, e.Let):
            return self._whole(self._bound(expr))
        if isinstance(expr, e.Var) and expr not in self._arrays:
            return self.known(expr)
        if isinstance(expr, e.BufferLoad) and self.loads_whole(expr):
            return self.whole_load(expr)
        if isinstance(expr, e.Broadcast):
            return self.same_lanes(dtype, self.lane_of(expr.value, None))
        if isinstance(expr, e.Call) and self._is_whole_call(expr):
            return self._call(expr)
        found = self.vector_arithmetic(expr) if self.VECTOR_ARITHMETIC else None
        if found is not None:
            return found
        return self.vector_of(dtype, [self.lane_of(expr, n) for n in range(dtype.lanes)])

    def vector_arithmetic(self, expr: PrimExpr) -> str | None:
        """Sums and products of vectors as such; None for other expressions."""
        element = expr.dtype.element_of()
        if not self.has_vector(expr.dtype) or element.is_bool:
            return None
        plain = isinstance(expr, (e.Add, e.Sub, e.Mul))
        if isinstance(expr, e.BinaryOpExpr) and (
            plain or (isinstance(expr, e.Div) and element.is_floating)
        ):
            return f"({self.whole(expr.a)} {_SIGNS[type(expr)]} {self.whole(expr.b)})"
        return None

    def named(self, expr: PrimExpr) -> Code:
        """A vector expression as a variable."""
        text = self.whole(expr)
        if isinstance(expr, e.Var):
            return text
        if expr not in self._wholes:
            self._wholes[expr] = self.temp(expr.dtype, text)
        return self._wholes[expr]

    def _is_whole_call(self, call: e.Call) -> bool:
        """Calls of functions that take and give vectors, as opposed to math on each lane."""
        name = e.op_name(call)
        if name == "tir.reinterpret" and call.args[0].dtype.lanes == call.dtype.lanes:
            return self.has_vector(call.dtype) and self.has_vector(call.args[0].dtype)
        return isinstance(call.op, GlobalVar) or name in (
            "tir.call_extern", "tir.call_pure_extern", "tir.reinterpret", "tir.call_llvm_intrin",
            "tir.call_llvm_pure_intrin",
        )  # fmt: skip

    @contextmanager
    def branch(self) -> Iterator[None]:
        wholes, declared, lane = dict(self._wholes), set(self._declared), self.lane
        yield
        self._wholes, self._declared, self.lane = wholes, declared, lane

    # --- leaves ---

    def visit_var_(self, op: e.Var) -> Code:
        text = self.known(op)
        if self.lane is None:
            return text
        if op in self._arrays:
            return Code(f"{text}[{self.lane}]")
        return Code(self.lane_text(text, op.dtype, self.lane))

    def visit_string_imm_(self, op: e.StringImm) -> Code:
        self.refuse(f"text {op.value!r}", "kernels have no texts", "numbers")

    def int_literal(self, dtype: DataType, value: int) -> str:
        if dtype.is_bool:
            return "true" if value else "false"
        if dtype.is_handle:
            return f"((void*){value})"
        if dtype.bits <= 16:
            return f"(({self.type_of(dtype)}){value})" if value < 0 or dtype.is_uint else f"{value}"
        if dtype.is_uint:
            return f"{value}u{self._long(dtype)}"
        if value == -(1 << (dtype.bits - 1)):  # the number itself is no literal
            return f"({value + 1}{self._long(dtype)} - 1)"
        return f"{value}{self._long(dtype)}" if value >= 0 else f"({value}{self._long(dtype)})"

    def _long(self, dtype: DataType) -> str:
        return self.LONG if dtype.bits == 64 else ""

    def float_literal(self, dtype: DataType, value: float) -> str:
        if dtype.bits == 64 and dtype.is_float:
            if math.isfinite(value):
                return _signed(float_digits(value, 64))
            return self.not_finite(dtype, value)
        if dtype.bits == 32 and dtype.is_float:
            digits = float_digits(value, 32)
            return _signed(digits + "f") if digits else self.not_finite(dtype, value)
        return self.convert(FLOAT32, dtype, code(self.float_literal(FLOAT32, value)))

    def not_finite(self, dtype: DataType, value: float) -> str:
        """Infinities, and what is not a number."""
        kind = self.type_of(dtype)
        if math.isnan(value):
            return f"(({kind})NAN)"
        return f"({'-' if value < 0 else ''}({kind})INFINITY)"

    # --- arithmetic ---

    def binary(self, op: e.BinaryOpExpr, dtype: DataType, a: Code, b: Code) -> str:
        if dtype.is_bool:
            return self.bool_arithmetic(op, a, b)
        if isinstance(op, (e.Min, e.Max)):
            return self.smaller("min" if isinstance(op, e.Min) else "max", dtype, a, b)
        if isinstance(op, (e.FloorDiv, e.FloorMod)):
            return self._floor(op, dtype, a, b)
        if isinstance(op, e.Mod) and dtype.is_floating:
            return self.math("fmod", dtype, [a, b])
        return self.fit(dtype, Code(f"({a} {_SIGNS[type(op)]} {b})"))

    def smaller(self, name: str, dtype: DataType, a: str, b: str) -> str:
        """min or max."""
        return f"{name}({a}, {b})"

    def math(self, name: str, dtype: DataType, args: Sequence[str]) -> str:
        """A function of the language's library, by the name that it has in TIR."""
        raise NotImplementedError

    def _floor(self, op: e.BinaryOpExpr, dtype: DataType, a: Code, b: Code) -> str:
        """Division that rounds toward minus infinity."""
        remainder = isinstance(op, e.FloorMod)
        if dtype.is_floating:
            if not remainder:
                return self.math("floor", dtype, [f"({a} / {b})"])
            quotient = self.math("floor", dtype, [f"({a} / {b})"])
            return f"({a} - ({quotient} * {b}))"
        power = power_of_two(op.b)
        if power is not None:
            return self.by_power(dtype, a, power, remainder) if remainder or power else a
        if dtype.is_uint:
            return f"({a} {'%' if remainder else '/'} {b})"
        return f"{self.need_floor(remainder, dtype)}({a}, {b})"

    def need_floor(self, remainder: bool, dtype: DataType) -> str:
        """The helper for division with remainder of signed numbers; its name."""
        kind, name = self.type_of(dtype), f"floor{'mod' if remainder else 'div'}_{dtype}"
        off = "(a % b != 0) && ((a % b < 0) != (b < 0))"
        value = f"a % b + (({off}) ? b : 0)" if remainder else f"a / b - (({off}) ? 1 : 0)"
        return self.out.file.need(name, f"{self.function_word()}{kind} {name}({kind} a, {kind} b) "
                                  f"{{ return {value}; }}")  # fmt: skip

    def function_word(self) -> str:
        """What stands before a function that kernels call."""
        return "static inline "

    def fit(self, dtype: DataType, value: Code) -> str:
        if dtype.is_integer and dtype.bits < 32:
            return f"(({self.type_of(dtype)}){value})"
        return value

    def compare(self, dtype: DataType, sign: str, a: Code, b: Code) -> str:
        return f"({a} {sign} {b})"

    # --- vectors ---

    def visit_broadcast_(self, op: e.Broadcast) -> Code:
        known = self._wholes.get(op)
        if known is None:
            known = self.lane_of(op.value, None)
            if any(isinstance(n, (e.Call, e.BufferLoad)) for n in walk(op.value)):
                known = self._wholes[op] = self.temp(op.value.dtype, known)
        return known

    def visit_ramp_(self, op: e.Ramp) -> Code:
        assert self.lane is not None, "vectors are visited lane by lane"
        return self.lane_of(_moved(op.base, op.stride, self.lane), None)

    def visit_shuffle_(self, op: e.Shuffle) -> Code:
        sources = [(v, n if v.dtype.is_vector else None) for v in op.vectors
                   for n in range(v.dtype.lanes)]  # fmt: skip
        number = op.indices[self.lane or 0]
        if not isinstance(number, e.IntImm):
            return self._shuffle_at(op, number)
        return self.lane_of(*sources[number.value])

    def _shuffle_at(self, op: e.Shuffle, number: PrimExpr) -> Code:
        """A lane whose number is known only when the kernel runs."""
        lanes = [self.lane_of(v, n if v.dtype.is_vector else None) for v in op.vectors
                 for n in range(v.dtype.lanes)]  # fmt: skip
        at = self.lane_of(number, None)
        text = lanes[-1]
        for n in range(len(lanes) - 2, -1, -1):
            text = code(self.choose(op.dtype, Code(f"({at} == {n})"), lanes[n], text))
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
        """Whether a vector load is one access: neighbours, at an aligned index."""
        refuse_predicate(op)
        return self.run_of(op.buffer, op.indices, op.dtype) is not None

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
        """Whether an index is a multiple of a vector's lanes."""
        found = self.analyzer.modular_set(base)
        return found.coeff % lanes == 0 and found.base % lanes == 0

    def whole_load(self, op: e.BufferLoad) -> str:
        """Neighbouring elements as one value."""
        start = self.run_of(op.buffer, op.indices, op.dtype)
        assert start is not None, "the caller looked"
        return self.vector_access(op.buffer, start, op.dtype)

    def vector_access(self, buffer: Buffer, start: PrimExpr, dtype: DataType) -> str:
        """Neighbouring elements in memory."""
        kind = self.pointer_to(buffer, self.type_of(dtype))
        base: str = self.known(buffer.data)
        if self.pointees.get(buffer.data) != self.memory_type(dtype.element_of()):
            base = f"({self.pointer_to(buffer, self.memory_type(dtype.element_of()))}){base}"
        return f"*({kind})({base} + {self.lane_of(start, None)})"

    def visit_buffer_load_(self, op: e.BufferLoad) -> Code:
        refuse_predicate(op)
        if self.lane is not None and self.loads_whole(op):
            return Code(self.lane_text(self.named(op), op.dtype, self.lane))
        index = self.index_of(op.buffer, op.indices, self.lane)
        element = self.element(op.buffer, self.lane_of(index, None))
        return code(self.from_memory(op.dtype.element_of(), element))

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

    def convert(self, source: DataType, target: DataType, text: str) -> str:
        if source is target:
            return text
        if target.is_bool:
            return f"({text} != {self.lane_of(e.make_const(0, source), None)})"
        return f"(({self.type_of(target)}){text})"

    # --- lets and calls ---

    def visit_let_(self, op: e.Let) -> Code:
        return self.visit_expr(self._bound(op))

    def _bound(self, op: e.Let) -> PrimExpr:
        """What is computed with the names of a let, which are declared once for all lanes."""
        node: PrimExpr = op
        while isinstance(node, e.Let):
            if node.var not in self._declared:
                before, self.lane = self.lane, None
                self.let(node.var, node.value)
                self.lane = before
                if node.var.dtype.is_vector:
                    self._declared.add(node.var)
            node = node.body
        return node

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
            self.values[var] = Code(name)
            return
        if var.dtype.is_handle:
            self._let_pointer(var, value)
            return
        self.values[var] = Code(self.declare(var.dtype, var.name, self.value(value)))
        if var.dtype.is_scalar and var.dtype.is_integer and not _reads(value):
            self.analyzer.bind(var, value, allow_override=True)

    def _let_pointer(self, var: e.Var, value: PrimExpr) -> None:
        """A name for an address: the address itself, which nothing changes."""
        self.values[var] = self.visit_expr(value)

    def visit_call_(self, op: e.Call) -> Code:
        if self.lane is not None and self._is_whole_call(op):
            return Code(self.lane_text(self.named(op), op.dtype, self.lane))
        return self._call(op)

    def _call(self, op: e.Call) -> Code:
        before, self.lane = self.lane, None if self._is_whole_call(op) else self.lane
        try:
            text = super().visit_call_(op)
        finally:
            self.lane = before
        # each lane of a call with effects is one call more; of others a long text
        keep = self.lane is not None and is_acting_call(op) and not op.dtype.is_void
        if isinstance(op.op, GlobalVar):
            return text
        return self.temp(op.dtype.element_of(), text) if keep else self.short(op.dtype, text)


def _moved(base: PrimExpr, stride: PrimExpr, count: int) -> PrimExpr:
    """The element of a ramp; names of other values are kept, which a simplifier may resolve."""
    step = stride * e.IntImm(stride.dtype, count)
    return base if isinstance(step, e.IntImm) and step.value == 0 else base + step


def _signed(digits: str) -> str:
    return f"({digits})" if digits.startswith("-") else digits


def _reads(expr: PrimExpr) -> bool:
    return any(isinstance(node, (e.BufferLoad, e.Call)) for node in walk(expr))
