"""Offsets of the fields in the structs that cross between compiled code and the tvm_ffi library.

From dlpack.h (DLTensor), tvm/ffi/c_api.h (TVMFFIAny, TVMFFIObject), and what tasks of a parallel
region are told. Pointers make the difference between machines; a TVMFFIAny and the header of an
object have one size on all of them.
"""

from __future__ import annotations

import functools
import re
from typing import Final, NamedTuple

from tvm.support.dtype import DataType
from tvm.tir.struct_field import StructField


class FieldOffset(NamedTuple):
    """A field: size of the struct it is in, its offset, and its type (None: as asked)."""

    struct_bytes: int
    offset: int
    dtype: DataType | None


ANY_BYTES: Final = 16

_HANDLE: Final = DataType("handle")
_INT32: Final = DataType("int32")


class Layout(NamedTuple):
    """What the structs of a machine look like."""

    fields: dict[StructField, FieldOffset]
    tensor_bytes: int
    max_align: int  # no field needs more

    def item_bytes(self, item: str) -> int | None:
        """Bytes of what the first argument of tir.tvm_stack_alloca names; None for other words."""
        return {
            "shape": 8, "array": self.tensor_bytes, "arg_value": 8, "arg_tcode": 4,
            "arg_ffi_any": ANY_BYTES, "tvm_ffi_any": ANY_BYTES,
        }.get(item)  # fmt: skip


STACK_ITEMS: Final = ("arg_ffi_any", "arg_tcode", "arg_value", "array", "shape", "tvm_ffi_any")


@functools.lru_cache(maxsize=64)
def layout_of(data_layout: str) -> Layout:
    """The structs of a machine, by LLVM's notation for its sizes and alignments."""
    narrow = re.search(r"(?:^|-)p:32:", data_layout) is not None
    pointer = 4 if narrow else 8
    # 64-bit integers lie on four bytes in the structs of some 32-bit machines (i386)
    whole = 4 if narrow and "-i64:64" not in data_layout else 8
    kind = pointer + 8 + 4  # behind the data, the device and the number of dimensions
    shape = kind + 4
    offset = -(-(shape + 2 * pointer) // whole) * whole
    size = offset + 8
    return Layout(
        {
            StructField.TENSOR_DATA: FieldOffset(size, 0, _HANDLE),
            StructField.TENSOR_DEVICE_TYPE: FieldOffset(size, pointer, _INT32),
            StructField.TENSOR_DEVICE_ID: FieldOffset(size, pointer + 4, _INT32),
            StructField.TENSOR_NDIM: FieldOffset(size, pointer + 8, _INT32),
            StructField.TENSOR_TYPE_CODE: FieldOffset(size, kind, DataType("uint8")),
            StructField.TENSOR_TYPE_BITS: FieldOffset(size, kind + 1, DataType("uint8")),
            StructField.TENSOR_TYPE_LANES: FieldOffset(size, kind + 2, DataType("uint16")),
            StructField.TENSOR_SHAPE: FieldOffset(size, shape, _HANDLE),
            StructField.TENSOR_STRIDES: FieldOffset(size, shape + pointer, _HANDLE),
            StructField.TENSOR_BYTE_OFFSET: FieldOffset(size, offset, DataType("uint64")),
            StructField.VALUE_CONTENT: FieldOffset(8, 0, None),
            StructField.ANY_TYPE_INDEX: FieldOffset(ANY_BYTES, 0, _INT32),
            StructField.ANY_ZERO_PADDING: FieldOffset(ANY_BYTES, 4, _INT32),
            StructField.ANY_UNION_VALUE: FieldOffset(ANY_BYTES, 8, None),
            StructField.INT64_ELEMENT: FieldOffset(8, 0, DataType("int64")),
            StructField.PARALLEL_TASKS: FieldOffset(2 * pointer, pointer, _INT32),
        },
        size,
        4 if narrow else 8,
    )
