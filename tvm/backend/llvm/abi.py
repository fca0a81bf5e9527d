"""Places of the fields in the structs that cross between compiled code and the tvm_ffi library.

From dlpack.h (DLTensor) and tvm/ffi/c_api.h (TVMFFIAny, TVMFFIObject), both for 64-bit machines.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from tvm.support.dtype import DataType


class FieldKind(IntEnum):
    """The third argument of tir.tvm_struct_get and the like."""

    TENSOR_ADDR = 0
    TENSOR_DATA = 1
    TENSOR_SHAPE = 2
    TENSOR_STRIDES = 3
    TENSOR_NDIM = 4
    TENSOR_TYPE_CODE = 5
    TENSOR_TYPE_BITS = 6
    TENSOR_TYPE_LANES = 7
    TENSOR_BYTE_OFFSET = 8
    TENSOR_DEVICE_ID = 9
    TENSOR_DEVICE_TYPE = 10
    VALUE_CONTENT = 12
    ANY_TYPE_INDEX = 13
    ANY_ZERO_PADDING = 14
    ANY_UNION_VALUE = 15
    INT64_ELEMENT = 17


class StructField(NamedTuple):
    """A field: size of the struct it is in, its offset, and its type (None: as asked)."""

    struct_bytes: int
    offset: int
    dtype: DataType | None


TENSOR_BYTES: Final = 48
ANY_BYTES: Final = 16
OBJECT_HEADER_BYTES: Final = 24

_HANDLE = DataType("handle")
_INT32 = DataType("int32")
STRUCT_FIELDS: Final[dict[FieldKind, StructField]] = {
    FieldKind.TENSOR_DATA: StructField(TENSOR_BYTES, 0, _HANDLE),
    FieldKind.TENSOR_DEVICE_TYPE: StructField(TENSOR_BYTES, 8, _INT32),
    FieldKind.TENSOR_DEVICE_ID: StructField(TENSOR_BYTES, 12, _INT32),
    FieldKind.TENSOR_NDIM: StructField(TENSOR_BYTES, 16, _INT32),
    FieldKind.TENSOR_TYPE_CODE: StructField(TENSOR_BYTES, 20, DataType("uint8")),
    FieldKind.TENSOR_TYPE_BITS: StructField(TENSOR_BYTES, 21, DataType("uint8")),
    FieldKind.TENSOR_TYPE_LANES: StructField(TENSOR_BYTES, 22, DataType("uint16")),
    FieldKind.TENSOR_SHAPE: StructField(TENSOR_BYTES, 24, _HANDLE),
    FieldKind.TENSOR_STRIDES: StructField(TENSOR_BYTES, 32, _HANDLE),
    FieldKind.TENSOR_BYTE_OFFSET: StructField(TENSOR_BYTES, 40, DataType("uint64")),
    FieldKind.VALUE_CONTENT: StructField(8, 0, None),
    FieldKind.ANY_TYPE_INDEX: StructField(ANY_BYTES, 0, _INT32),
    FieldKind.ANY_ZERO_PADDING: StructField(ANY_BYTES, 4, _INT32),
    FieldKind.ANY_UNION_VALUE: StructField(ANY_BYTES, 8, None),
    FieldKind.INT64_ELEMENT: StructField(8, 0, DataType("int64")),
}

# The first argument of tir.tvm_stack_alloca: bytes and alignment of one item.
STACK_ITEMS: Final[dict[str, int]] = {
    "shape": 8,
    "array": TENSOR_BYTES,
    "arg_value": 8,
    "arg_tcode": 4,
    "arg_ffi_any": ANY_BYTES,
    "tvm_ffi_any": ANY_BYTES,
}

FFI_PREFIX: Final = "__tvm_ffi_"
LIBRARY_CONTEXT: Final = "__tvm_ffi__library_ctx"
