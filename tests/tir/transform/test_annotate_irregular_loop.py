import numpy as np
import pytest

import tvm
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.functor import walk
from tvm.tir.transform import AnnotateIrregularLoop, UnrollLoop, VectorizeLoop


@pytest.mark.pure
class TestMark(PassTest):
    run = AnnotateIrregularLoop()

    @T.prim_func
    def Before(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
        for i in range(8):
            if A[i] > 4:
                T.evaluate(T.break_loop())
            for j in range(2):
                B[0] = B[0] + 1

    @T.prim_func
    def Expected(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
        for i in T.serial(8, annotations={"irregular_loop_mark": 1}):
            if A[i] > 4:
                T.evaluate(T.break_loop())
            for j in range(2):
                B[0] = B[0] + 1


@T.prim_func
def unrolled(A: T.Buffer((8,), "int32"), B: T.Buffer((1,), "int32")):
    for i in T.unroll(8):
        if A[i] > 4:
            T.evaluate(T.break_loop())
        B[0] = B[0] + 1


@T.prim_func
def vectorized(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
    for i in T.vectorized(8):
        if A[i] > 4:
            T.evaluate(T.continue_loop())
        B[i] = 1


@pytest.mark.pure
def test_rejects_other_kinds():
    with pytest.raises(TVMError, match=r"found: +a loop of kind unrolled"):
        AnnotateIrregularLoop()(IRModule.from_expr(unrolled))


@pytest.mark.pure
@pytest.mark.parametrize(("func", "one"), [(unrolled, UnrollLoop()), (vectorized, VectorizeLoop())])
def test_other_passes_keep_such_loops(func, one):
    body = one(IRModule.from_expr(func))[func.attrs["global_symbol"]].body
    assert len([n for n in walk(body) if type(n).__name__ == "For"]) == 1


@pytest.mark.cpu
def test_machine_code():
    a, b = np.array([1, 2, 3, 9, 1, 1, 1, 1], "int32"), np.zeros(1, "int32")
    tvm.compile(unrolled)["unrolled"](a, b)
    assert b[0] == 3
    c = np.zeros(8, "int32")
    tvm.compile(vectorized)["vectorized"](a, c)
    assert list(c) == [1, 1, 1, 0, 1, 1, 1, 1]
