"""Places of the fields in the structs that cross between compiled code and the tvm_ffi library.

From dlpack.h (DLTensor) and tvm/ffi/c_api.h (TVMFFIAny, TVMFFIObject), both for 64-bit machines.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tvm.support.dtype import DataType
from tvm.tir.struct_field import StructField


class FieldPlace(NamedTuple):
    """A field: size of the struct it is in, its offset, and its type (None: as asked)."""

    struct_bytes: int
    offset: int
    dtype: DataType | None


TENSOR_BYTES: Final = 48
ANY_BYTES: Final = 16

_HANDLE = DataType("handle")
_INT32 = DataType("int32")
STRUCT_FIELDS: Final[dict[StructField, FieldPlace]] = {
    StructField.TENSOR_DATA: FieldPlace(TENSOR_BYTES, 0, _HANDLE),
    StructField.TENSOR_DEVICE_TYPE: FieldPlace(TENSOR_BYTES, 8, _INT32),
    StructField.TENSOR_DEVICE_ID: FieldPlace(TENSOR_BYTES, 12, _INT32),
    StructField.TENSOR_NDIM: FieldPlace(TENSOR_BYTES, 16, _INT32),
    StructField.TENSOR_TYPE_CODE: FieldPlace(TENSOR_BYTES, 20, DataType("uint8")),
    StructField.TENSOR_TYPE_BITS: FieldPlace(TENSOR_BYTES, 21, DataType("uint8")),
    StructField.TENSOR_TYPE_LANES: FieldPlace(TENSOR_BYTES, 22, DataType("uint16")),
    StructField.TENSOR_SHAPE: FieldPlace(TENSOR_BYTES, 24, _HANDLE),
    StructField.TENSOR_STRIDES: FieldPlace(TENSOR_BYTES, 32, _HANDLE),
    StructField.TENSOR_BYTE_OFFSET: FieldPlace(TENSOR_BYTES, 40, DataType("uint64")),
    StructField.VALUE_CONTENT: FieldPlace(8, 0, None),
    StructField.ANY_TYPE_INDEX: FieldPlace(ANY_BYTES, 0, _INT32),
    StructField.ANY_ZERO_PADDING: FieldPlace(ANY_BYTES, 4, _INT32),
    StructField.ANY_UNION_VALUE: FieldPlace(ANY_BYTES, 8, None),
    StructField.INT64_ELEMENT: FieldPlace(8, 0, DataType("int64")),
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
