"""Fields of the C structures that compiled functions read and write.

They are the third argument of `tir.tvm_struct_get` and `tir.tvm_struct_set`; the numbers are TVM's,
but for `PARALLEL_TASKS`: into how many tasks a parallel region was cut.
"""

from __future__ import annotations

from enum import IntEnum


class StructField(IntEnum):
    """A field of DLTensor (`TENSOR_*`) or of TVMFFIAny (`ANY_*`), or an element of an array."""

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
    PARALLEL_TASKS = 32


class TypeIndex(IntEnum):
    """What a TVMFFIAny holds (its `type_index`)."""

    NONE = 0
    INT = 1
    BOOL = 2
    FLOAT = 3
    OPAQUE_PTR = 4
    DATA_TYPE = 5
    DEVICE = 6
    DLTENSOR_PTR = 7
    RAW_STR = 8
    BYTE_ARRAY_PTR = 9
    OBJECT_RVALUE_REF = 10
    FIRST_OBJECT = 64
    TENSOR = 70


# Where the DLTensor lies in a Tensor object: behind the object's header.
TENSOR_OBJECT_HEADER_BYTES = 24
