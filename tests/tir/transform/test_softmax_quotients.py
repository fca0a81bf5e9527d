"""Softmax multiplies by one over its sums; other quotients stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
                B[vi, vk] = T.Select(
                    E[vi, vk] < S[vi] * T.float32(2.0**-126), T.float32(0), E[vi, vk]
                ) * (T.float32(1) / S[vi])


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


def _by_parts(
    top: Callable[..., Any], total: Callable[..., Any], columns: int = 8, first: int = 0
) -> tvm.tir.PrimFunc:
    """A softmax of 2 rows that takes away `top`, divides by `total`, and looks at some columns."""
    a = te.placeholder((2, 8), "float32", "A")
    k, n = te.reduce_axis((0, columns)), te.reduce_axis((0, 8))
    largest = te.compute((2,), lambda i: te.max(a[i, k + first], axis=k), "largest")
    power = te.compute((2, 8), lambda i, j: te.exp(a[i, j] - top(largest, i, j)), "power")
    sums = te.compute((2,), lambda i: te.sum(power[i, n], axis=n), "sums")
    made = te.compute((2, 8), lambda i, j: power[i, j] / total(sums, i, j))
    return te.create_prim_func([a, made])


def own(rows: Any, i: Any, j: Any) -> Any:
    return rows[i]


@pytest.mark.pure
@pytest.mark.parametrize(
    "func",
    [
        pytest.param(_by_parts(lambda m, i, j: m[1 - i], own), id="maximum of another row"),
        pytest.param(_by_parts(lambda m, i, j: m[0], own), id="maximum of one row"),
        pytest.param(_by_parts(lambda m, i, j: m[j % 2], own), id="maxima by column"),
        pytest.param(_by_parts(own, own, columns=4), id="maximum of a part"),
        pytest.param(_by_parts(own, own, columns=7, first=1), id="maximum of the rest"),
        pytest.param(_by_parts(own, lambda s, i, j: s[1 - i]), id="sum of another row"),
    ],
)
def test_sums_that_may_lack_the_maximum_stay(func: tvm.tir.PrimFunc) -> None:
    made = SoftmaxQuotients()(tvm.IRModule({"main": func}))["main"]
    tvm.ir.assert_structural_equal(made, func)


@pytest.mark.pure
def test_usual_parts_change_and_memory_that_others_write_does_not() -> None:
    func = _by_parts(own, own)
    made = SoftmaxQuotients()(tvm.IRModule({"main": func}))["main"]
    assert not tvm.ir.structural_equal(made, func)

    @T.prim_func
    def written(A: T.Buffer((2, 8), "float32"), B: T.Buffer((2, 8), "float32")):
        M, S = T.alloc_buffer((2,)), T.alloc_buffer((2,))
        E = T.alloc_buffer((2, 8))
        for i, k in T.grid(2, 8):
            with T.block("max"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    M[vi] = T.min_value("float32")
                M[vi] = T.max(M[vi], A[vi, vk])
        with T.block("others"):
            T.reads(M[0:2])
            T.writes(M[0:2])
            T.evaluate(T.call_packed("grow", M.data))
        for i, k in T.grid(2, 8):
            with T.block("exp"):
                vi, vk = T.axis.remap("SS", [i, k])
                E[vi, vk] = T.exp(A[vi, vk] - M[vi])
        for i, k in T.grid(2, 8):
            with T.block("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                S[vi] = S[vi] + E[vi, vk]
        for i, k in T.grid(2, 8):
            with T.block("norm"):
                vi, vk = T.axis.remap("SS", [i, k])
                B[vi, vk] = E[vi, vk] / S[vi]

    kept = SoftmaxQuotients()(tvm.IRModule({"main": written}))["main"]
    tvm.ir.assert_structural_equal(kept, written)


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
