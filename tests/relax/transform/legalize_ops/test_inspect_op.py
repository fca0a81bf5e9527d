"""The numbers of fields."""

from __future__ import annotations

import pytest

from tvm.relax.transform.legalize_ops.inspect_op import TVMStructFieldKind
from tvm.tir.struct_field import StructField

pytestmark = pytest.mark.pure


def test_numbers_are_those_that_kernels_read() -> None:
    assert TVMStructFieldKind.kArrShape == StructField.TENSOR_SHAPE
    assert TVMStructFieldKind.kArrNDim == StructField.TENSOR_NDIM
    assert TVMStructFieldKind.kArrByteOffset == StructField.TENSOR_BYTE_OFFSET
    assert TVMStructFieldKind.kArrDeviceType == StructField.TENSOR_DEVICE_TYPE
