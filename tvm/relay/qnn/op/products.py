"""Products of quantized tensors: in four terms, or of integers without their zero points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tvm.ir.op import Op
from tvm.relay import op as R
from tvm.relay.expr import Call
from tvm.relay.op import nn

from . import four_terms
from .arithmetic import along_axis, is_zero

_WIDE: Final = "int32"  # the type of the differences


def _shifted(x: Any, zero: Any, found: Any, axis: int, rank: int) -> Any:
    """As `difference`; a zero point of 0 leaves no trace."""
    return R.cast(x, _WIDE) if is_zero(zero) else difference(x, zero, found, axis, rank, _WIDE)


def difference(x: Any, zero: Any, found: Any, axis: int, rank: int, dtype: str) -> Any:
    """`x` minus its zero point, in a type that holds the difference."""
    return R.subtract(R.cast(x, dtype), R.cast(along_axis(zero, found, axis, rank), dtype))


def convolution(name: str) -> Any:
    """The rule for a convolution; `name` is the plain operator."""

    def rule(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
        letters = "".join(s for s in attrs.kernel_layout if s.isalpha())
        channels = letters.index("O")
        if name == "nn.conv2d":
            made = four_terms.convolution(attrs, args, types)
            if made is not None:
                return made
        data = _shifted(args[0], args[2], types[2], -1, len(types[0].shape))
        kernel = _shifted(args[1], args[3], types[3], channels, len(types[1].shape))
        return Call(Op.get(name), [data, kernel], attrs)

    return rule


def dense(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """`qnn.dense`: the units are the rows of the weight."""
    product = Call(Op.get("nn.dense"), list(args[:2]), attrs)
    made = four_terms.matrices(product, args, types, batch=False)
    if made is not None:
        return made
    data = _shifted(args[0], args[2], types[2], -1, 2)
    weight = _shifted(args[1], args[3], types[3], 0, 2)
    return Call(Op.get("nn.dense"), [data, weight], attrs)


def dense_pack(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """`qnn.contrib_dense_pack`: the weight leaves its blocks first."""
    data = _shifted(args[0], args[2], types[2], -1, 2)
    rows = R.layout_transform(args[1], attrs.weight_layout, "NC")
    weight = _shifted(rows, args[3], types[3], 0, 2)
    return nn.dense(data, weight, attrs.units, attrs.out_dtype)


def batch_matmul(attrs: Any, args: Sequence[Any], types: Sequence[Any]) -> Any:
    """`qnn.batch_matmul`: the right operand is turned."""
    product = nn.batch_matmul(args[0], args[1], attrs.out_dtype, False, True)
    made = four_terms.matrices(product, args, types, batch=True)
    if made is not None:
        return made
    x = _shifted(args[0], args[2], types[2], -1, 3)
    y = _shifted(args[1], args[3], types[3], -1, 3)
    return nn.batch_matmul(x, y, attrs.out_dtype, False, True)
