import pytest

from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import HoistIfThenElse

pytestmark = pytest.mark.pure


class TestOutOfLoops(PassTest):
    run = HoistIfThenElse()

    @T.prim_func
    def Before(A: T.Buffer((4, 4), "int32"), n: T.int32):
        for i, j in T.grid(4, 4):
            if n > i:
                A[i, j] = 1
            else:
                A[i, j] = 2

    @T.prim_func
    def Expected(A: T.Buffer((4, 4), "int32"), n: T.int32):
        for i in range(4):
            if i < n:
                for j in range(4):
                    A[i, j] = 1
            else:
                for j in range(4):
                    A[i, j] = 2


class TestOneInTheOther(PassTest):
    """Each test goes as far out as it can."""

    run = HoistIfThenElse()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32")):
        for i in range(4):
            for j in range(5):
                for k in range(6):
                    if i >= 2:  # noqa: SIM102
                        if j >= 3:
                            A[i + j + k] = 6

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32")):
        for i in range(4):
            if 2 <= i:
                for j in range(5):
                    if 3 <= j:
                        for k in range(6):
                            A[i + j + k] = 6


class TestKeepsConditionsOnMemory(PassTest):
    run = HoistIfThenElse("basic")

    @T.prim_func
    def Before(A: T.Buffer((4,), "int32")):
        for i in range(4):
            if A[0] < 2:
                A[i] = A[i] + 1

    Expected = Before


def test_rejects_unknown_variants():
    with pytest.raises(ValueError, match="variant 'fast'; legal: None or 'basic'"):
        HoistIfThenElse("fast")
