"""Headers of tensors read by compiled programs."""

from __future__ import annotations

import numpy as np
import pytest
import tvm_ffi

import tvm
from tvm import relax
from tvm.error import TVMError
from tvm.relax.op.tensor_header import header_reader
from tvm.support.dtype import DataType

pytestmark = pytest.mark.cpu

SOURCE = """
from tvm.script import ir as I, relax as R

@I.ir_module
class Module:
    @R.function
    def main(A: R.Tensor{params}):
        return {read}
"""


def compiled(read: str, params: str = ""):
    mod = tvm.script.from_source(SOURCE.format(read=read, params=params))
    return relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())["main"]


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ("A.dtype.type_code", 2), ("A.dtype.bits", 32), ("A.dtype.lanes", 1), ("A.ndim", 3),
        ("A.shape[2]", 4), ("A.strides[0]", 12), ("A.byte_offset", 0), ("A.elem_offset", 0),
    ],
)  # fmt: skip
def test_each_field_of_a_tensor_of_which_nothing_is_known(read: str, expected: int) -> None:
    found = compiled(read)(tvm.runtime.tensor(np.zeros((2, 3, 4), "float32")))
    assert type(found) is int
    assert found == expected


@pytest.mark.parametrize("dtype", ["float32x4", "float8_e4m3fn", "bfloat16", "int4", "bool"])
def test_any_dtype(dtype: str) -> None:
    x = tvm.runtime.empty((4,), dtype)
    kind = DataType(dtype)
    assert compiled("A.dtype.type_code")(x) == kind.type_code
    assert compiled("A.dtype.bits")(x) == kind.bits
    assert compiled("A.dtype.lanes")(x) == kind.lanes


def test_any_number_of_dimensions() -> None:
    ndim, stride = compiled("A.ndim"), compiled("A.strides[i]", ", i: R.Prim('int64')")
    assert ndim(tvm.runtime.empty((), "int8")) == 0
    x = tvm.runtime.empty((1,) * 60 + (2, 3, 4, 5), "int8")
    assert ndim(x) == 64
    assert [stride(x, i) for i in (0, 60, 61, 63)] == [120, 60, 20, 1]


def test_the_axis_may_be_a_value_of_the_program() -> None:
    extent, stride = (compiled(f"A.{r}[i]", ", i: R.Prim('int64')") for r in ("shape", "strides"))
    x = tvm.runtime.tensor(np.zeros((5, 7), "int16"))
    assert [extent(x, 0), extent(x, 1), stride(x, 0), stride(x, 1)] == [5, 7, 7, 1]
    with pytest.raises(TVMError, match="axis is out of range"):
        extent(x, 2)
    with pytest.raises(TVMError, match="axis is out of range"):
        stride(x, -1)


def test_strides_of_a_tensor_that_is_not_compact_are_its_own() -> None:
    turned = tvm_ffi.from_dlpack(np.zeros((4, 6), "float32").T, require_contiguous=False)
    stride = compiled("A.strides[i]", ", i: R.Prim('int64')")
    assert [stride(turned, 0), stride(turned, 1)] == [1, 6]


@pytest.mark.parametrize(("dtype", "elements"), [("float32", 12), ("int8", 48), ("int4", 48)])
def test_offsets_of_a_view(dtype: str, elements: int) -> None:
    whole = tvm.runtime.empty((96,), "int8")
    view = whole._create_view([2], dtype, relative_byte_offset=48)
    assert compiled("A.byte_offset")(view) == 48
    assert compiled("A.elem_offset")(view) == elements


def test_readers_run_on_the_host_as_they_are() -> None:
    reader = header_reader("tensor_ndim", DataType("int32"))
    assert reader.attrs["tir.is_host_func"]
    assert reader.attrs["tir.is_scheduled"]
    assert "tvm_struct_get(tensor, 0, 4" in reader.script()
