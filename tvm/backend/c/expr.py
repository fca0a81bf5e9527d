"""Expressions to C text; each visit returns the text of the value.

A vector has no C type here: its expression is written for one lane at a time, and a loop over the
lanes stands around it. While `lane` is set, a visit gives the text of that lane.

    B[ramp(i * 4, 1, 4)] = A[ramp(i * 4, 1, 4)] * broadcast(c, 4)
    ->  for (int32_t lane = 0; lane < 4; ++lane) { B[i * 4 + lane] = A[i * 4 + lane] * c; }

What needs a statement (a let, a call that may fail) is put before the statement at hand, or, where
only one side of a condition may run it, into a statement expression.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tvm.backend.c_family.code import (
    ADD,
    ATOM,
    COMPARE,
    MUL,
    UNARY,
    Code,
    code,
)
from tvm.backend.c_family.stmt import StmtWriter
from tvm.backend.c_family.unmasked import refuse_predicate
from tvm.error import CheckError, DTypeError, InternalError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.op import Op
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.buffer import Buffer
from tvm.tir.effects import has_effect, is_acting_call
from tvm.tir.functor import walk
from tvm.tir.op.arith import literal
from tvm.tir.op.forms import power_of_two

from .function_text import FunctionText, in_statement
from .source_text import SourceText
from .types import (
    carried_bits,
    element_bytes,
    float_literal,
    int_literal,
    memory_type,
    short_name,
    string_literal,
    value_type,
    variable_type,
)

FLOAT64: Final = DataType("float64")
INT64: Final = DataType("int64")

_INFIX: Final = {e.Add: ("+", ADD), e.Sub: ("-", ADD), e.Mul: ("*", MUL), e.Div: ("/", MUL),
                 e.Mod: ("%", MUL), e.FloorDiv: ("/", MUL),
                 e.FloorMod: ("%", MUL)}  # fmt: skip
_DIVIDED: Final = {e.Div: "div", e.Mod: "mod", e.FloorDiv: "div", e.FloorMod: "mod"}
_HELPED: Final = {
    e.Min: "min", e.Max: "max", e.FloorDiv: "floordiv", e.FloorMod: "floormod",
}  # fmt: skip
_COMPARE: Final = {e.EQ: "==", e.NE: "!=", e.LT: "<", e.LE: "<=", e.GT: ">", e.GE: ">="}
_SHUFFLES: Final = frozenset({"tir.vectorlow", "tir.vectorhigh", "tir.vectorcombine"})


class ExprEmitter(StmtWriter[str]):
    """Writes expressions of one function."""

    LANGUAGE = "C"
    LAZY_CHOICE = True
    out: FunctionText

    def __init__(self, out: FunctionText) -> None:
        super().__init__(out, out.signature.name)
        self.pointees: dict[e.Var, str | None] = {}  # what a pointer is declared to point to
        self.volatile: set[e.Var] = set()  # memory that others change, or look at
        self._arrays: set[e.Var] = set()  # vector variables whose lanes are kept in an array
        self._in_order = False  # something has effects: nothing that reads memory moves over it

    @property
    def module(self) -> SourceText:
        """The file that the function belongs to."""
        return self.out.module

    # --- whole values ---

    def value(self, expr: PrimExpr) -> Code:
        """A scalar expression of a statement."""
        before = self._in_order
        self._in_order = before or has_effect(expr)
        try:
            return self.visit_expr(expr)
        finally:
            self._in_order = before

    @contextmanager
    def lanes(self, dtype: DataType) -> Iterator[str]:
        """A loop over the lanes of a vector type; gives the name of the lane's number."""
        if dtype.is_scalable:
            raise DTypeError(
                message(
                    f"C code for values of {dtype}",
                    found="C has no vectors of unknown length",
                    where=f"function {self.out.signature.name}",
                    legal="vectors with a fixed number of lanes",
                )
            )
        lane = self.out.fresh("lane")
        self.out.open(f"for (int32_t {lane} = 0; {lane} < {dtype.lanes}; ++{lane}) {{")
        yield lane
        self.out.close()

    def in_array(self, expr: PrimExpr, hint: str) -> str:
        """An array with the lanes of a vector, as they lie in memory."""
        dtype = expr.dtype
        name = self.out.array(memory_type(dtype.element_of()), hint, dtype.lanes)
        with self.lanes(dtype) as lane:
            self.out.line(f"{name}[{lane}] = {self.lane_of(expr, lane)};")
        return name

    def temp(self, dtype: DataType, value: str) -> Code:
        return self.held(value_type(dtype), value)

    def held(self, kind: str, value: str) -> Code:
        """A value kept in a variable of a type."""
        name = self.out.declare(kind, "t", value)
        self.out.read(name)
        return Code(name)

    def ordered(self, dtype: DataType, value: Code) -> Code:
        """A value that depends on memory, fixed at this moment if that matters."""
        return self.temp(dtype, value) if self._in_order else value

    def in_branch(self, expr: PrimExpr) -> tuple[list[str], Code]:
        """Lines that only one side of a condition runs go into a statement expression."""
        lines, value = super().in_branch(expr)
        return [], in_statement(lines, value)

    # --- leaves ---

    def visit_var_(self, op: e.Var) -> Code:
        value = self.known(op)
        self.out.read(value)
        if op not in self._arrays:
            return value
        lane = Code(f"{value}[{self.lane}]")
        return Code(f"{lane} != 0", COMPARE) if op.dtype.element_of().is_bool else lane

    def int_literal(self, dtype: DataType, value: int) -> str:
        if dtype.is_handle:
            return Code("NULL") if value == 0 else Code(f"(void*){value}LL", UNARY)
        return int_literal(dtype, value)

    def float_literal(self, dtype: DataType, value: float) -> str:
        text = float_literal(dtype, value)
        if "N" in text:
            self.module.header("math.h")
        return text

    def visit_string_imm_(self, op: e.StringImm) -> Code:
        return Code(string_literal(op.value))

    # --- arithmetic ---

    def binary(self, op: e.BinaryOpExpr, dtype: DataType, a: Code, b: Code) -> str:
        if dtype.is_handle:
            raise DTypeError(f"{type(op).__name__}: arithmetic on addresses; legal: on numbers")
        if dtype.is_bool:
            return self.bool_arithmetic(op, a, b)
        if dtype.is_float and isinstance(op, e.Mod):
            return self.library_call("fmod", dtype, [a, b])
        if isinstance(op, (e.FloorDiv, e.FloorMod)) and not dtype.is_float:
            power = power_of_two(op.b)
            if power is not None:
                return code(self.by_power(dtype, a, power, isinstance(op, e.FloorMod)))
        name = self._helper_of(op, dtype)
        if name is not None:
            func = self.module.need(f"{name}_{short_name(dtype)}")
            found = Code(f"{func}({a}, {b})")
            odd = dtype.is_integer and dtype.bits != carried_bits(dtype)
            return self.fit(dtype, found) if odd else found
        sign, level = _INFIX[type(op)]
        return self.fit(dtype, Code(f"{a.at(level)} {sign} {b.at(level - 1)}", level))

    def _helper_of(self, op: e.BinaryOpExpr, dtype: DataType) -> str | None:
        """The helper function that does it; None where C's operator (rounding to zero) does."""
        if type(op) in _DIVIDED and not dtype.is_float:
            if dtype.is_int and type(op) in _HELPED:
                return _HELPED[type(op)]
            safe = literal(op.b) not in (None, 0, -1)  # no machine traps on it
            return None if safe else _DIVIDED[type(op)]
        return _HELPED.get(type(op))

    def fit(self, dtype: DataType, value: Code) -> Code:
        """The result of an operation that C may have done in a wider type."""
        if not dtype.is_integer or dtype.bits in (32, 64):
            return value
        if dtype.bits == carried_bits(dtype):
            return Code(f"({value_type(dtype)}){value.at(UNARY)}", UNARY)
        func = self.module.need(f"wrap_{short_name(dtype)}")
        return Code(f"{func}(({value_type(dtype)}){value.at(UNARY)})")

    def library_call(self, name: str, dtype: DataType, args: Sequence[Code]) -> Code:
        """A function of the C library on floats or doubles."""
        self.module.header("math.h")
        given = ", ".join(a for a in args)
        return Code(f"{name}{'f' if dtype.bits == 32 else ''}({given})")

    def compare(self, dtype: DataType, sign: str, a: Code, b: Code) -> str:
        if dtype.is_uint and sign in (">=", "<") and b in ("0", "0U", "0ULL"):
            return "true" if sign == ">=" else "false"  # a compiler would warn
        return Code(f"{a.at(ADD)} {sign} {b.at(ADD)}", COMPARE)

    def choose(self, dtype: DataType, condition: Code, a: Code, b: Code) -> str:
        if dtype.is_handle and not (a.endswith('"') and b.endswith('"')):  # not texts
            a, b = (Code(f"(void*){x.at(ATOM)}", UNARY) for x in (a, b))
        found = super().choose(dtype, condition, a, b)
        element = dtype.element_of()
        if element.is_integer and element.bits < 32 and not element.is_bool:
            return Code(f"({value_type(element)})({found})", UNARY)
        return found

    def discard(self, value: PrimExpr, text: Code) -> str:
        return f"(void){text.at(ATOM)};"

    def declare_later(self, dtype: DataType, hint: str) -> str:
        raise AssertionError("branches are expressions")

    # --- vectors ---

    def visit_broadcast_(self, op: e.Broadcast) -> Code:
        before, self.lane = self.lane, None
        try:
            return self.visit_expr(op.value)
        finally:
            self.lane = before

    def visit_ramp_(self, op: e.Ramp) -> Code:
        lane = self.lane
        assert lane is not None, "vectors are visited lane by lane"
        dtype = op.dtype.element_of()
        base, step = self.lane_of(op.base, "0"), self.lane_of(op.stride, "0")
        number = Code(lane) if dtype == "int32" else self.cast(DataType("int32"), dtype, Code(lane))
        if isinstance(op.stride, e.IntImm) and op.stride.value == 1:
            moved = number
        elif lane == "0":
            return base
        else:
            moved = Code(f"{number.at(MUL)} * {step.at(UNARY)}", MUL)
        if isinstance(op.base, e.IntImm) and op.base.value == 0:
            return self.fit(dtype, moved)
        return self.fit(dtype, Code(f"{base.at(ADD)} + {moved.at(MUL)}", ADD))

    def visit_shuffle_(self, op: e.Shuffle) -> Code:
        sources = [(v, lane) for v in op.vectors for lane in range(v.dtype.lanes)]
        picks = [sources[_lane_number(i)] for i in op.indices]
        if self.lane is None or self.lane.isdecimal():
            source, number = picks[int(self.lane or 0)]
            return self.lane_of(source, str(number))
        lanes = [self.lane_of(source, str(number)) for source, number in picks]
        element = op.dtype.element_of()
        name = self.out.array(value_type(element), "lanes", len(lanes))
        for n, lane in enumerate(lanes):
            self.out.line(f"{name}[{n}] = {lane};")
        self.out.read(name)
        return Code(f"{name}[{self.lane}]")

    # --- memory ---

    def element(self, buffer: Buffer, index: Code) -> str:
        """The text of one element of a buffer, in memory."""
        base = self.known(buffer.data)
        kind = memory_type(buffer.dtype.element_of())
        if buffer.data in self.volatile:
            kind = f"volatile {kind}"
        elif self.pointees.get(buffer.data) == kind:
            return f"{base.at(ATOM)}[{index}]"
        return f"(({kind}*){base.at(ATOM)})[{index}]"

    def element_index(self, buffer: Buffer, indices: Sequence[PrimExpr], lane: str | None) -> Code:
        """The flat index of the element that one lane of an access reads or writes."""
        if len(indices) > 1:
            raise InternalError(
                message(
                    f"access of buffer {buffer.name}",
                    found=f"{len(indices)} indices",
                    where=f"function {self.out.signature.name}",
                    legal="one index; tir.FlattenBuffer brings buffers to this form",
                )
            )
        index = indices[0] if indices else e.IntImm("int32", 0)
        wide = buffer.dtype.lanes  # elements that are vectors
        if lane is None or (wide == 1 and index.dtype.is_vector):
            return self.lane_of(index, lane or "0")
        outer = lane if wide == 1 or index.dtype.is_scalar else f"{lane} / {wide}"
        inner = lane if index.dtype.is_scalar else f"{lane} % {wide}"
        start = self.lane_of(index, outer)
        if wide == 1:
            return Code(f"{start.at(ADD)} + {inner}", ADD)
        if isinstance(index, e.IntImm) and index.value == 0:
            return Code(inner, MUL)
        return Code(f"{start.at(MUL)} * {wide} + {inner}", ADD)

    def visit_buffer_load_(self, op: e.BufferLoad) -> Code:
        refuse_predicate(op)
        dtype = op.dtype.element_of()
        index = self.element_index(op.buffer, op.indices, self.lane)
        self.out.read(self.known(op.buffer.data))
        text = self.element(op.buffer, index)
        value = Code(text)
        if dtype.is_bool:
            value = Code(f"{text} != 0", COMPARE)
        elif carried_bits(dtype) != dtype.bits and dtype.is_integer:
            value = self.fit(dtype, value)
        return self.ordered(dtype, value)

    def address(self, load: e.BufferLoad) -> Code:
        """Where the (first) element of an access lies."""
        index = self.element_index(load.buffer, load.indices, None if load.dtype.is_scalar else "0")
        self.out.read(self.known(load.buffer.data))
        return Code(f"&{self.element(load.buffer, index)}", UNARY)

    # --- casts ---

    def convert(self, source: DataType, target: DataType, value: Code) -> str:
        return self.cast(source, target, value)

    def cast(self, source: DataType, target: DataType, value: Code) -> Code:
        """One lane converted from one type to another."""
        source, target = source.element_of(), target.element_of()
        if source is target:
            return value
        if target.is_bool:
            zero = "NULL" if source.is_handle else float_literal(source, 0) if (
                source.is_floating) else int_literal(source, 0)  # fmt: skip
            return Code(f"{value.at(ADD)} != {zero}", COMPARE)
        kind = value_type(target)
        through = "(intptr_t)" if source.is_handle != target.is_handle else ""
        made = Code(f"({kind}){through}{value.at(UNARY)}", UNARY)
        odd = target.is_integer and carried_bits(target) != target.bits
        lossy = target.bits < source.bits or target.is_int != source.is_int
        return self.fit(target, value) if odd and lossy else made

    # --- lets and calls ---

    def visit_let_(self, op: e.Let) -> Code:
        node: PrimExpr = op
        while isinstance(node, e.Let):
            self.let(node.var, node.value, mixed=self.lane is None or _mixes_lanes(node.body))
            node = node.body
        return self.visit_expr(node)

    def let(self, var: e.Var, value: PrimExpr, *, mixed: bool = True) -> None:
        """Declare a variable; a vector's lanes go to an array where more than one is needed."""
        if var.dtype.is_vector and mixed:
            self.values[var] = Code(self.in_array(value, var.name))
            self._arrays.add(var)
            return
        made = self.lane_of(value, self.lane or "0")
        if value.dtype.is_void:
            return
        kind = variable_type(var)
        if kind.endswith("*") and kind != "void*":
            made = Code(f"({kind}){made.at(UNARY)}")
        self.values[var] = Code(self.out.declare(kind, var.name, made))
        self.pointees[var] = kind[:-1] if kind.endswith("*") else None

    def visit_call_(self, op: e.Call) -> Code:
        made = super().visit_call_(op)
        if isinstance(op.op, GlobalVar) or not (self._in_order and is_acting_call(op) and made):
            return made
        return made if op.dtype.is_void else self.temp(op.dtype.element_of(), made)


def is_text(expr: PrimExpr) -> bool:
    """Whether a value is a string, or one of several strings."""
    while isinstance(expr, e.Select) and isinstance(expr.true_value, e.StringImm):
        expr = expr.false_value
    return isinstance(expr, e.StringImm)


def _mixes_lanes(expr: PrimExpr) -> bool:
    """Whether a lane of `expr` may need other lanes of a variable."""
    return any(
        isinstance(node, e.Shuffle)
        or (
            isinstance(node, e.Call)
            and isinstance(node.op, Op)
            and (node.op.name in _SHUFFLES or _changes_lanes(node))
        )
        for node in walk(expr)
    )


def _changes_lanes(call: e.Call) -> bool:
    """A reinterpretation that cuts or joins lanes."""
    assert isinstance(call.op, Op), "the caller looked"
    return (
        call.op.name == "tir.reinterpret"
        and call.dtype.lanes != call.args[0].dtype.lanes
        and element_bytes(call.dtype.element_of()) != element_bytes(call.args[0].dtype.element_of())
    )


def _lane_number(index: PrimExpr) -> int:
    if isinstance(index, e.IntImm):
        return index.value
    raise CheckError("Shuffle: C code needs constant lane numbers")
