"""Odd cases of quantisation."""

from __future__ import annotations

import pytest

from tests.relax.op.cases import info, var
from tvm.error import TVMError
from tvm.relax import op

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: op.quantize(var(2, 3), var(2), var(2, dtype="int8")), "scale does not fit data"),
        (lambda: op.quantize(var(2), var(), var(dtype="int8"), out_dtype="int64"),
         "unknown out_dtype"),
        (lambda: op.quantize(var(2, dtype="int32"), var(), var(dtype="int8")),
         "data must be float"),
        (lambda: op.dequantize(var(2, dtype="int64"), var(), var(dtype="int8")), "unknown dtype"),
        (lambda: op.dequantize(var(2, 3, dtype="int8"), var(3, 1), var(dtype="int8")),
         "scale must be a scalar or a vector"),
        (lambda: op.quantize(var(2), var(dtype="int8"), var(dtype="int8")), "scale has an unknown"),
        (lambda: op.quantize(var(2), var(), var()), "zero_point has an unknown dtype"),
        (lambda: op.dequantize(var(2, dtype="int8"), var(dtype="float64"), var(dtype="int8")),
         "scale has an unknown dtype"),
        (lambda: op.dequantize(var(2, dtype="int8"), var(), var(dtype="int64")),
         "zero_point has an unknown dtype"),
    ],
)  # fmt: skip
def test_refusals(call: object, text: str) -> None:
    with pytest.raises(TVMError, match=text):
        info(call())


def test_dtypes() -> None:
    assert info(op.quantize(var(2), var(), var(dtype="int8"))).dtype == "int8"
    assert info(op.dequantize(var(2, dtype="int8"), var(), var(dtype="int8"))).dtype == "float32"
