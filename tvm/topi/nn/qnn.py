"""Quantisation simulated in floating point, with parameters that are tensors."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi import tag
from tvm.topi.common import compute
from tvm.topi.utils import normal_axis

# which type a program asks for at run time; 0 leaves the numbers as they are
SQNN_DISABLE = 0
SQNN_INT8 = 1
SQNN_UINT8 = 2
SQNN_INT32 = 3
SQNN_DTYPE_TO_CODE = {
    "disable": SQNN_DISABLE, "int8": SQNN_INT8, "uint8": SQNN_UINT8, "int32": SQNN_INT32,
}  # fmt: skip
SQNN_CODE_TO_DTYPE = {code: name for name, code in SQNN_DTYPE_TO_CODE.items()}
_RANGES = {SQNN_INT8: (-128, 127), SQNN_UINT8: (0, 255), SQNN_INT32: (-(2**31), 2**31 - 1)}


def _parameter(tensor: te.Tensor | None, i: tuple[Any, ...], axis: int, fallback: float) -> Any:
    """A parameter for the whole tensor, or for the index along an axis."""
    if tensor is None:
        return tir.const(fallback, "float32")
    if tensor.ndim == 0:
        return tensor()
    size = tensor.shape[0]
    return tensor(tir.indexmod(i[axis], size))


def _in_code(dtype: te.Tensor, choices: dict[int, PrimExpr], otherwise: PrimExpr) -> PrimExpr:
    """The value for the type that the program asks for."""
    asked = dtype() if dtype.ndim == 0 else dtype(0)
    value = otherwise
    for code, choice in choices.items():
        value = tir.Select(asked.equal(tir.const(code, asked.dtype)), choice, value)
    return value


@explained
def simulated_quantize(
    data: te.Tensor, out_dtype: te.Tensor, output_scale: te.Tensor | None = None,
    output_zero_point: te.Tensor | None = None, axis: int = -1,
) -> te.Tensor:  # fmt: skip
    """round(data / scale) + zero point, clipped to the range of a type, as floating numbers."""
    dim = normal_axis(axis, data.ndim, "simulated_quantize") if data.ndim else 0

    def element(*i: Any) -> PrimExpr:
        value = data(*i)
        scale = _parameter(output_scale, i, dim, 1.0).astype(value.dtype)
        zero = _parameter(output_zero_point, i, dim, 0.0).astype(value.dtype)
        whole = tir.round(value / scale) + zero
        choices = {
            code: te.max(te.min(whole, tir.const(float(high), value.dtype)),
                         tir.const(float(low), value.dtype))
            for code, (low, high) in _RANGES.items()
        }  # fmt: skip
        return _in_code(out_dtype, choices, value)

    return compute(data.shape, element, name="simulated_quantize", tag=tag.ELEMWISE)


@explained
def simulated_dequantize(
    data: te.Tensor, in_dtype: te.Tensor, input_scale: te.Tensor | None = None,
    input_zero_point: te.Tensor | None = None, axis: int = -1,
) -> te.Tensor:  # fmt: skip
    """(data - zero point) * scale, where the type is one of integers."""
    dim = normal_axis(axis, data.ndim, "simulated_dequantize") if data.ndim else 0

    def element(*i: Any) -> PrimExpr:
        value = data(*i)
        scale = _parameter(input_scale, i, dim, 1.0).astype(value.dtype)
        zero = _parameter(input_zero_point, i, dim, 0.0).astype(value.dtype)
        exact = (value - zero) * scale
        return _in_code(in_dtype, dict.fromkeys(_RANGES, exact), value)

    return compute(data.shape, element, name="simulated_dequantize", tag=tag.ELEMWISE)
