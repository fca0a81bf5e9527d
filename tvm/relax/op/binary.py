"""Operators on the elements of two tensors, which broadcast to one shape; a number is a scalar."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.ir.expr import StructInfo
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, ExprLike
from tvm.relax.extents import broadcast
from tvm.relax.struct_info import PrimStructInfo
from tvm.support.dtype import DataType
from tvm.tir.op.arith import const as tir_const

from . import layout_rules
from .declare import BROADCAST, FOLLOW, Array, Expr, Infer, RelaxOp, relax_op, topi
from .shapes import broadcast_infos, common_dtype

Binary = RelaxOp[[ExprLike, ExprLike]]
BOOL = DataType("bool")


def broadcasting(
    name: str, doc: str, reference: Callable[..., Any], *, result: DataType | None = None
) -> Binary:
    """An operator of two operands of one dtype; `result` is the dtype where it is another."""

    def build(x1: ExprLike, x2: ExprLike) -> Call:
        return op.call(x1, x2)

    build.__name__ = build.__qualname__ = name
    build.__doc__ = doc
    op = relax_op(
        f"relax.{name}", "x1: Operand, x2: Operand", pattern=BROADCAST, precision=FOLLOW,
        reads_shape_variables=True,
    )(build)  # fmt: skip

    @op.infer
    def info(ctx: Infer, x1: StructInfo, x2: StructInfo) -> StructInfo:
        dtype = common_dtype(ctx, ("x1", x1), ("x2", x2)) if result is None else result
        if isinstance(x1, PrimStructInfo) and isinstance(x2, PrimStructInfo):
            return PrimStructInfo(dtype)
        return broadcast_infos(ctx, dtype, ("x1", x1), ("x2", x2))

    @op.legalize
    def te(bb: BlockBuilder, x1: Expr, x2: Expr) -> Expr:
        compute = getattr(topi, name)

        def on_prims(lhs: Any, rhs: Any) -> Any:
            # at least one side is a tensor; numbers enter the computation as they are
            return compute(lhs, rhs)

        rhs = number_or_self(x2)
        lhs = number_or_self(x1) if rhs is x2 else x1
        return bb.call_te(on_prims, lhs, rhs, primfunc_name_hint=name)

    op.layout(layout_rules.broadcast)
    op.fit(lambda bb, *operands: broadcast(bb, operands))
    op.reference(reference)
    return op


def number_or_self(operand: Expr) -> Any:
    """A constant without dimensions as a number in the kernel; anything else as it is."""
    if isinstance(operand, Constant) and operand.is_scalar():
        return tir_const(operand.data.numpy().item(), operand.data.dtype)
    return operand


def _same_dtype(rule: Callable[..., Array]) -> Callable[..., Array]:
    """The result in the operands' dtype; half floats are computed in single precision."""

    def compute(x1: Any, x2: Any) -> Array:
        a, b = np.asarray(x1), np.asarray(x2)
        dtype = a.dtype if a.ndim or not b.ndim else b.dtype
        small = dtype.itemsize < 4 and dtype.kind in "fV"
        if small:
            a, b = a.astype(np.float32), b.astype(np.float32)
        return np.asarray(rule(a, b)).astype(dtype)

    return compute


def _divide(a: Array, b: Array) -> Array:
    """Integers are rounded toward zero, as TIR's division does."""
    if a.dtype.kind in "iu":
        quotient = np.floor_divide(np.abs(a), np.abs(b))
        return quotient * np.sign(a) * np.sign(b)
    return a / b


def _truncated_mod(a: Array, b: Array) -> Array:
    return np.fmod(a, b)


def _arith(name: str, doc: str, reference: Callable[..., Any]) -> Binary:
    return broadcasting(name, doc, _same_dtype(reference))


def _compare(name: str, doc: str, reference: Callable[..., Any]) -> Binary:
    return broadcasting(name, doc, reference, result=BOOL)


add = _arith("add", "x1 + x2.", np.add)
divide = _arith("divide", "x1 / x2; integers are rounded toward zero.", _divide)
floor_divide = _arith("floor_divide", "x1 / x2 rounded toward minus infinity.", np.floor_divide)
log_add_exp = _arith("log_add_exp", "log(exp(x1) + exp(x2)).", np.logaddexp)
multiply = _arith("multiply", "x1 * x2.", np.multiply)
power = _arith("power", "x1 to the power of x2.", np.power)
subtract = _arith("subtract", "x1 - x2.", np.subtract)
mod = _arith("mod", "The remainder of x1 / x2, with the sign of x1.", _truncated_mod)
floor_mod = _arith("floor_mod", "The remainder of x1 / x2, with the sign of x2.", np.mod)
maximum = _arith("maximum", "The larger of x1 and x2.", np.maximum)
minimum = _arith("minimum", "The smaller of x1 and x2.", np.minimum)

equal = _compare("equal", "x1 == x2.", np.equal)
greater = _compare("greater", "x1 > x2.", np.greater)
greater_equal = _compare("greater_equal", "x1 >= x2.", np.greater_equal)
less = _compare("less", "x1 < x2.", np.less)
less_equal = _compare("less_equal", "x1 <= x2.", np.less_equal)
not_equal = _compare("not_equal", "x1 != x2.", np.not_equal)

logical_and = _arith("logical_and", "Both x1 and x2 are true.", np.logical_and)
logical_or = _arith("logical_or", "x1 or x2 is true.", np.logical_or)
logical_xor = _arith("logical_xor", "One of x1 and x2 is true, not both.", np.bitwise_xor)
bitwise_and = _arith("bitwise_and", "The bits that x1 and x2 both have.", np.bitwise_and)
bitwise_or = _arith("bitwise_or", "The bits that x1 or x2 has.", np.bitwise_or)
bitwise_xor = _arith("bitwise_xor", "The bits that one of x1 and x2 has.", np.bitwise_xor)
left_shift = _arith("left_shift", "x1 times two to the power of x2.", np.left_shift)
right_shift = _arith("right_shift", "x1 moved right by x2 bits.", np.right_shift)

