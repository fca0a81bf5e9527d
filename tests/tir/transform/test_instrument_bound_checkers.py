import numpy as np
import pytest

import tvm
from tvm.error import BoundsError
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.script import tir as T
from tvm.tir.functor import walk
from tvm.tir.transform import InstrumentBoundCheckers


def checked(func):
    with PassContext(config={"tir.instrument_bound_checkers": True}):
        return tvm.compile(func)


@T.prim_func
def gather(A: T.Buffer((8,), "float32"), P: T.Buffer((4,), "int32"), B: T.Buffer((4,), "float32")):
    for i in range(4):
        B[i] = T.if_then_else(P[i] >= 0, A[P[i]], T.float32(0))


@pytest.mark.pure
def test_checks_only_what_is_not_proved():
    body = InstrumentBoundCheckers()(IRModule.from_expr(gather))["gather"].body
    found = [n for n in walk(body) if type(n).__name__ == "AssertStmt"]
    assert len(found) == 1


@pytest.mark.cpu
def test_in_bounds():
    a, b = np.arange(8, dtype="float32"), np.zeros(4, "float32")
    checked(gather)["gather"](a, np.array([7, 0, -1, 3], "int32"), b)
    assert list(b) == [7, 0, 0, 3]


@pytest.mark.cpu
def test_out_of_bounds():
    a, b = np.arange(8, dtype="float32"), np.zeros(4, "float32")
    with pytest.raises(BoundsError) as caught:
        checked(gather)["gather"](a, np.array([7, 0, -1, 8], "int32"), b)
    text = " ".join(str(caught.value).split())
    assert text == "load from A found: index 8 legal: 0 <= index < 8"


@pytest.mark.cpu
def test_vectors_and_stores():
    @T.prim_func
    def shifted(B: T.Buffer((16,), "float32"), n: T.int32):
        for i in T.vectorized(8):
            B[i + n] = 1.0

    built = checked(shifted)["shifted"]
    b = np.zeros(16, "float32")
    built(b, 8)
    assert list(b) == [0] * 8 + [1] * 8
    with pytest.raises(IndexError, match="store to B"):
        built(b, 9)
    with pytest.raises(IndexError, match="store to B"):
        built(b, -1)
