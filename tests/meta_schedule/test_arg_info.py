"""What arguments are."""

from __future__ import annotations

import pytest

from tests.meta_schedule.programs import Matmul
from tvm import te
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.meta_schedule.arg_info import ArgInfo, TensorInfo, entry_func
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def test_json_round_trip() -> None:
    info = TensorInfo("float32", [128, 64])
    assert info.as_json() == ["TENSOR", "float32", [128, 64]]
    assert ArgInfo.from_json(info.as_json()) == info
    assert str(info) == 'TensorInfo("float32", [128, 64])'


def test_rejects_what_is_no_data_type() -> None:
    with pytest.raises(ValueError, match="unknown data type 'zz'"):
        TensorInfo("zz", [1])
    with pytest.raises(TypeError, match="a int is no data type"):
        TensorInfo(3, [1])  # type: ignore[arg-type]


@pytest.mark.parametrize("bad", [None, ["TENSOR"], ["SCALAR", "int32", 3], ["TENSOR", 1, [2]]])
def test_rejects_other_json(bad: object) -> None:
    with pytest.raises(TVMError, match=r"legal: \[\"TENSOR\", dtype, shape\]"):
        ArgInfo.from_json(bad)


def test_arguments_of_functions() -> None:
    found = ArgInfo.from_prim_func(Matmul["main"])
    assert found == [TensorInfo("float32", (64, 64))] * 3
    assert ArgInfo.from_entry_func(Matmul) == found


def test_weights_as_the_kernel_wants_them() -> None:
    @T.prim_func
    def packed(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32")) -> None:
        T.func_attr({"layout_free_buffers": [0]})
        P = T.alloc_buffer((2, 8, 4))
        for i, j in T.grid(8, 8):
            with T.block("rewrite"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.block_attr({"meta_schedule.layout_rewrite_preproc": True})
                P[vi // 4, vj, vi % 4] = A[vi, vj]
        for i, j in T.grid(8, 8):
            with T.block("use"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = P[vi // 4, vj, vi % 4]

    mod = IRModule({"main": packed})
    assert ArgInfo.from_entry_func(mod)[0] == TensorInfo("float32", (2, 8, 4))
    assert ArgInfo.from_entry_func(mod, remove_preproc=False)[0] == TensorInfo("float32", (8, 8))


def test_rejects_what_has_no_size_or_is_no_buffer() -> None:
    n = te.var("n")
    a = te.placeholder((n,), "float32", "A")
    func = te.create_prim_func([a, te.compute((n,), lambda i: a[i])])
    with pytest.raises(TVMError, match="extent n"):
        ArgInfo.from_prim_func(func)

    @T.prim_func
    def scalar(x: T.int32, A: T.Buffer((4,), "int32")) -> None:
        A[0] = x

    with pytest.raises(TVMError, match="found: x: int32"):
        ArgInfo.from_prim_func(scalar)


def test_entry_function() -> None:
    func = Matmul["main"]
    assert entry_func(IRModule({"other": func})) is func
    with pytest.raises(TVMError, match=r"found: functions \['f', 'g'\]"):
        entry_func(IRModule({"f": func, "g": func}))
    marked = func.with_attr("tir.is_entry_func", True)
    assert entry_func(IRModule({"f": func, "g": marked})) is marked
