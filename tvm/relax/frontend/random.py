"""Random numbers, drawn as a program runs: `tvm.contrib.random.seed` starts them anew."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import PrimValue
from tvm.relax.struct_info import TensorStructInfo
from tvm.tir.expr import FloatImm, IntImm

FLOATS = ("float16", "float32", "float64", "bfloat16")


def drawn(
    bb: BlockBuilder, kind: str, numbers: Sequence[Any], shape: Any, dtype: str
) -> RelaxExpr:
    """`tvm.contrib.random.KIND` of a shape: a packed call, which no pass takes for a constant.

    Numbers are drawn in a type that numpy has, and cast: 16-bit floats from 32 bits.
    """
    made = "float32" if dtype in ("float16", "bfloat16") else dtype
    info = TensorStructInfo(shape, made)
    values = [PrimValue(_number(number, kind)) for number in numbers]
    found = bb.emit(op.call_dps_packed(f"tvm.contrib.random.{kind}", values, info))
    return found if made == dtype else op.astype(found, dtype)


def _number(value: Any, kind: str) -> PrimExpr:
    if isinstance(value, PrimExpr):
        return value
    return IntImm("int64", value) if kind == "randint" else FloatImm("float64", float(value))
