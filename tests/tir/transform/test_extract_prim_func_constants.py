import numpy as np
import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir import AllocateConst, BufferStore, PrimFunc, decl_buffer
from tvm.tir.transform import ExtractPrimFuncConstants

pytestmark = pytest.mark.pure


def with_constant(values, symbol):
    out = decl_buffer((1,), "int32", "out")
    held = decl_buffer((len(values),), "int32", "held")
    body = BufferStore(out, held[0], [0])
    data = np.array(values, "int32")
    body = AllocateConst(held.data, "int32", [len(values)], data, body)
    return PrimFunc([out], body, attrs={"global_symbol": symbol})


def test_equal_data_is_there_once():
    mod = IRModule(
        {"a": with_constant([1, 2], "a"), "b": with_constant([1, 2], "b"),
         "c": with_constant([3], "c")}
    )  # fmt: skip
    after = ExtractPrimFuncConstants()(mod)
    assert [c.numpy().tolist() for c in after.get_attr("constants")] == [[1, 2], [3]]
    numbers = [int(after[name].body.irmod_storage_idx) for name in "abc"]
    assert numbers == [0, 0, 1]


def test_keeps_modules_without_constants():
    out = decl_buffer((1,), "int32", "out")
    mod = IRModule({"f": PrimFunc([out], BufferStore(out, 1, [0]))})
    assert ExtractPrimFuncConstants()(mod) is mod


def test_the_data_stays_beside_its_number() -> None:
    @T.prim_func
    def func(A: T.Buffer((3,), "int32")):
        data = T.allocate_const([4, 5, 6], "int32", [3])
        B = T.Buffer((3,), "int32", data=data)
        A[0] = B[1]

    mod = ExtractPrimFuncConstants()(IRModule.from_expr(func))
    node = mod["func"].body
    assert node.data.numpy().tolist() == [4, 5, 6]
    place = int(node.irmod_storage_idx)
    assert mod.attrs["constants"][place].numpy().tolist() == [4, 5, 6]
    assert ExtractPrimFuncConstants()(mod).attrs["constants"] == mod.attrs["constants"]
