"""The layout of structs, against what tvm_ffi really hands over."""

from __future__ import annotations

import ctypes
import re

import numpy as np
import pytest

import tvm
from tvm.backend.llvm import abi
from tvm.backend.llvm.jit import Machine, data_layout, host_machine
from tvm.runtime import tensor
from tvm.tir.struct_field import TENSOR_OBJECT_HEADER_BYTES, StructField

pytestmark = pytest.mark.cpu

C_TYPES = {"handle": ctypes.c_uint64,
           "int32": ctypes.c_int32, "uint8": ctypes.c_uint8, "uint16": ctypes.c_uint16,
           "uint64": ctypes.c_uint64, "int64": ctypes.c_int64}  # fmt: skip


HOST = abi.layout_of(data_layout(host_machine()))


def read(base: int, kind: StructField) -> int:
    place = HOST.fields[kind]
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
    assert set(HOST.fields) == set(StructField) - {StructField.TENSOR_ADDR}


@pytest.mark.parametrize(
    ("triple", "offsets", "size"),
    [
        ("x86_64-linux-gnu", [0, 8, 16, 20, 24, 32, 40], 48),
        ("wasm32-unknown-unknown", [0, 4, 12, 16, 20, 24, 32], 40),
        ("armv7a-linux-gnueabihf", [0, 4, 12, 16, 20, 24, 32], 40),
        ("i386-pc-linux-gnu", [0, 4, 12, 16, 20, 24, 28], 36),
    ],
)
def test_tensors_of_other_machines(triple: str, offsets: list[int], size: int) -> None:
    layout = abi.layout_of(data_layout(Machine(triple)))
    named = ("DATA", "DEVICE_TYPE", "NDIM", "TYPE_CODE", "SHAPE", "STRIDES", "BYTE_OFFSET")
    found = [layout.fields[StructField[f"TENSOR_{name}"]].offset for name in named]
    assert (found, layout.tensor_bytes) == (offsets, size)


def test_short_pointers_are_read_and_passed_on() -> None:
    a = tvm.te.placeholder((8,), "float32", "a")
    b = tvm.te.extern(
        (8,), [a], lambda ins, outs: tvm.tir.call_packed("given", ins[0], outs[0]), "b", "float32"
    )
    target = "llvm -mtriple=wasm32-unknown-unknown"
    module = tvm.tir.build(tvm.te.create_prim_func([a, b]), target=target)
    assert module.object[:4] == b"\0asm"
    text = module.inspect_source()
    assert re.search(r"load ptr, ptr %\.\d+, align 4", text)
    assert not re.search(r"load ptr, ptr %\.\d+, align 8", text)
