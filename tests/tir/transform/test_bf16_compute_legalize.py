import ml_dtypes  # noqa: F401, names bfloat16 for numpy
import numpy as np
import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target import Target
from tvm.testing.pass_test import PassTest
from tvm.tir.interp import run
from tvm.tir.transform import BF16ComputeLegalize, BF16StorageLegalize, BindTarget

pytestmark = pytest.mark.pure


class TestArithmetic(PassTest):
    run = BF16ComputeLegalize()
    tolerance = 2e-2

    @T.prim_func
    def Before(
        A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")
    ):
        for i in range(8):
            C[i] = A[i] * B[i] + T.bfloat16(1.5)

    @T.prim_func
    def Expected(
        A: T.Buffer((8,), "bfloat16"), B: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")
    ):
        for i in range(8):
            C[i] = T.Cast(
                "bfloat16",
                T.Cast("float32", A[i]) * T.Cast("float32", B[i]) + T.float32(1.5),
            )


class TestLetsCallsAndComparisons(PassTest):
    run = BF16ComputeLegalize()
    tolerance = 2e-2

    @T.prim_func
    def Before(A: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")):
        for i in range(8):
            with T.LetStmt(T.exp(A[i])) as x:
                C[i] = T.Select(x > A[i], x, A[i])

    @T.prim_func
    def Expected(A: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")):
        for i in range(8):
            with T.LetStmt(T.exp(T.Cast("float32", A[i]))) as x:
                C[i] = T.Cast(
                    "bfloat16",
                    T.Select(x > T.Cast("float32", A[i]), x, T.Cast("float32", A[i])),
                )


class TestKeepsOtherTypes(PassTest):
    run = BF16ComputeLegalize()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float16")):
        for i in range(8):
            A[i] = A[i] + T.float16(1)

    Expected = Before


@pytest.mark.parametrize("arch", ["sm_60", "sm_75"])
def test_a_device_without_the_type_converts_by_bits(arch: str) -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")):
        B = T.decl_buffer((8,), "bfloat16")
        for i in range(8):
            B[i] = A[i]
        for i in range(8):
            C[i] = B[i] + B[i]

    expected, mod = func.script(), IRModule.from_expr(func)
    made = BF16ComputeLegalize()(BindTarget(Target({"kind": "cuda", "arch": arch}))(mod))
    text = made.script()
    assert "T.Cast(\"bfloat16\"" not in text
    assert 'B = T.decl_buffer((8,))' in text
    assert (
        'B[i] = T.reinterpret("float32", T.shift_left(T.Cast("uint32", '
        'T.reinterpret("uint16", A[i])), T.uint32(16)))'
    ) in text
    assert "+ T.uint32(32767)), T.uint32(16))), where={bits: " in text
    assert func.script() == expected
    values = np.linspace(-3, 3, 8).astype("bfloat16")
    result = np.zeros(8, "bfloat16")
    run(made["func"], values, result)
    np.testing.assert_array_equal(
        result.astype("float32"), (values.astype("float32") * 2).astype("float32")
    )
    stored = BF16StorageLegalize()(made).script()
    assert "bfloat16" not in stored
    assert 'T.reinterpret("uint16"' not in stored


def test_a_device_with_the_type_keeps_it() -> None:
    @T.prim_func
    def func(A: T.Buffer((8,), "bfloat16")):
        for i in range(8):
            A[i] = A[i] + A[i]

    mod = BindTarget(Target({"kind": "cuda", "arch": "sm_80"}))(IRModule.from_expr(func))
    assert BF16ComputeLegalize()(mod)["func"].body is mod["func"].body
    assert BF16StorageLegalize()(mod)["func"].body is mod["func"].body
