import numpy as np
import pytest

import tvm
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


def test_threads_of_two_functions_are_two() -> None:
    thread = tvm.tir.IterVar(None, tvm.tir.Var("tx", "int32"), 1, "threadIdx.x")

    def launching() -> tvm.tir.PrimFunc:
        body = tvm.tir.Evaluate(thread.var)
        twice = tvm.tir.SeqStmt(
            [tvm.tir.AttrStmt(thread, "thread_extent", 32, body) for _ in range(2)]
        )
        return tvm.tir.PrimFunc([], twice)

    mod = ConvertSSA()(tvm.IRModule({"f": launching(), "g": launching()}))
    vars_of = {}
    for name in ("f", "g"):
        first, second = mod[name].body.seq
        assert first.node.var.same_as(second.node.var)
        assert second.body.value.same_as(second.node.var)
        vars_of[name] = first.node.var
    assert not vars_of["f"].same_as(vars_of["g"])


def test_a_parameter_in_a_shape_is_one_variable():
    @T.prim_func
    def func(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,), "int32")
        for i in range(n):
            A[i] = 0

    made = ConvertSSA()(IRModule({"f": func, "g": func}))
    for one in made.functions.values():
        tvm.ir.assert_structural_equal(one, func)
        assert one.buffer_map[one.params[0]].shape[0] is one.params[1]
    assert made["f"].params[1] is not made["g"].params[1]
