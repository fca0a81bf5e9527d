"""Rules that lower operations on users' data types to calls of C functions.

    x + y, both custom[posit]16    ->    T.call_pure_extern("uint16", "Posit16Add", x, y)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType

from .expr import BinaryOpExpr, Call, Cast, FloatImm, StringImm
from .op import builtin


def carrier(dtype: DataType) -> DataType:
    """The unsigned integer type that holds values of a user's type; other types are their own."""
    if not dtype.is_custom:
        return dtype
    return DataType(f"uint{dtype.bits}").with_lanes(dtype.lanes, dtype.is_scalable)


def create_lower_func(extern_func_map: Mapping[Any, str]) -> Callable[[PrimExpr], PrimExpr]:
    """A rule that calls the C function of the operands' width.

    Keys are a number of bits, or for casts a pair: bits before, bits after.
    """

    def lower(op: PrimExpr) -> PrimExpr:
        bits = op.dtype.bits
        if isinstance(op, Cast):
            key: Any = (op.value.dtype.bits, bits)
            args: tuple[Any, ...] = (op.value,)
        elif isinstance(op, FloatImm):
            key, args = bits, (FloatImm("float32", op.value),)
        elif isinstance(op, BinaryOpExpr):
            key, args = bits, (op.a, op.b)
        elif isinstance(op, Call):
            key, args = bits, op.args
        else:
            raise CheckError(
                message(
                    "a rule of create_lower_func",
                    found=type(op).__name__,
                    legal="casts, literals, arithmetic and calls",
                )
            )
        name = extern_func_map.get(key)
        if name is None:
            raise CheckError(
                message(
                    f"lower {type(op).__name__} of width {key}",
                    found="no function of that width",
                    legal=", ".join(map(str, extern_func_map)) or "none",
                )
            )
        return builtin.call_pure_extern(carrier(op.dtype), name, *args)

    return lower


def create_min_lower_func(
    extern_func_map: Mapping[int, str], type_name: str
) -> Callable[[int], PrimExpr]:
    """A rule that calls the C function which gives the smallest value of a width in bits."""

    def lower(num_bits: int) -> PrimExpr:
        name = extern_func_map.get(num_bits)
        if name is None:
            raise CheckError(
                message(
                    f"the smallest value of {type_name} with {num_bits} bits",
                    found="no function of that width",
                    legal=", ".join(map(str, extern_func_map)) or "none",
                )
            )
        return builtin.call_pure_extern(f"uint{num_bits}", name)

    return lower


def lower_ite(ite_op: Call) -> PrimExpr:
    """A choice between values of a user's type, as one between what holds them."""
    return Call(carrier(ite_op.dtype), ite_op.op, ite_op.args, ite_op.span)


def lower_call_pure_extern(op: Call) -> PrimExpr:
    """A call of a C function that gives a user's type, as one that gives what holds it."""
    assert isinstance(op.args[0], StringImm), "the constructor of call_pure_extern makes sure"
    return Call(carrier(op.dtype), op.op, op.args, op.span)
