import ml_dtypes  # noqa: F401, names bfloat16 for numpy
import numpy as np
import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.target import Target
from tvm.testing.pass_test import PassTest
from tvm.tir.interp import run
from tvm.tir.transform import BF16ComputeLegalize, BF16StorageLegalize, BindTarget
from tvm.tir.transform.bf16_compute_legalize import BF16ComputeLegalizeAll

pytestmark = pytest.mark.pure


class TestArithmetic(PassTest):
    run = BF16ComputeLegalizeAll()
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
    run = BF16ComputeLegalizeAll()
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


class TestCopiesAndSums(PassTest):
    """Without a target, too, the conversions are of bits; what is copied needs none."""

    run = BF16ComputeLegalize()

    @T.prim_func
    def Before(A: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")):
        for i in T.vectorized(4):
            C[i] = A[i]
        C[4] = T.exp(A[4])

    @T.prim_func
    def Expected(A: T.Buffer((8,), "bfloat16"), C: T.Buffer((8,), "bfloat16")):
        for i in T.vectorized(4):
            C[i] = A[i]
        C[4] = T.reinterpret(
            "bfloat16",
            T.Cast(
                "uint16",
                T.shift_right(
                    T.reinterpret(
                        "uint32",
                        T.exp(
                            T.reinterpret(
                                "float32",
                                T.shift_left(
                                    T.Cast("uint32", T.reinterpret("uint16", A[4])), T.uint32(16)
                                ),
                            )
                        ),
                    )
                    + (
                        T.bitwise_and(
                            T.shift_right(
                                T.reinterpret(
                                    "uint32",
                                    T.exp(
                                        T.reinterpret(
                                            "float32",
                                            T.shift_left(
                                                T.Cast("uint32", T.reinterpret("uint16", A[4])),
                                                T.uint32(16),
                                            ),
                                        )
                                    ),
                                ),
                                T.uint32(16),
                            ),
                            T.uint32(1),
                        )
                        + T.uint32(32767)
                    ),
                    T.uint32(16),
                ),
            ),
        )


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
    assert "+ T.uint32(32767)), T.uint32(16))))" in text
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


@pytest.mark.parametrize(
    ("legalize", "number"), [(BF16ComputeLegalize, 0x8000), (BF16ComputeLegalizeAll, 0x7FFF)]
)
def test_what_is_no_number(legalize, number):
    """Adding half of what is dropped makes a zero of the highest code; compiled code keeps it."""

    @T.prim_func
    def func(A: T.Buffer((1,), "uint32"), B: T.Buffer((1,), "bfloat16")):
        T.func_attr({"target": T.target({"kind": "cuda", "arch": "sm_75"})})
        B[0] = T.reinterpret("float32", A[0]).astype("bfloat16")

    result = np.zeros(1, "bfloat16")
    made = legalize()(IRModule.from_expr(func))["func"]
    run(made, np.array([0x7FFFFFFF], "uint32"), result)
    assert result.view("uint16")[0] == number


def test_bits_are_rounded_in_few_operations():
    @T.prim_func
    def func(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "bfloat16")):
        T.func_attr({"target": T.target({"kind": "cuda", "arch": "sm_75"})})
        B[0] = T.Cast("bfloat16", A[0] + A[1])

    text = BF16ComputeLegalize()(IRModule.from_expr(func)).script()
    bits = 'T.reinterpret("uint32", A[0] + A[1])'
    odd = f"T.bitwise_and(T.shift_right({bits}, T.uint32(16)), T.uint32(1))"
    rounded = f"T.shift_right({bits} + ({odd} + T.uint32(32767)), T.uint32(16))"
    assert f'B[0] = T.reinterpret("bfloat16", T.Cast("uint16", {rounded}))' in text
