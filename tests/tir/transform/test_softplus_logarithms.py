"""Softplus keeps its digits; other logarithms stay."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform.softplus_logarithms import SoftplusLogarithms


@pytest.mark.pure
class TestSoftplus(PassTest):
    run = SoftplusLogarithms()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = T.log(T.exp(A[i] * T.float32(2)) + T.float32(1)) * T.float32(0.5)

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = T.log1p(T.exp(A[i] * T.float32(2))) * T.float32(0.5)


@pytest.mark.pure
class TestOthers(PassTest):
    run = SoftplusLogarithms()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for i in range(8):
            B[i] = T.log(T.float32(2) + T.exp(A[i])) + T.log(T.float32(1) + A[i])

    Expected = Before


@pytest.mark.cpu
@pytest.mark.parametrize("beta", [1.0, 2.0])
def test_softplus_far_below_zero(beta: float) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((64,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.nn.softplus(x, beta, 20.0)))
    vm = relax.VirtualMachine(tvm.compile(bb.get(), target="llvm"), tvm.cpu())
    data = np.linspace(-40, 12, 64, dtype="float32")
    wanted = np.log1p(np.exp(data.astype("float64") * beta)) / beta
    np.testing.assert_allclose(vm["main"](data).numpy(), wanted, rtol=1e-6)
