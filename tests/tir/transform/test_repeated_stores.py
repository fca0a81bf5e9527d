from __future__ import annotations

import pytest

from tvm.ir import IRModule, assert_structural_equal
from tvm.script import tir as T
from tvm.tir.transform import RemoveNoOp
from tvm.tir.transform.repeated_stores import without_repeated

pytestmark = pytest.mark.pure


def test_only_stores_that_change_nothing_go() -> None:
    """Not those behind a call that may write, of other values, or where only a branch stored."""

    @T.prim_func
    def before(P: T.Buffer((8,), "int32"), n: T.int32):
        for i in range(8):
            P[i] = i + 1
        P[2] = 3
        P[3] = 5
        P[3] = 5
        if n > 2:
            P[4] = n
            P[4] = n
        P[4] = n
        T.evaluate(T.call_extern("int32", "effect", P.data))
        P[2] = 3

    @T.prim_func
    def after(P: T.Buffer((8,), "int32"), n: T.int32):
        for i in range(8):
            P[i] = i + 1
        T.evaluate(0)
        P[3] = 5
        T.evaluate(0)
        if n > 2:
            P[4] = n
            T.evaluate(0)
        P[4] = n
        T.evaluate(T.call_extern("int32", "effect", P.data))
        P[2] = 3

    made = IRModule({"main": without_repeated(before)})
    wanted = IRModule({"main": after.with_attr("global_symbol", "before")})
    assert_structural_equal(RemoveNoOp()(made), RemoveNoOp()(wanted), map_free_vars=True)
