import numpy as np
import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.tir import BufferStore, For, PrimFunc, SeqStmt, Var, decl_buffer
from tvm.tir.analysis import verify_ssa
from tvm.tir.interp import run
from tvm.tir.transform import ConvertSSA

pytestmark = pytest.mark.pure


def twice():
    """One variable in two loops, the second nested in a loop over itself."""
    a, i = decl_buffer((8,), "int32", "A"), Var("i")
    first = For(i, 0, 4, 0, BufferStore(a, i, [i]))
    inner = For(i, 0, 2, 0, BufferStore(a, a[i] + 1, [i]))
    second = For(i, 4, 4, 0, SeqStmt([inner, BufferStore(a, i * 10, [i])]))
    return PrimFunc([a], SeqStmt([first, second]), attrs={"global_symbol": "main"})


def test_renames_second_definitions():
    before = twice()
    assert not verify_ssa(before)
    after = ConvertSSA()(IRModule.from_expr(before))["main"]
    assert verify_ssa(after)
    b = np.zeros(8, "int32")
    run(after, b)
    assert list(b) == [4, 5, 2, 3, 40, 50, 60, 70]


def test_functions_that_share_variables():
    func = twice()
    mod = ConvertSSA()(IRModule({"one": func, "two": func}))
    assert not set(mod["one"].params) & set(mod["two"].params)


def test_keeps_what_is_ssa():
    @T.prim_func
    def func(A: T.Buffer((4,), "int32")):
        for i in range(4):
            A[i] = i

    mod = IRModule.from_expr(func)
    assert ConvertSSA()(mod) is mod
