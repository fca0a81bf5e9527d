import pytest

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import HoistedConditionals, HoistedLetBindings, HoistExpression

pytestmark = pytest.mark.pure


def configured(conditions, names):
    def run(mod: IRModule) -> IRModule:
        config = {"hoisted_conditionals": conditions.value, "hoisted_let_bindings": names.value}
        with PassContext(config={"tir.HoistExpression": config}):
            return HoistExpression()(mod)

    return run


class TestTwoCases(PassTest):
    run = HoistExpression()

    @T.prim_func
    def Before(A: T.Buffer((4,), "int32"), m: T.int32):
        for i in range(4):
            with T.LetStmt(m * 2) as x:
                if x > 4:
                    A[i] = x
                else:
                    A[i] = 0

    @T.prim_func
    def Expected(A: T.Buffer((4,), "int32"), m: T.int32):
        if 2 < m:
            for i in range(4):
                A[i] = m * 2
        else:
            for i in range(4):
                A[i] = 0


class TestKeepsConditionsBesideOtherStatements(PassTest):
    run = HoistExpression()

    @T.prim_func
    def Before(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32"), m: T.int32):
        for i, j in T.grid(4, 4):
            if m > 4:
                A[i] = m
            C[i] = m

    @T.prim_func
    def Expected(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32"), m: T.int32):
        for i, j in T.grid(4, 4):
            if 4 < m:
                A[i] = m
            C[i] = m


class TestOneBranchWithinAnother(PassTest):
    """What stands in the other branch runs whatever the inner condition is."""

    run = HoistExpression()

    @T.prim_func
    def Before(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32"), m: T.int32):
        for i in range(4):
            if i < 2:
                if m > 4:
                    A[i] = m
            else:
                C[i] = m

    @T.prim_func
    def Expected(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32"), m: T.int32):
        if 4 < m:
            for i in range(4):
                if i < 2:
                    A[i] = m
                else:
                    C[i] = m
        else:
            for i in range(4):
                if not i < 2:
                    C[i] = m


class TestOutOfLaunches(PassTest):
    run = configured(HoistedConditionals.All, HoistedLetBindings.Never)

    @T.prim_func
    def Before(A: T.Buffer((8, 4), "int32"), m: T.int32):
        tx = T.launch_thread("threadIdx.x", 8)
        for i in range(4):
            if m > 4 and tx < 6:
                A[tx, i] = 1

    @T.prim_func
    def Expected(A: T.Buffer((8, 4), "int32"), m: T.int32):
        if 4 < m:
            tx = T.launch_thread("threadIdx.x", 8)
            if tx < 6:
                for i in range(4):
                    A[tx, i] = 1


class TestNotOutOfLaunches(PassTest):
    run = configured(
        HoistedConditionals.All & ~HoistedConditionals.UsingBlockVar, HoistedLetBindings.Never
    )

    @T.prim_func
    def Before(A: T.Buffer((8, 4), "int32"), m: T.int32):
        tx = T.launch_thread("threadIdx.x", 8)
        for i in range(4):
            if m > 4 and tx < 6:
                A[tx, i] = 1

    @T.prim_func
    def Expected(A: T.Buffer((8, 4), "int32"), m: T.int32):
        tx = T.launch_thread("threadIdx.x", 8)
        if 4 < m:
            for i in range(4):
                if tx < 6:
                    A[tx, i] = 1


class TestNamesOfExpressions(PassTest):
    run = configured(HoistedConditionals.Never, HoistedLetBindings.LetExpr)

    @T.prim_func
    def Before(A: T.Buffer((4, 4), "float32")):
        for i, j in T.grid(4, 4):
            x = T.float32()
            A[i, j] = T.Let(x * x + T.cast(j, "float32"), where={x: T.cast(i, "float32")})

    @T.prim_func
    def Expected(A: T.Buffer((4, 4), "float32")):
        for i in range(4):
            with T.LetStmt(T.Cast("float32", i)) as x:
                for j in range(4):
                    A[i, j] = x * x + T.cast(j, "float32")


class TestKeepsConditionsOnNames(PassTest):
    """A condition stays where the name that it uses has to stay."""

    run = configured(HoistedConditionals.All, HoistedLetBindings.Never)

    @T.prim_func
    def Before(A: T.Buffer((4,), "int32"), m: T.int32):
        for i in range(4):
            with T.LetStmt(m > 2) as x:
                if x:
                    A[i] = m

    @T.prim_func
    def Expected(A: T.Buffer((4,), "int32"), m: T.int32):
        for i in range(4):
            with T.LetStmt(2 < m) as x:
                if x:
                    A[i] = m


class TestChoicesOnRequest(PassTest):
    run = configured(HoistedConditionals.IfElseExpr, HoistedLetBindings.Never)

    @T.prim_func
    def Before(A: T.Buffer((4,), "int32"), m: T.int32):
        for i in range(4):
            A[i] = T.if_then_else(m > 4, i, 0)

    @T.prim_func
    def Expected(A: T.Buffer((4,), "int32"), m: T.int32):
        if 4 < m:
            for i in range(4):
                A[i] = i
        else:
            for i in range(4):
                A[i] = 0


class TestPartsOfConditions(PassTest):
    run = configured(HoistedConditionals.BooleanExpression, HoistedLetBindings.Never)

    @T.prim_func
    def Before(A: T.Buffer((4,), "int32"), m: T.int32):
        for i in range(4):
            if i < 2 and m > 4:
                A[i] = 1

    @T.prim_func
    def Expected(A: T.Buffer((4,), "int32"), m: T.int32):
        if 4 < m:
            for i in range(4):
                if i < 2:
                    A[i] = 1


class TestNamesOnRequest(PassTest):
    run = configured(HoistedConditionals.Never, HoistedLetBindings.LetStmt)

    @T.prim_func
    def Before(A: T.Buffer((4,), "float32"), m: T.float32):
        for i in range(4):
            with T.LetStmt(m * T.float32(2)) as x:
                A[i] = x + T.Cast("float32", i)

    @T.prim_func
    def Expected(A: T.Buffer((4,), "float32"), m: T.float32):
        with T.LetStmt(m * T.float32(2)) as x:
            for i in range(4):
                A[i] = x + T.Cast("float32", i)


class TestKeepsWhatDependsOnMemoryOrMayFail(PassTest):
    run = HoistExpression()

    @T.prim_func
    def Before(A: T.Buffer((4,), "int32"), m: T.int32):
        for i in range(4):
            if A[0] > 4:
                A[i] = 1
            if 8 // T.max(m, 1) > 2:
                A[i] = 2

    def test_loop_is_outermost(self):
        assert type(self._after()["main"].body).__name__ == "For"


class TestConditionsOfExpressionsToo(PassTest):
    run = HoistExpression()

    @T.prim_func
    def Before(A: T.Buffer((64,), "int32")):
        for i in range(16):
            for j in range(4):
                A[i * 4 + j] = T.if_then_else(i < 3, 1, 2)

    @T.prim_func
    def Expected(A: T.Buffer((64,), "int32")):
        for i in range(16):
            if i < 3:
                for j in range(4):
                    A[i * 4 + j] = 1
            else:
                for j in range(4):
                    A[i * 4 + j] = 2
