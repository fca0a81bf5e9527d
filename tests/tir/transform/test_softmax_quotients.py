"""Softmax multiplies by one over its sums; other quotients stay."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax, te, topi
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform.softmax_quotients import SoftmaxQuotients


@pytest.mark.pure
class TestSoftmax(PassTest):
    run = SoftmaxQuotients()

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        M, S = T.alloc_buffer((4,)), T.alloc_buffer((4,))
        E = T.alloc_buffer((4, 8))
        for i, k in T.grid(4, 8):
            with T.block("max"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    M[vi] = T.min_value("float32")
                M[vi] = T.max(M[vi], A[vi, vk])
        for i, k in T.grid(4, 8):
            with T.block("exp"):
                vi, vk = T.axis.remap("SS", [i, k])
                E[vi, vk] = T.exp(A[vi, vk] - M[vi])
        for i, k in T.grid(4, 8):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + E[vi, vk]
        for i, k in T.grid(4, 8):
            with T.block("norm"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[vi, vk] = E[vi, vk] / S[vi]

    @T.prim_func
    def Expected(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        M, S = T.alloc_buffer((4,)), T.alloc_buffer((4,))
        E = T.alloc_buffer((4, 8))
        for i, k in T.grid(4, 8):
            with T.block("max"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    M[vi] = T.min_value("float32")
                M[vi] = T.max(M[vi], A[vi, vk])
        for i, k in T.grid(4, 8):
            with T.block("exp"):
                vi, vk = T.axis.remap("SS", [i, k])
                E[vi, vk] = T.exp(A[vi, vk] - M[vi])
        for i, k in T.grid(4, 8):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + E[vi, vk]
        for i, k in T.grid(4, 8):
            with T.block("norm"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[vi, vk] = E[vi, vk] * (T.float32(1) / S[vi])


def _softmax(dtype: str = "float32", shift: bool = True) -> tvm.tir.PrimFunc:
    a = te.placeholder((4, 8), dtype, "A")
    if shift:
        return te.create_prim_func([a, topi.nn.softmax(a)])
    power = topi.exp(a)
    return te.create_prim_func([a, power / topi.sum(power, 1, keepdims=True)])


@pytest.mark.pure
def test_keeps_what_may_be_small_or_is_short() -> None:
    """Sums of exponentials that nothing is taken from, and of 16 bits; the usual one changes."""
    for func, changed in ((_softmax(), True), (_softmax("float16"), False),
                          (_softmax(shift=False), False), (_softmax("float64"), True)):  # fmt: skip
        made = SoftmaxQuotients()(tvm.IRModule({"main": func}))["main"]
        assert isinstance(made, tvm.tir.PrimFunc)
        assert (made.body is not func.body) == changed


@pytest.mark.cpu
def test_results() -> None:
    """Rows with infinities and NaN are as before; others sum to one."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((7, 512), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.nn.softmax(x)))
    values = (np.random.default_rng(0).standard_normal((7, 512)) * 20).astype("float32")
    values[1] = -3e38
    values[2, 7], values[3, 9], values[4] = np.nan, np.inf, -np.inf
    values[5, 1] = -np.inf
    built = relax.VirtualMachine(tvm.compile(bb.get(), "llvm -mcpu=haswell"), tvm.cpu())
    found = built["main"](tvm.runtime.tensor(values)).numpy()
    with np.errstate(invalid="ignore"):
        power = np.exp((values - values.max(1, keepdims=True)).astype("float64"))
    np.testing.assert_allclose(found, power / power.sum(1, keepdims=True), rtol=1e-6, atol=1e-37)
