"""Exponentials below the maximum of their row are no subnormal numbers; all others stay."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax, te, topi
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform.softmax_exponentials import SoftmaxExponentials

LOW = -87.33654


@pytest.mark.pure
class TestExponential(PassTest):
    run = SoftmaxExponentials()

    @T.prim_func
    def Before(A: T.Buffer((4, 8), "float32"), E: T.Buffer((4, 8), "float32")):
        M = T.alloc_buffer((4,))
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

    @T.prim_func
    def Expected(A: T.Buffer((4, 8), "float32"), E: T.Buffer((4, 8), "float32")):
        M = T.alloc_buffer((4,))
        for i, k in T.grid(4, 8):
            with T.block("max"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    M[vi] = T.min_value("float32")
                M[vi] = T.max(M[vi], A[vi, vk])
        for i, k in T.grid(4, 8):
            with T.block("exp"):
                vi, vk = T.axis.remap("SS", [i, k])
                E[vi, vk] = T.Select(
                    A[vi, vk] - M[vi] < T.float32(LOW),
                    T.float32(0),
                    T.exp(T.max(T.min(A[vi, vk] - M[vi], T.float32(0)), T.float32(LOW))),
                )


@pytest.mark.pure
def test_exponentials_of_other_differences_stay():
    a = te.placeholder((4, 8), "float32", "A")
    rows = te.compute((4,), lambda i: te.exp(a[i, 0] - a[i, 1]))
    other = topi.exp(a - topi.max(topi.abs(a), axis=1, keepdims=True))  # a is not what is compared
    column = topi.exp(a - topi.sum(a, axis=1, keepdims=True))
    for out in (rows, other, column):
        func = te.create_prim_func([a, out])
        made = SoftmaxExponentials()(tvm.IRModule({"main": func}))["main"]
        tvm.ir.assert_structural_equal(made, func)


def machine(make, shape, dtype: str, target: str):
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(shape, dtype))
    with bb.function("main", [x]):
        with bb.dataflow():
            out = bb.emit_output(make(x))
        bb.emit_func_output(out)
    return relax.VirtualMachine(tvm.compile(bb.get(), target), tvm.cpu())["main"]


def softmax(x: np.ndarray) -> np.ndarray:
    with np.errstate(invalid="ignore"):
        power = np.exp(x - x.max(-1, keepdims=True))
    return power / power.sum(-1, keepdims=True)


@pytest.mark.cpu
@pytest.mark.covering(1)
@pytest.mark.parametrize("cpu", ["x86-64-v4", "haswell", "x86-64-v2"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("known", [True, False])
def test_rows_with_hidden_scores(cpu: str, dtype: str, known: bool):
    shape = (12, 49)
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype) * 3
    for row, hidden in enumerate((-80, -87, -95, -100, -104, -700, -740, -1e4, -1e30, -np.inf)):
        x[row, ::2] += hidden
    x[10] = -np.inf
    x[11, 5] = np.array(-1, "int32").view("float32") if dtype == "float32" else np.nan
    extents = shape if known else (tvm.tir.Var("n", "int64"), tvm.tir.Var("k", "int64"))
    target = f"llvm -mcpu={cpu}"
    found = machine(relax.op.nn.softmax, extents, dtype, target)(tvm.runtime.tensor(x)).numpy()
    limits = {"float32": (4e-6, 2.0**-126), "float64": (1e-14, 2.0**-1022)}[dtype]
    np.testing.assert_allclose(found, softmax(x.astype("float64")), *limits)
    part = found[np.isfinite(found)]
    assert not np.any((part > 0) & (part < np.finfo(dtype).tiny)), "no subnormal numbers"
    found = machine(relax.op.nn.log_softmax, extents, dtype, target)(tvm.runtime.tensor(x)).numpy()
    wide = x[:10].astype("float64")
    top = wide.max(-1, keepdims=True)
    exact = wide - top - np.log(np.exp(wide - top).sum(-1, keepdims=True))
    np.testing.assert_allclose(found[:10], exact, limits[0], limits[0])
    assert np.isnan(found[10:]).all()
