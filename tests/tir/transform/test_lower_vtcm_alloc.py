from __future__ import annotations

import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir import stmt as s
from tvm.tir.transform import LowerVtcmAlloc

pytestmark = pytest.mark.pure


def test_asks_at_run_time() -> None:
    @T.prim_func
    def func(A: T.Buffer((64,), "int8")):
        V = T.allocate([4, 8], "int8", "global.vtcm")
        v = T.Buffer((32,), "int8", data=V, scope="global.vtcm")
        A[0] = v[0]

    before = IRModule.from_expr(func.with_attr("global_symbol", "main"))
    body = LowerVtcmAlloc()(before)["main"].body
    assert isinstance(body, s.LetStmt)
    assert body.var is before["main"].body.buffer_var
    assert str(body.value) == (
        'T.nd_mem_alloc_with_scope("global.vtcm", T.int64(2), T.tvm_stack_make_shape(4, 8))'
    )
    assert body.body is before["main"].body.body


class TestKeepsOtherMemory(PassTest):
    run = LowerVtcmAlloc()

    @T.prim_func
    def Before(A: T.Buffer((64,), "int8")):
        V = T.allocate([32], "int8", "global")
        v = T.Buffer((32,), "int8", data=V)
        v[0] = A[1]
        A[0] = v[0]

    Expected = Before
