"""Expressions to C text; each visit returns the text of the value.

A vector has no C type here: its expression is written for one lane at a time, and a loop over the
lanes stands around it. While `lane` is set, a visit gives the text of that lane.

    B[ramp(i * 4, 1, 4)] = A[ramp(i * 4, 1, 4)] * broadcast(c, 4)
    ->  for (int32_t lane = 0; lane < 4; ++lane) { B[i * 4 + lane] = A[i * 4 + lane] * c; }

What needs a statement (a let, a call that may fail) is put before the statement at hand, or, where
only one side of a condition may run it, into a statement expression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from tvm.error import DTypeError, InternalError, TVMError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.op import Op
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.buffer import Buffer
from tvm.tir.functor import TirFunctor, walk
from tvm.tir.op import builtin
from tvm.tir.op.arith import literal
from tvm.tir.op.forms import power_of_two, terms_of

from .function_text import FunctionText, in_statement
from .source_text import SourceText
from .types import (
    ADD,
    AND,
    ATOM,
    BITS,
    CHOICE,
    COMPARE,
    MUL,
    OR,
    UNARY,
    Code,
    carried_bits,
    element_bytes,
    float_literal,
    int_literal,
    memory_type,
    short_name,
    small_float,
    string_literal,
    value_type,
    variable_type,
)

FLOAT32: Final = DataType("float32")
FLOAT64: Final = DataType("float64")
INT64: Final = DataType("int64")
# An expression nested deeper is cut by a variable: compilers limit brackets (clang: 256).
DEEPEST: Final = 40

_INFIX: Final = {e.Add: ("+", ADD), e.Sub: ("-", ADD), e.Mul: ("*", MUL), e.Div: ("/", MUL),
                 e.Mod: ("%", MUL), e.FloorDiv: ("/", MUL),
                 e.FloorMod: ("%", MUL)}  # fmt: skip
_DIVIDED: Final = {e.Div: "div", e.Mod: "mod", e.FloorDiv: "div", e.FloorMod: "mod"}
_HELPED: Final = {
    e.Min: "min", e.Max: "max", e.FloorDiv: "floordiv", e.FloorMod: "floormod",
}  # fmt: skip
_COMPARE: Final = {e.EQ: "==", e.NE: "!=", e.LT: "<", e.LE: "<=", e.GT: ">", e.GE: ">="}
_SHUFFLES: Final = frozenset({"tir.vectorlow", "tir.vectorhigh", "tir.vectorcombine"})


class ExprEmitter(TirFunctor[Code, None]):
    """Writes expressions of one function."""

    def __init__(self, out: FunctionText) -> None:
        self.out = out
        self.values: dict[e.Var, Code] = {}
        self.pointees: dict[e.Var, str | None] = {}  # what a pointer is declared to point to
        self.lane: str | None = None
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
        self._in_order = before or has_effects(expr)
        try:
            return self.visit_expr(expr)
        finally:
            self._in_order = before

    def lane_of(self, expr: PrimExpr, lane: str) -> Code:
        """One lane of a vector expression; of a scalar one, its value."""
        before, self.lane = self.lane, lane if expr.dtype.is_vector else None
        try:
            return self.visit_expr(expr)
        finally:
            self.lane = before

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
            self.out.line(f"{name}[{lane}] = {self.lane_of(expr, lane).text};")
        return name

    def temp(self, kind: str, value: Code) -> Code:
        """A value kept in a variable."""
        name = self.out.declare(kind, "t", value.text)
        self.out.read(name)
        return Code(name)

    def shallow(self, dtype: DataType, value: Code) -> Code:
        """The value; in a variable if its text is nested deeply."""
        return value if value.depth < DEEPEST else self.temp(value_type(dtype), value)

    def ordered(self, dtype: DataType, value: Code) -> Code:
        """A value that depends on memory, fixed at this moment if that matters."""
        return self.temp(value_type(dtype), value) if self._in_order else value

    def guarded(self, expr: PrimExpr) -> Code:
        """A value that is computed only where a condition holds."""
        with self.out.apart() as lines:
            value = self.visit_expr(expr)
        return in_statement(lines, value)

    # --- leaves ---

    def visit_var_(self, op: e.Var) -> Code:
        value = self.known(op)
        self.out.read(value.text)
        if op not in self._arrays:
            return value
        lane = Code(f"{value.text}[{self.lane}]")
        return Code(f"{lane.text} != 0", COMPARE) if op.dtype.element_of().is_bool else lane

    def known(self, op: e.Var) -> Code:
        """The name of a variable."""
        value = self.values.get(op)
        if value is None:
            raise InternalError(
                message(
                    f"use of variable {op.name}",
                    found="it is not defined here",
                    where=f"function {self.out.signature.name}",
                    legal="parameters, and variables of enclosing loops and lets",
                )
            )
        return value

    def visit_int_imm_(self, op: e.IntImm) -> Code:
        if op.dtype.is_handle:
            return Code("NULL") if op.value == 0 else Code(f"(void*){op.value}LL", UNARY)
        return int_literal(op.dtype, op.value)

    def visit_float_imm_(self, op: e.FloatImm) -> Code:
        code = float_literal(op.dtype, op.value)
        if "N" in code.text:
            self.module.header("math.h")
        return code

    def visit_string_imm_(self, op: e.StringImm) -> Code:
        return Code(string_literal(op.value))

    # --- arithmetic ---

    def visit_binary_(self, op: e.BinaryOpExpr) -> Code:
        """Trees of arithmetic are walked with a stack: a sum may have thousands of terms."""
        todo: list[tuple[PrimExpr, bool]] = [(op, False)]
        done: list[Code] = []
        while todo:
            node, ready = todo.pop()
            if not isinstance(node, e.BinaryOpExpr):
                done.append(self.visit_expr(node))
            elif ready:
                b = done.pop()
                found = self._binary(node, done.pop(), b)
                done.append(self.shallow(node.dtype.element_of(), found))
            else:
                todo += [(node, True), (node.b, False), (node.a, False)]
        return done[0]

    def _binary(self, op: e.BinaryOpExpr, a: Code, b: Code) -> Code:
        dtype = op.dtype.element_of()
        if dtype.is_handle:
            raise DTypeError(f"{type(op).__name__}: arithmetic on addresses; legal: on numbers")
        if small_float(dtype) is not None:  # computed in float
            wide = self._arithmetic(op, FLOAT32, self.widen(dtype, a), self.widen(dtype, b))
            return self.narrow(dtype, wide)
        return self._arithmetic(op, dtype, a, b)

    def _arithmetic(self, op: e.BinaryOpExpr, dtype: DataType, a: Code, b: Code) -> Code:
        depth = max(a.depth, b.depth) + 1
        if dtype.is_bool:
            return self._bool_arithmetic(op, a, b)
        if dtype.is_float and isinstance(op, e.Mod):
            return self.library_call("fmod", dtype, [a, b])
        if isinstance(op, (e.FloorDiv, e.FloorMod)) and not dtype.is_float:
            power = power_of_two(op.b)
            if power is not None:  # shift and mask round toward minus infinity
                rest = isinstance(op, e.FloorMod)
                digit = int_literal(dtype, (1 << power) - 1 if rest else power).text
                return Code(f"{a.at(UNARY)} {'&' if rest else '>>'} {digit}", BITS, depth)
        name = self._helper_of(op, dtype)
        if name is not None:
            func = self.module.need(f"{name}_{short_name(dtype)}")
            found = Code(f"{func}({a.text}, {b.text})", ATOM, depth)
            odd = dtype.is_integer and dtype.bits != carried_bits(dtype)
            return self.fit(dtype, found) if odd else found
        sign, level = _INFIX[type(op)]
        return self.fit(dtype, Code(f"{a.at(level)} {sign} {b.at(level - 1)}", level, depth))

    def _helper_of(self, op: e.BinaryOpExpr, dtype: DataType) -> str | None:
        """The helper function that does it; None where C's operator (rounding to zero) does."""
        if type(op) in _DIVIDED and not dtype.is_float:
            if dtype.is_int and type(op) in _HELPED:
                return _HELPED[type(op)]
            safe = literal(op.b) not in (None, 0, -1)  # no machine traps on it
            return None if safe else _DIVIDED[type(op)]
        return _HELPED.get(type(op))

    def _bool_arithmetic(self, op: e.BinaryOpExpr, a: Code, b: Code) -> Code:
        depth = max(a.depth, b.depth) + 1
        if isinstance(op, (e.Add, e.Sub)):  # numbers of one bit
            return Code(f"{a.at(UNARY)} != {b.at(UNARY)}", COMPARE, depth)
        if isinstance(op, (e.Mul, e.Min)):
            return Code(f"{a.at(UNARY)} && {b.at(UNARY)}", AND, depth)
        if isinstance(op, e.Max):
            return Code(f"{a.at(UNARY)} || {b.at(UNARY)}", OR, depth)
        return a if isinstance(op, (e.Div, e.FloorDiv)) else Code("false")

    def fit(self, dtype: DataType, value: Code) -> Code:
        """The result of an operation that C may have done in a wider type."""
        if not dtype.is_integer or dtype.bits in (32, 64):
            return value
        if dtype.bits == carried_bits(dtype):
            return Code(f"({value_type(dtype)}){value.at(UNARY)}", UNARY, value.depth + 1)
        func = self.module.need(f"wrap_{short_name(dtype)}")
        return Code(f"{func}(({value_type(dtype)}){value.at(UNARY)})", ATOM, value.depth + 1)

    def library_call(self, name: str, dtype: DataType, args: Sequence[Code]) -> Code:
        """A function of the C library on floats or doubles."""
        self.module.header("math.h")
        given = ", ".join(a.text for a in args)
        depth = max((a.depth for a in args), default=0) + 1
        return Code(f"{name}{'f' if dtype.bits == 32 else ''}({given})", ATOM, depth)

    def visit_cmp_(self, op: e.CmpExpr) -> Code:
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        dtype, sign = op.a.dtype.element_of(), _COMPARE[type(op)]
        if small_float(dtype) is not None:
            a, b = self.widen(dtype, a), self.widen(dtype, b)
        if dtype.is_uint and isinstance(op, (e.GE, e.LT)) and b.text in ("0", "0U", "0ULL"):
            return Code("true" if isinstance(op, e.GE) else "false")  # a compiler would warn
        depth = max(a.depth, b.depth) + 1
        return self.shallow(op.dtype.element_of(),
                            Code(f"{a.at(ADD)} {sign} {b.at(ADD)}", COMPARE, depth))  # fmt: skip

    # --- logic ---

    def visit_and_(self, op: e.And) -> Code:
        return self._logic(op, "&&", AND)

    def visit_or_(self, op: e.Or) -> Code:
        return self._logic(op, "||", OR)

    def _logic(self, op: e.And | e.Or, sign: str, level: int) -> Code:
        terms = terms_of(op, type(op))
        made = [self.visit_expr(terms[0]), *[self.guarded(term) for term in terms[1:]]]
        text = f" {sign} ".join(term.at(COMPARE) for term in made)
        return Code(text, level, max(term.depth for term in made) + 1)

    def visit_not_(self, op: e.Not) -> Code:
        value = self.visit_expr(op.a)
        return Code(f"!{value.at(ATOM)}", UNARY, value.depth + 1)

    def visit_select_(self, op: e.Select) -> Code:
        if op.condition.dtype.is_vector or self.lane is None:
            chosen = self.visit_expr(op.condition)
        else:
            chosen = self.lane_of(op.condition, "0")
        return self._choice(op.dtype, chosen, op.true_value, op.false_value)

    def if_then_else(self, condition: PrimExpr, a: PrimExpr, b: PrimExpr) -> Code:
        """Evaluate only the side that is taken."""
        scalar = self.lane is not None and not condition.dtype.is_vector
        chosen = self.lane_of(condition, "0") if scalar else self.visit_expr(condition)
        if a.dtype.is_void:
            self._one_of(chosen, a, b)
            return Code("")
        return self._choice(a.dtype, chosen, a, b)

    def _choice(self, dtype: DataType, chosen: Code, a: PrimExpr, b: PrimExpr) -> Code:
        yes, no = self.guarded(a), self.guarded(b)
        if dtype.is_handle and not (is_text(a) and is_text(b)):  # pointers to different types
            yes, no = (Code(f"(void*){x.at(ATOM)}", UNARY, x.depth) for x in (yes, no))
        text = f"{chosen.at(COMPARE)} ? {yes.at(BITS)} : {no.at(BITS)}"
        depth = max(chosen.depth, yes.depth, no.depth) + 1
        element = dtype.element_of()
        narrow = element.is_integer and element.bits < 32 and not element.is_bool
        found = Code(text, CHOICE, depth)
        if narrow or small_float(element) is not None:
            found = Code(f"({value_type(element)})({text})", UNARY, depth)
        return self.shallow(element, found)

    def _one_of(self, chosen: Code, a: PrimExpr, b: PrimExpr) -> None:
        self.out.open(f"if ({chosen.text}) {{")
        for n, side in enumerate((a, b)):
            made = self.visit_expr(side)
            if made.text:
                self.out.line(f"(void){made.at(ATOM)};")
            if n == 0:
                self.out.indent -= 1
                self.out.open("} else {")
        self.out.close()

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
            moved = Code(f"{number.at(MUL)} * {step.at(UNARY)}", MUL, step.depth + 1)
        if isinstance(op.base, e.IntImm) and op.base.value == 0:
            return self.fit(dtype, moved)
        depth = max(base.depth, moved.depth) + 1
        return self.fit(dtype, Code(f"{base.at(ADD)} + {moved.at(MUL)}", ADD, depth))

    def visit_shuffle_(self, op: e.Shuffle) -> Code:
        sources = [(v, lane) for v in op.vectors for lane in range(v.dtype.lanes)]
        picks = [sources[_lane_number(i)] for i in op.indices]
        if self.lane is None or self.lane.isdecimal():
            source, number = picks[int(self.lane or 0)]
            return self.lane_of(source, str(number))
        lanes = [self.lane_of(source, str(number)).text for source, number in picks]
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
            return f"{base.at(ATOM)}[{index.text}]"
        return f"(({kind}*){base.at(ATOM)})[{index.text}]"

    def place(self, buffer: Buffer, indices: Sequence[PrimExpr], lane: str | None) -> Code:
        """The number of the element that an access means, for one lane of it."""
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
            return Code(f"{start.at(ADD)} + {inner}", ADD, start.depth + 1)
        if isinstance(index, e.IntImm) and index.value == 0:
            return Code(inner, MUL)
        return Code(f"{start.at(MUL)} * {wide} + {inner}", ADD, start.depth + 2)

    def visit_buffer_load_(self, op: e.BufferLoad) -> Code:
        dtype = op.dtype.element_of()
        index = self.place(op.buffer, op.indices, self.lane)
        self.out.read(self.known(op.buffer.data).text)
        text = self.element(op.buffer, index)
        value = Code(text, ATOM, index.depth + 1)
        if dtype.is_bool:
            value = Code(f"{text} != 0", COMPARE, index.depth + 1)
        elif carried_bits(dtype) != dtype.bits and dtype.is_integer:
            value = self.fit(dtype, value)
        if op.predicate is not None:
            mask = self.lane_of(op.predicate, self.lane or "0")
            zero = "false" if dtype.is_bool else "NULL" if dtype.is_handle else "0"
            choice = f"{mask.at(COMPARE)} ? {value.at(BITS)} : {zero}"
            value = Code(f"({value_type(dtype)})({choice})", UNARY, value.depth + 2)
        return self.ordered(dtype, value)

    def address(self, load: e.BufferLoad) -> Code:
        """Where the (first) element of an access lies."""
        index = self.place(load.buffer, load.indices, None if load.dtype.is_scalar else "0")
        self.out.read(self.known(load.buffer.data).text)
        return Code(f"&{self.element(load.buffer, index)}", UNARY, index.depth + 1)

    # --- casts ---

    def visit_cast_(self, op: e.Cast) -> Code:
        return self.cast(op.value.dtype, op.dtype, self.visit_expr(op.value))

    def cast(self, source: DataType, target: DataType, value: Code) -> Code:
        """One lane converted from one type to another."""
        source, target = source.element_of(), target.element_of()
        if source is target:
            return value
        if small_float(source) is not None:
            return self.cast(FLOAT32, target, self.widen(source, value))
        if small_float(target) is not None:
            if source == "float64" and target == "float16":
                func = self.module.need("f64_to_f16")
                return Code(f"{func}({value.text})", ATOM, value.depth + 1)
            return self.narrow(target, self.cast(source, FLOAT32, value))
        if target.is_bool:
            zero = "NULL" if source.is_handle else float_literal(source, 0).text if (
                source.is_floating) else int_literal(source, 0).text  # fmt: skip
            return Code(f"{value.at(ADD)} != {zero}", COMPARE, value.depth + 1)
        kind = value_type(target)
        through = "(intptr_t)" if source.is_handle != target.is_handle else ""
        made = Code(f"({kind}){through}{value.at(UNARY)}", UNARY, value.depth + 1)
        odd = target.is_integer and carried_bits(target) != target.bits
        lossy = target.bits < source.bits or target.is_int != source.is_int
        return self.fit(target, value) if odd and lossy else made

    def widen(self, dtype: DataType, value: Code) -> Code:
        """A small float as float."""
        func = self.module.need(f"{small_float(dtype)}_to_f32")
        return Code(f"{func}({value.text})", ATOM, value.depth + 1)

    def narrow(self, dtype: DataType, value: Code) -> Code:
        """A float as a small float."""
        func = self.module.need(f"f32_to_{small_float(dtype)}")
        return Code(f"{func}({value.text})", ATOM, value.depth + 1)

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
        kind = variable_type(var)
        if kind.endswith("*") and kind != "void*":
            made = Code(f"({kind}){made.at(UNARY)}")
        self.values[var] = Code(self.out.declare(kind, var.name, made.text))
        self.pointees[var] = kind[:-1] if kind.endswith("*") else None

    def visit_call_(self, op: e.Call) -> Code:
        if isinstance(op.op, GlobalVar):
            return self.call_global(op)
        rule = self.rule_of(op.op)
        if rule is None:
            raise TVMError(
                message(
                    f"C code for {op.op.name}",
                    found="the C backend has no rule for this operator",
                    where=f"function {self.out.signature.name}",
                    legal="operators that lowering replaces, or that "
                    "tvm.backend.c.intrinsics lists",
                )
            )
        made = rule(self, op)
        if self._in_order and _acts(op) and made.text and not op.dtype.is_void:
            return self.temp(value_type(op.dtype.element_of()), made)
        return made

    def rule_of(self, op: Op) -> Callable[[ExprEmitter, e.Call], Code] | None:
        """The rule for an operator; the statement emitter knows where they are."""
        raise NotImplementedError

    def call_global(self, op: e.Call) -> Code:
        """A call of another function of the module."""
        raise NotImplementedError


def is_text(expr: PrimExpr) -> bool:
    """Whether a value is a string, or one of several strings."""
    while isinstance(expr, e.Select) and isinstance(expr.true_value, e.StringImm):
        expr = expr.false_value
    return isinstance(expr, e.StringImm)


def has_effects(expr: PrimExpr) -> bool:
    """Whether evaluating `expr` changes anything."""
    return any(isinstance(node, e.Call) and _acts(node) for node in walk(expr))


def _acts(call: e.Call) -> bool:
    return builtin.effect_of(call) >= e.CallEffectKind.UpdateState


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
    raise TVMError("Shuffle: C code needs constant lane numbers")
