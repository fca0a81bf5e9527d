"""The layout of structs, against what tvm_ffi really hands over."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tvm.backend.llvm import abi
from tvm.runtime import tensor
from tvm.tir.struct_field import TENSOR_OBJECT_HEADER_BYTES, StructField

pytestmark = pytest.mark.cpu

C_TYPES = {"handle": ctypes.c_uint64,
           "int32": ctypes.c_int32, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
           "uint64": ctypes.c_uint64, "int64": ctypes.c_int64}  # fmt: skip


def read(base: int, kind: StructField) -> int:
    place = abi.STRUCT_FIELDS[kind]
    assert place.dtype is not None
    return int(C_TYPES[str(place.dtype)].from_address(base + place.offset).value)


def test_the_fields_of_a_tensor() -> None:
    made = tensor(np.arange(6, dtype="int16").reshape(2, 3))
    base = made.__chandle__() + TENSOR_OBJECT_HEADER_BYTES
    assert read(base, StructField.TENSOR_DATA) == made.data_ptr()
    assert read(base, StructField.TENSOR_NDIM) == 2
    assert read(base, StructField.TENSOR_DEVICE_TYPE) == 1
    assert read(base, StructField.TENSOR_DEVICE_ID) == 0
    kind = [read(base, f) for f in (StructField.TENSOR_TYPE_CODE, StructField.TENSOR_TYPE_BITS,
                                    StructField.TENSOR_TYPE_LANES)]  # fmt: skip
    assert kind == [0, 16, 1]
    assert read(base, StructField.TENSOR_BYTE_OFFSET) == 0
    shape = (ctypes.c_int64 * 2).from_address(read(base, StructField.TENSOR_SHAPE))
    strides = (ctypes.c_int64 * 2).from_address(read(base, StructField.TENSOR_STRIDES))
    assert (list(shape), list(strides)) == ([2, 3], [3, 1])


def test_every_field_number_but_the_address_has_a_place() -> None:
    assert set(abi.STRUCT_FIELDS) == set(StructField) - {StructField.TENSOR_ADDR}
