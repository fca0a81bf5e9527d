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


class TestStatementsAmongOthers(PassTest):
    run = HoistExpression()

    @T.prim_func
    def Before(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32"), m: T.int32):
        for i in range(4):
            with T.LetStmt(m * 2) as x:
                if x > 4:
                    A[i] = x
                C[i] = x

    @T.prim_func
    def Expected(A: T.Buffer((4,), "int32"), C: T.Buffer((4,), "int32"), m: T.int32):
        with T.LetStmt(m * 2) as x:
            if 4 < x:
                for i in range(4):
                    A[i] = x
                    C[i] = x
            else:
                for i in range(4):
                    C[i] = x


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
    def Before(A: T.Buffer((4,), "int32"), m: T.int32):
        for i in range(4):
            with T.LetStmt(m * 2) as x:
                A[i] = x + i

    @T.prim_func
    def Expected(A: T.Buffer((4,), "int32"), m: T.int32):
        with T.LetStmt(m * 2) as x:
            for i in range(4):
                A[i] = x + i


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
