"""Accesses outside of buffers."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm.error import ScheduleError
from tvm.ir import IRModule
from tvm.script import tir as T
from tvm.tir.analysis import OOBChecker
from tvm.tir.analysis.out_of_bounds import out_of_bounds_accesses

pytestmark = pytest.mark.pure


@T.prim_func
def beyond(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")) -> None:
    for i in range(16):
        A[i] = B[i + 1]


@T.prim_func
def guarded(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")) -> None:
    for i in range(16):
        if i >= 1:
            A[i] = B[i - 1]
        else:
            A[i] = T.if_then_else(i < 15, B[i + 1], T.float32(0))


@T.prim_func
def never(A: T.Buffer((16,), "float32"), n: T.int32) -> None:
    if n > 20:
        A[n] = T.float32(0)


def test_inside() -> None:
    for func in (matmul, guarded):
        mod = IRModule({"main": func})
        assert OOBChecker()(mod).functions == mod.functions
        assert out_of_bounds_accesses(func) == []


def test_outside() -> None:
    where = r"main: buffer B, B\[i \+ 1\]: index 0 runs over \[1, 16\]"
    with pytest.raises(ScheduleError, match=where):
        OOBChecker()(IRModule({"main": beyond}))
    assert len(out_of_bounds_accesses(never)) == 1
