import pytest

from tvm import tir
from tvm.ir.module import IRModule
from tvm.ir.op import Op, register_intrin_lowering
from tvm.ir.transform import Sequential
from tvm.script import tir as T
from tvm.target import Target
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import BindTarget, LowerIntrin
from tvm.tir.transform.lower_intrin import LowerForBackend

pytestmark = pytest.mark.pure


class TestDivisionOfWhatIsNotNegative(PassTest):
    run = LowerForBackend()

    @T.prim_func
    def Before(A: T.Buffer((64,), "int32"), n: T.int32):
        for i in range(60):
            A[i] = i // 3 + i % 7 + n // 3 + i // 4

    @T.prim_func
    def Expected(A: T.Buffer((64,), "int32"), n: T.int32):
        for i in range(60):
            A[i] = T.truncdiv(i, 3) + T.truncmod(i, 7) + n // 3 + i // 4


class TestWhatLeavesNoRemainder(PassTest):
    """Either rounding tells whether a number divides another one."""

    run = Sequential([BindTarget(Target("c")), LowerIntrin()])

    @T.prim_func
    def Before(A: T.Buffer((64,), "bool"), n: T.int32, m: T.int32):
        A[0] = n % 4 == 0
        A[1] = n % m != 0
        A[2] = n % 4 == 1

    @T.prim_func
    def Expected(A: T.Buffer((64,), "bool"), n: T.int32, m: T.int32):
        T.func_attr({"target": T.target("c")})
        A[0] = T.truncmod(n, 4) == 0
        A[1] = T.truncmod(n, m) != 0
        A[2] = T.bitwise_and(n, 3) == 1


def test_rules_by_target_then_default():
    def rule_for(name):
        return lambda call: tir.call_pure_extern(call.dtype, name, call.args[0])

    op = Op.get("tir.acosh")
    register_intrin_lowering("tir.acosh", "llvm", f=rule_for("by_llvm"))
    register_intrin_lowering("tir.acosh", "default", f=rule_for("by_default"))
    try:

        @T.prim_func
        def func(A: T.Buffer((1,), "float32")):
            A[0] = T.acosh(A[0])

        mod = IRModule.from_expr(func)
        plain = LowerIntrin()(mod)["func"].body
        bound = LowerIntrin()(BindTarget(Target("llvm"))(mod))["func"].body
        assert str(plain.value.args[0]) in ("by_default", '"by_default"')
        assert str(bound.value.args[0]) in ("by_llvm", '"by_llvm"')
    finally:
        op.reset_attr("llvm.FLowerIntrinsic")
        op.reset_attr("default.FLowerIntrinsic")
