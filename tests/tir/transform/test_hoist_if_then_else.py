import pytest

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
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


def with_block_scope(mod: IRModule) -> IRModule:
    config = {"tir.HoistIfThenElse": {"support_block_scope_hoisting": True}}
    with PassContext(config=config):
        return HoistIfThenElse()(mod)


class TestConditionsOnThreads(PassTest):
    run = with_block_scope

    @T.prim_func
    def Before(A: T.Buffer((8, 4), "int32"), m: T.int32):
        tx = T.launch_thread("threadIdx.x", 8)
        for i in range(4):
            if m > 4:
                for j in range(2):
                    if tx < 6:
                        A[tx, i] = j

    @T.prim_func
    def Expected(A: T.Buffer((8, 4), "int32"), m: T.int32):
        if 4 < m:
            tx = T.launch_thread("threadIdx.x", 8)
            if tx < 6:
                for i, j in T.grid(4, 2):
                    A[tx, i] = j


class TestNoConditionsOnThreadsByDefault(PassTest):
    run = HoistIfThenElse()

    @T.prim_func
    def Before(A: T.Buffer((8, 4), "int32")):
        tx = T.launch_thread("threadIdx.x", 8)
        for i in range(4):
            if tx < 6:
                A[tx, i] = 1

    Expected = Before


class TestBesideOtherStatements(PassTest):
    """A test goes out of the loops that stand beside a statement, not past that."""

    run = HoistIfThenElse()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), n: T.int32):
        for i in range(4):
            A[i] = 1
            for j, k in T.grid(2, 2):
                if n < 3:
                    A[j * 2 + k + 4] = 2

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int32"), n: T.int32):
        for i in range(4):
            A[i] = 1
            if n < 3:
                for j, k in T.grid(2, 2):
                    A[j * 2 + k + 4] = 2


class TestOfANamedValue(PassTest):
    """A test of what a let binds stays: lets are not moved here."""

    run = HoistIfThenElse()

    @T.prim_func
    def Before(A: T.Buffer((16,), "int32"), n: T.int32):
        for i in range(4):
            x: T.int32 = A[i]
            for j in range(4):
                if x < n:
                    A[j + 4] = x

    Expected = Before
