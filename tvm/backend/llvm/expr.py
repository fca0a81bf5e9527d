"""Expressions to LLVM text; each visit returns the operand that holds the value."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from tvm.error import CheckError, DTypeError, InternalError, message
from tvm.ir.expr import GlobalVar, PrimExpr
from tvm.ir.op import Op
from tvm.support.compiled import mypyc_attr
from tvm.support.dtype import DataType
from tvm.tir import expr as e
from tvm.tir.functor import TirFunctor, expr_children
from tvm.tir.op.arith import literal
from tvm.tir.op.forms import power_of_two, terms_of

from .function_text import FunctionText
from .jit import llvm_version
from .lanes import lane_gap
from .module_text import ModuleText
from .narrow_indices import NarrowIndices
from .types import element_type, float_literal, int_literal, value_type, vector_of

INT32: Final = DataType("int32")
INT64: Final = DataType("int64")

_INT_OPS: Final = {e.Add: "add", e.Sub: "sub", e.Mul: "mul"}
_FLOAT_OPS: Final = {e.Add: "fadd", e.Sub: "fsub", e.Mul: "fmul", e.Div: "fdiv"}
_FLOAT_CMP: Final = {
    e.EQ: "oeq", e.NE: "une", e.LT: "olt", e.LE: "ole", e.GT: "ogt", e.GE: "oge",
}  # fmt: skip
_INT_CMP: Final = {e.EQ: "eq", e.NE: "ne", e.LT: "lt", e.LE: "le", e.GT: "gt", e.GE: "ge"}


@mypyc_attr(allow_interpreted_subclasses=True)
class ExprEmitter(TirFunctor[str, None]):
    """Turns expressions into instructions of one function."""

    def __init__(self, out: FunctionText) -> None:
        self.out = out
        self.values: dict[e.Var, str] = {}
        # Index arithmetic may not overflow (the program would be wrong anyway), data may.
        self._index_depth = 0
        self.narrow = NarrowIndices()
        # a multiplication and the addition of its result may become one instruction, always
        asked = out.module.fast_math
        fused = asked == "fast" or "contract" in asked
        self._asked = asked
        self._freedom = asked if fused else f"contract {asked}".strip()

    @property
    def module(self) -> ModuleText:
        """The module that the function belongs to."""
        return self.out.module

    # --- leaves ---

    def visit_var_(self, op: e.Var) -> str:
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

    def visit_int_imm_(self, op: e.IntImm) -> str:
        if op.dtype.is_handle:
            return "null" if op.value == 0 else f"inttoptr (i64 {op.value} to ptr)"
        return int_literal(op.dtype, op.value)

    def visit_float_imm_(self, op: e.FloatImm) -> str:
        return float_literal(op.dtype, op.value)

    def visit_string_imm_(self, op: e.StringImm) -> str:
        return self.module.string(op.value)

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
                done.append(self._binary(node, done.pop(), b))
            else:
                todo += [(node, True), (node.b, False), (node.a, False)]
        return done[0]

    def _binary(self, op: e.BinaryOpExpr, a: str, b: str) -> str:
        dtype = op.dtype
        if dtype.is_floating:
            return self._float_op(op, dtype, a, b)
        if dtype.is_handle:
            raise DTypeError(f"{type(op).__name__}: arithmetic on addresses; legal: on numbers")
        kind = value_type(dtype)
        simple = _INT_OPS.get(type(op))
        if simple is not None:
            flag = " nsw" if self._index_depth and dtype.is_int and dtype.bits >= 32 else ""
            return self.out.temp(f"{simple}{flag} {kind} {a}, {b}")
        if isinstance(op, (e.Min, e.Max)):
            signed = "s" if dtype.is_int else "u"
            wanted = "lt" if isinstance(op, e.Min) else "gt"
            chosen = self.out.temp(f"icmp {signed}{wanted} {kind} {a}, {b}")
            return self.select(dtype, chosen, a, b)
        return self._int_division(op, a, b)

    def _int_division(self, op: e.BinaryOpExpr, a: str, b: str) -> str:
        dtype, kind = op.dtype, value_type(op.dtype)
        wants_remainder = isinstance(op, (e.Mod, e.FloorMod))
        power = power_of_two(op.b)
        if power is not None and wants_remainder:
            self.narrow.masks((1 << power) - 1, op.a)
        if power is not None and dtype.is_int and isinstance(op, (e.FloorDiv, e.FloorMod)):
            return self._floor_by_power(dtype, a, power, wants_remainder)  # rounds down by itself
        divisor, nothing = self._safe_divisor(op, a, b)
        if not dtype.is_int:
            made = self.out.temp(f"{'urem' if wants_remainder else 'udiv'} {kind} {a}, {divisor}")
        elif isinstance(op, (e.Div, e.Mod)):
            made = self.out.temp(f"{'srem' if wants_remainder else 'sdiv'} {kind} {a}, {divisor}")
        else:
            made = self._floor_division(dtype, a, divisor, wants_remainder)
        if nothing is None or wants_remainder:
            return made
        return self.select(dtype, nothing, self.splat(dtype, "0"), made)

    def _safe_divisor(self, op: e.BinaryOpExpr, a: str, b: str) -> tuple[str, str | None]:
        """A divisor that no machine traps on, and where the real one is zero.

        As in numpy: dividing by zero gives zero, with remainder zero; the least number divided by
        -1 is itself. (It is divided by 1 instead, which has the remainder zero too.)
        """
        dtype, kind = op.dtype, value_type(op.dtype)
        known = literal(op.b)
        if known not in (None, 0, -1):
            return b, None
        zero = self.out.temp(f"icmp eq {kind} {b}, {self.splat(dtype, '0')}")
        unsafe = zero
        if dtype.is_int and not self._index_depth:
            low = self.splat(dtype, int_literal(dtype.element_of(), -(1 << (dtype.bits - 1))))
            least = self.out.temp(f"icmp eq {kind} {a}, {low}")
            minus = self.out.temp(f"icmp eq {kind} {b}, {self.splat(dtype, '-1')}")
            bools = vector_of("i1", dtype.lanes, dtype.is_scalable)
            over = self.out.temp(f"and {bools} {least}, {minus}")
            unsafe = self.out.temp(f"or {bools} {zero}, {over}")
        one = self.splat(dtype, int_literal(dtype.element_of(), 1))
        return self.select(dtype, unsafe, one, b), zero

    def _floor_by_power(self, dtype: DataType, a: str, power: int, wants_remainder: bool) -> str:
        kind = value_type(dtype)
        if wants_remainder:
            return self.out.temp(f"and {kind} {a}, {self.splat(dtype, str((1 << power) - 1))}")
        return self.out.temp(f"ashr {kind} {a}, {self.splat(dtype, str(power))}")

    def _floor_division(self, dtype: DataType, a: str, b: str, wants_remainder: bool) -> str:
        """The remainder of sdiv has the sign of a; that of floor has the sign of b."""
        kind = value_type(dtype)
        bools = vector_of("i1", dtype.lanes, dtype.is_scalable)
        zero = self.splat(dtype, "0")
        remainder = self.out.temp(f"srem {kind} {a}, {b}")
        uneven = self.out.temp(f"icmp ne {kind} {remainder}, {zero}")
        mixed = self.out.temp(f"xor {kind} {remainder}, {b}")
        signs_differ = self.out.temp(f"icmp slt {kind} {mixed}, {zero}")
        fix = self.out.temp(f"and {bools} {uneven}, {signs_differ}")
        if wants_remainder:
            moved = self.out.temp(f"add {kind} {remainder}, {b}")
            return self.select(dtype, fix, moved, remainder)
        quotient = self.out.temp(f"sdiv {kind} {a}, {b}")
        step = self.out.temp(f"sext {bools} {fix} to {kind}")
        return self.out.temp(f"add {kind} {quotient}, {step}")

    def _float_op(self, op: e.BinaryOpExpr, dtype: DataType, a: str, b: str) -> str:
        kind = value_type(dtype)
        simple = _FLOAT_OPS.get(type(op))
        if simple is not None:
            words = f"{simple} {self._freedom}".rstrip()
            return self.out.temp(f"{words} {kind} {a}, {b}")
        if isinstance(op, (e.Min, e.Max)):
            return self._float_min_max(op, dtype, a, b)
        if isinstance(op, e.Mod):
            return self.out.temp(f"frem {kind} {a}, {b}")
        quotient = self.out.temp(f"fdiv {kind} {a}, {b}")
        whole = self.intrinsic("floor", dtype, [quotient])
        if isinstance(op, e.FloorDiv):
            return whole
        back = self.out.temp(f"fmul {kind} {whole}, {b}")
        return self.out.temp(f"fsub {kind} {a}, {back}")

    def _float_min_max(self, op: e.BinaryOpExpr, dtype: DataType, a: str, b: str) -> str:
        """Not-a-number wins, as in numpy. With a literal one comparison does it, as on x86 one
        instruction then does; AArch64 has instructions for the whole.
        """
        kind, is_min = value_type(dtype), isinstance(op, e.Min)
        if _is_plain_number(op.a):
            a, b = b, a
        literal = _is_plain_number(op.a) or _is_plain_number(op.b)
        if literal and not self.module.machine_triple.startswith(("aarch64", "arm64")):
            chosen = self.out.temp(f"fcmp u{'lt' if is_min else 'gt'} {kind} {a}, {b}")
            return self.select(dtype, chosen, a, b)
        return self.intrinsic("minimum" if is_min else "maximum", dtype, [a, b], flags="nsz ")

    def visit_cmp_(self, op: e.CmpExpr) -> str:
        dtype = op.a.dtype
        gap = lane_gap(op.a, op.b) if dtype.is_int and dtype.bits == 64 else None
        if gap is not None:
            return self._narrow_cmp(op, *gap)
        a, b = self.visit_expr(op.a), self.visit_expr(op.b)
        if dtype.is_floating:
            return self.out.temp(f"fcmp {_FLOAT_CMP[type(op)]} {value_type(dtype)} {a}, {b}")
        sign = "" if isinstance(op, (e.EQ, e.NE)) else ("s" if dtype.is_int else "u")
        return self.out.temp(f"icmp {sign}{_INT_CMP[type(op)]} {value_type(dtype)} {a}, {b}")

    def _narrow_cmp(
        self, op: e.CmpExpr, a: PrimExpr, b: PrimExpr, lanes: list[int], a_varies: bool
    ) -> str:
        """A comparison of indices: one farther away than any lane is as good as just behind them.

        In lanes of 32 bits a mask takes half as many instructions, or a quarter.
        """
        most = max(map(abs, lanes)) + 1
        left, right = self.visit_index(a), self.visit_index(b)
        varying, other = (left, right) if a_varies else (right, left)
        low = self.out.temp(f"add nsw i64 {varying}, {-most}")
        high = self.out.temp(f"add nsw i64 {varying}, {most}")
        near = self.intrinsic("smax", INT64, [other, low])
        near = self.intrinsic("smin", INT64, [near, high])
        gap = f"{varying}, {near}" if a_varies else f"{near}, {varying}"
        wide = self.out.temp(f"sub nsw i64 {gap}")
        dtype = INT32.with_lanes(len(lanes))
        every = self.splat(dtype, self.out.temp(f"trunc i64 {wide} to i32"))
        sign = "" if isinstance(op, (e.EQ, e.NE)) else "s"
        apart = ", ".join(f"i32 {-lane}" for lane in lanes)
        kind = value_type(dtype)
        return self.out.temp(f"icmp {sign}{_INT_CMP[type(op)]} {kind} {every}, <{apart}>")

    # --- logic ---

    def visit_and_(self, op: e.And) -> str:
        return self._logic(op, "and", e.And)

    def visit_or_(self, op: e.Or) -> str:
        return self._logic(op, "or", e.Or)

    def _logic(self, op: e.And | e.Or, name: str, kind: type[e.And | e.Or]) -> str:
        terms = terms_of(op, kind)
        value = self.visit_expr(terms[0])
        for term in terms[1:]:
            if op.dtype.is_scalar and not is_safe(term):
                value = self._short_circuit(name, value, term)
            else:
                other, dtype = self.visit_expr(term), value_type(op.dtype)
                if kind is e.And and op.dtype.is_vector:
                    value = self.out.both(dtype, value, other)
                else:
                    value = self.out.temp(f"{name} {dtype} {value}, {other}")
        return value

    def _short_circuit(self, name: str, value: str, term: PrimExpr) -> str:
        out = self.out
        here, more, after = out.block, out.label(f"{name}.rest"), out.label(f"{name}.end")
        targets = (more, after) if name == "and" else (after, more)
        out.line(f"br i1 {value}, label %{targets[0]}, label %{targets[1]}")
        out.begin(more)
        other = self.visit_expr(term)
        last = out.block
        out.line(f"br label %{after}")
        out.begin(after)
        known = "false" if name == "and" else "true"
        return out.temp(f"phi i1 [ {known}, %{here} ], [ {other}, %{last} ]")

    def visit_not_(self, op: e.Not) -> str:
        value = self.visit_expr(op.a)
        ones = self.splat(op.dtype, "true")
        return self.out.temp(f"xor {value_type(op.dtype)} {value}, {ones}")

    def visit_select_(self, op: e.Select) -> str:
        condition = self.visit_expr(op.condition)
        a, b = self.visit_expr(op.true_value), self.visit_expr(op.false_value)
        return self.select(op.dtype, condition, a, b, op.condition.dtype)

    def select(
        self,
        dtype: DataType,
        condition: str,
        a: str,
        b: str,
        condition_type: DataType | None = None,
    ) -> str:
        """One of two values; the condition has as many lanes as they have unless it says so."""
        bools = vector_of("i1", dtype.lanes, dtype.is_scalable)
        if condition_type is not None:
            bools = value_type(condition_type)
        kind = value_type(dtype)
        return self.out.temp(f"select {bools} {condition}, {kind} {a}, {kind} {b}")

    def if_then_else(self, condition: PrimExpr, a: PrimExpr, b: PrimExpr) -> str:
        """Evaluate only the side that is taken; a plain choice where neither side can fail."""
        dtype = a.dtype
        if condition.dtype.lanes > 1 or (is_safe(a) and is_safe(b)):
            chosen = self.visit_expr(condition)
            return self.select(
                dtype, chosen, self.visit_expr(a), self.visit_expr(b), condition.dtype
            )
        out = self.out
        chosen = self.visit_expr(condition)
        yes, no, after = out.label("then"), out.label("else"), out.label("endif")
        out.line(f"br i1 {chosen}, label %{yes}, label %{no}")
        ends: list[str] = []
        for label, side in ((yes, a), (no, b)):
            out.begin(label)
            value = self.visit_expr(side)
            ends.append(f"[ {value}, %{out.block} ]")
            out.line(f"br label %{after}")
        out.begin(after)
        if dtype.is_void:
            return ""
        return out.temp(f"phi {value_type(dtype)} {', '.join(ends)}")

    # --- vectors ---

    def splat(self, dtype: DataType, value: str) -> str:
        """`value` in every lane of `dtype`; the value itself for a scalar type."""
        if dtype.is_scalar:
            return value
        element = element_type(dtype)
        kind = value_type(dtype)
        if value in ("0", "false", "null"):
            return "zeroinitializer"
        mask = vector_of("i32", dtype.lanes, dtype.is_scalable)
        if dtype.is_scalable and not value.startswith("%"):  # a constant needs no instruction
            first = f"insertelement ({kind} poison, {element} {value}, i64 0)"
            return f"shufflevector ({kind} {first}, {kind} poison, {mask} zeroinitializer)"
        first = self.out.temp(f"insertelement {kind} poison, {element} {value}, i64 0")
        return self.out.temp(
            f"shufflevector {kind} {first}, {kind} poison, {mask} zeroinitializer"
        )

    def visit_broadcast_(self, op: e.Broadcast) -> str:
        value = op.value
        if isinstance(value, e.FloatImm) and value.value == 0.0 and str(value.value) == "0.0":
            return "zeroinitializer"
        return self.splat(op.dtype, self.visit_expr(value))

    def visit_ramp_(self, op: e.Ramp) -> str:
        dtype, kind = op.dtype, value_type(op.dtype)
        base = self.splat(dtype, self.visit_expr(op.base))
        if dtype.is_scalable:
            prefix = "vector" if llvm_version() >= (19,) else "experimental"
            steps = self.intrinsic(f"{prefix}.stepvector", dtype, [])
            stride = self.splat(dtype, self.visit_expr(op.stride))
            scaled = self.out.temp(f"mul {kind} {steps}, {stride}")
        elif isinstance(op.stride, e.IntImm):
            element = element_type(dtype)
            scaled = "<" + ", ".join(
                f"{element} {lane * op.stride.value}" for lane in range(dtype.lanes)
            ) + ">"  # fmt: skip
        else:
            element = element_type(dtype)
            lanes = "<" + ", ".join(f"{element} {i}" for i in range(dtype.lanes)) + ">"
            stride = self.splat(dtype, self.visit_expr(op.stride))
            scaled = self.out.temp(f"mul {kind} {lanes}, {stride}")
        return self.out.temp(f"add {kind} {base}, {scaled}")

    def visit_shuffle_(self, op: e.Shuffle) -> str:
        picks = [self._lane(i) for i in op.indices]
        element = element_type(op.dtype)
        if all(v.dtype.is_scalar for v in op.vectors):
            scalars = [self.visit_expr(v) for v in op.vectors]
            return self.vector_of_scalars(op.dtype, [scalars[i] for i in picks])
        value, lanes = self._joined([(self.visit_expr(v), v.dtype.lanes) for v in op.vectors],
                                    element)  # fmt: skip
        source = vector_of(element, lanes)
        if len(picks) == 1:
            return self.out.temp(f"extractelement {source} {value}, i64 {picks[0]}")
        mask = ", ".join(f"i32 {i}" for i in picks)
        return self.out.temp(
            f"shufflevector {source} {value}, {source} poison, <{len(picks)} x i32> <{mask}>"
        )

    def _lane(self, index: PrimExpr) -> int:
        if isinstance(index, e.IntImm):
            return index.value
        raise CheckError("Shuffle: machine code needs constant lane numbers")

    def _joined(self, parts: Sequence[tuple[str, int]], element: str) -> tuple[str, int]:
        """Vectors one after the other, as one vector."""
        value, lanes = self._as_vector(parts[0], element)
        for part in parts[1:]:
            other, more = self._as_vector(part, element)
            width = max(lanes, more)
            value, other = self._widen(value, lanes, width, element), self._widen(
                other, more, width, element
            )
            picks = [*range(lanes), *range(width, width + more)]
            kind, mask = vector_of(element, width), ", ".join(f"i32 {i}" for i in picks)
            if width == 1:
                kind = f"<1 x {element}>"
            value = self.out.temp(
                f"shufflevector {kind} {value}, {kind} {other}, <{len(picks)} x i32> <{mask}>"
            )
            lanes += more
        return value, lanes

    def _as_vector(self, part: tuple[str, int], element: str) -> tuple[str, int]:
        value, lanes = part
        if lanes > 1:
            return value, lanes
        return self.out.temp(f"insertelement <1 x {element}> poison, {element} {value}, i64 0"), 1

    def _widen(self, value: str, lanes: int, width: int, element: str) -> str:
        if lanes == width:
            return value
        kind = f"<{lanes} x {element}>"
        mask = ", ".join(f"i32 {i if i < lanes else 'poison'}" for i in range(width))
        mask = mask.replace("i32 poison", "i32 undef")
        return self.out.temp(
            f"shufflevector {kind} {value}, {kind} poison, <{width} x i32> <{mask}>"
        )

    def vector_of_scalars(self, dtype: DataType, scalars: Sequence[str]) -> str:
        """Scalars put side by side; the scalar itself if there is one."""
        if dtype.is_scalar:
            return scalars[0]
        kind, element, value = value_type(dtype), element_type(dtype), "poison"
        for lane, scalar in enumerate(scalars):
            value = self.out.temp(f"insertelement {kind} {value}, {element} {scalar}, i64 {lane}")
        return value

    def lanes_of(self, dtype: DataType, value: str) -> list[str]:
        """The lanes of a vector as scalars."""
        if dtype.is_scalar:
            return [value]
        kind = value_type(dtype)
        lanes = range(dtype.lanes)
        return [self.out.temp(f"extractelement {kind} {value}, i64 {i}") for i in lanes]

    # --- casts ---

    def visit_cast_(self, op: e.Cast) -> str:
        if op.dtype.is_integer and op.value.dtype.is_integer:
            self.narrow.casts(op.value, op.dtype)
        if op.value.dtype.is_float and op.dtype.is_integer:
            return self.cast(op.value.dtype, op.dtype, self._as_written(op.value))
        return self.cast(op.value.dtype, op.dtype, self.visit_expr(op.value))

    def _as_written(self, expr: PrimExpr) -> str:
        """A value that becomes an integer: the last bit may decide which, so nothing is fused."""
        before, self._freedom = self._freedom, self._asked
        try:
            return self.visit_expr(expr)
        finally:
            self._freedom = before

    def cast(self, source: DataType, target: DataType, value: str) -> str:
        """`value` converted from one type to another."""
        if source is target:
            return value
        a, b = value_type(source), value_type(target)
        how = _cast_instruction(source, target)
        if how == "nonzero":
            zero = "zeroinitializer" if source.lanes > 1 or source.is_scalable else (
                "0x0000000000000000" if source.is_float else "0")  # fmt: skip
            if source.is_float:
                zero = zero if zero == "zeroinitializer" else float_literal(source, 0.0)
                return self.out.temp(f"fcmp une {a} {value}, {zero}")
            return self.out.temp(f"icmp ne {a} {value}, {zero}")
        if how is None:
            return value
        if how in ("fptosi", "fptoui") and target.bits < 8:  # what does not fit loses high bits
            wide = DataType("int32").with_lanes(target.lanes, target.is_scalable)
            return self.cast(wide, target, self.cast(source, wide, value))
        found = self.out.temp(f"{how} {a} {value} to {b}")
        # LLVM makes min(fptoui(x), 2**n - 1) one conversion to n bits, and ends the process over
        # the n = 0 of a minimum with zero (22.1, where zero shows only late)
        return self.out.temp(f"freeze {b} {found}") if how == "fptoui" else found

    # --- lets and calls ---

    def visit_let_(self, op: e.Let) -> str:
        node: PrimExpr = op
        while isinstance(node, e.Let):
            self.values[node.var] = self.visit_expr(node.value)
            node = node.body
        return self.visit_expr(node)

    def visit_call_(self, op: e.Call) -> str:
        if isinstance(op.op, GlobalVar):
            return self.call_global(op)
        rule = self.rule_of(op.op)
        if rule is None:
            raise CheckError(
                message(
                    f"machine code for {op.op.name}",
                    found="the LLVM backend has no rule for this operator",
                    where=f"function {self.out.signature.name}",
                    legal="operators that lowering replaces, or that "
                    "tvm.backend.llvm.intrinsics lists",
                )
            )
        return rule(self, op)

    def rule_of(self, op: Op) -> Callable[[ExprEmitter, e.Call], str] | None:
        """The rule for an operator; the statement emitter knows where they are."""
        raise NotImplementedError

    def call_global(self, op: e.Call) -> str:
        """A call of another function of the module."""
        raise NotImplementedError

    def intrinsic(
        self,
        name: str,
        dtype: DataType,
        args: Sequence[str],
        *,
        flags: str = "",
        extra: Sequence[tuple[str, str]] = (),
    ) -> str:
        """Call `llvm.<name>` on operands of `dtype`, with extra operands of given types."""
        kind = value_type(dtype)
        full = f"llvm.{name}.{mangled(dtype)}"
        params = [kind] * len(args) + [t for t, _ in extra]
        callee = self.module.declare(full, kind, ", ".join(params))
        operands = [f"{kind} {a}" for a in args] + [f"{t} {v}" for t, v in extra]
        return self.out.temp(f"call {flags}{kind} {callee}({', '.join(operands)})")

    def visit_index(self, expr: PrimExpr) -> str:
        """An expression whose arithmetic may be taken not to overflow."""
        self._index_depth += 1
        try:
            return self.visit_expr(expr)
        finally:
            self._index_depth -= 1

    def visit_data(self, expr: PrimExpr) -> str:
        """An expression whose arithmetic wraps around."""
        depth, self._index_depth = self._index_depth, 0
        try:
            return self.visit_expr(expr)
        finally:
            self._index_depth = depth

    def as_int64(self, expr: PrimExpr) -> str:
        """An index widened to 64 bits."""
        if isinstance(expr, e.IntImm):
            return str(expr.value)
        if expr.dtype.is_uint:
            self.narrow.casts(expr, INT64)
        return self.cast(expr.dtype, INT64, self.visit_index(expr))


def mangled(dtype: DataType) -> str:
    """The name of a type inside the name of an intrinsic."""
    element = element_type(dtype)
    short = {"half": "f16", "float": "f32", "double": "f64", "ptr": "p0"}.get(element, element)
    if dtype.is_scalar:
        return short
    return f"{'nx' if dtype.is_scalable else ''}v{dtype.lanes}{short}"


def _cast_instruction(source: DataType, target: DataType) -> str | None:
    """The LLVM instruction of a conversion; "nonzero" for one to bool, None for no change."""
    if source.is_handle or target.is_handle:
        if source.is_handle and target.is_handle:
            return None
        return "ptrtoint" if source.is_handle else "inttoptr"
    if target.is_bool:
        return "nonzero"
    if source.is_float and target.is_float:
        if source.bits == target.bits:
            return None
        return "fpext" if source.bits < target.bits else "fptrunc"
    if source.is_float:
        return "fptosi" if target.is_int else "fptoui"
    signed = source.is_int
    if target.is_float:
        return "sitofp" if signed else "uitofp"
    bits = 1 if source.is_bool else source.bits
    if bits == target.bits:
        return None
    if bits > target.bits:
        return "trunc"
    return "sext" if signed else "zext"


def _is_plain_number(expr: PrimExpr) -> bool:
    """True for a floating literal that is a number."""
    if isinstance(expr, e.Broadcast):
        expr = expr.value
    return isinstance(expr, e.FloatImm) and expr.value == expr.value


_SAFE_LIMIT: Final = 24  # beyond this, branching around a side is cheaper than computing it
_SAFE_CALLS: Final = frozenset(
    {
        "tir.sqrt", "tir.fabs", "tir.floor", "tir.ceil", "tir.trunc", "tir.round",
        "tir.nearbyint", "tir.likely", "tir.reinterpret", "tir.bitwise_and", "tir.bitwise_or",
        "tir.bitwise_xor", "tir.bitwise_not", "tir.shift_left", "tir.shift_right", "tir.fma",
        "tir.copysign", "tir.isnan", "tir.isinf", "tir.isfinite",
    }
)  # fmt: skip


def is_safe(expr: PrimExpr) -> bool:
    """True if evaluating `expr` can neither fail nor cost much."""
    todo: list[PrimExpr] = [expr]
    seen = 0
    while todo:
        node = todo.pop()
        seen += 1
        if seen > _SAFE_LIMIT or isinstance(node, (e.BufferLoad, e.Let, e.StringImm)):
            return False
        if isinstance(node, (e.Div, e.Mod, e.FloorDiv, e.FloorMod)):
            literal = isinstance(node.b, e.IntImm) and node.b.value not in (0, -1)
            if not (literal or node.dtype.is_floating):
                return False
        if isinstance(node, e.Call) and (
            not isinstance(node.op, Op) or node.op.name not in _SAFE_CALLS
        ):
            return False
        todo.extend(expr_children(node))
    return True
