"""Products of quantized tensors: integers without their zero points, multiplied exactly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.op import Op
from tvm.relay import op as R
from tvm.relay.expr import Call
from tvm.relay.op import nn

from .arithmetic import along_axis, is_zero


def _shifted(x: Any, zero: Any, found: Any, axis: int, rank: int, dtype: str) -> Any:
    """As `difference`; a zero point of 0 leaves no trace."""
    return R.cast(x, dtype) if is_zero(zero) else difference(x, zero, found, axis, rank, dtype)


def difference(x: Any, zero: Any, found: Any, axis: int, rank: int, dtype: str) -> Any:
    """`x` minus its zero point, in a type that holds the difference."""
    return R.subtract(R.cast(x, dtype), R.cast(along_axis(zero, found, axis, rank), dtype))


def _wide(types: Sequence[Any]) -> str:
    """The type of the differences: one more bit than the operands have."""
    return "int16" if all(t.dtype in ("int8", "uint8") for t in types[:2]) else "int32"


def convolution(name: str) -> Any:
    """The rule for a convolution; `name` is the plain operator."""

    def rule(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
        letters = "".join(s for s in attrs.kernel_layout if s.isalpha())
        channels = letters.index("O")
        dtype = _wide(types)
        data = _shifted(args[0], args[2], types[2], -1, len(types[0].shape), dtype)
        kernel = _shifted(args[1], args[3], types[3], channels, len(types[1].shape), dtype)
        return Call(Op.get(name), [data, kernel], attrs)

    return rule


def dense(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """`qnn.dense`: the units are the rows of the weight."""
    dtype = _wide(types)
    data = _shifted(args[0], args[2], types[2], -1, 2, dtype)
    weight = _shifted(args[1], args[3], types[3], 0, 2, dtype)
    return Call(Op.get("nn.dense"), [data, weight], attrs)


def dense_pack(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """`qnn.contrib_dense_pack`: the weight leaves its blocks first."""
    dtype = _wide(types)
    data = _shifted(args[0], args[2], types[2], -1, 2, dtype)
    rows = R.layout_transform(args[1], attrs.weight_layout, "NC")
    weight = _shifted(rows, args[3], types[3], 0, 2, dtype)
    return nn.dense(data, weight, attrs.units, attrs.out_dtype)


def batch_matmul(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """`qnn.batch_matmul`: the right operand is turned."""
    dtype = _wide(types)
    x = _shifted(args[0], args[2], types[2], -1, 3, dtype)
    y = _shifted(args[1], args[3], types[3], -1, 3, dtype)
    return nn.batch_matmul(x, y, attrs.out_dtype, False, True)
