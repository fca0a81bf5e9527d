"""Kernels for cores get threads on a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir import interp
from tvm.tir.transform import BindParallelLoops

GPU = Target("cuda", host="llvm")


@T.prim_func
def shifted(a: T.handle, b: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n,), "float32")
    B = T.match_buffer(b, (n,), "float32")
    for i in T.parallel(T.int64(1), n):
        B[i] = A[i - T.int64(1)] * T.float32(2)


@T.prim_func
def running(A: T.Buffer((5,), "float32"), B: T.Buffer((5,), "float32")):
    T.func_attr({"tir.is_scheduled": True})
    for i in range(5):
        B[i] = A[i] + T.if_then_else(i > 0, B[i - 1], T.float32(0))


def on(func: tir.PrimFunc, target: Any) -> tir.PrimFunc:
    return BindParallelLoops()(tvm.IRModule({"main": func.with_attr("target", target)}))["main"]


@pytest.mark.parametrize("n", [2, 256, 258])
def test_parallel_loops_run_on_threads(n: int) -> None:
    found = on(shifted, GPU)
    assert 'thread="blockIdx.x"' in found.script()
    assert "T.parallel" not in found.script()
    a, b = np.arange(n, dtype="float32"), np.zeros(n, "float32")
    interp.run(found, a, b)
    np.testing.assert_array_equal(b[1:], 2 * a[:-1])


def test_a_scheduled_function_without_loops_for_threads_has_one() -> None:
    found = on(running, GPU)
    a, b = np.arange(5, dtype="float32"), np.zeros(5, "float32")
    interp.run(found, a, b)
    np.testing.assert_array_equal(b, np.cumsum(a))
    assert 'T.thread_binding(1, thread="threadIdx.x")' in found.script()


@pytest.mark.parametrize("target", [Target("llvm"), Target("cuda"), Target("c", host="llvm")])
def test_functions_of_others_are_left(target: Target) -> None:
    func = shifted.with_attr("target", target)
    assert on(func, target).body is func.body


def test_functions_with_threads_and_those_of_the_host_are_left() -> None:
    once = on(shifted, GPU)
    assert on(once, GPU).body is once.body
    host = running.with_attr("tir.is_host_func", True)
    assert on(host, GPU).body is host.body


def test_what_is_not_scheduled_is_refused_later() -> None:
    func = running.without_attr("tir.is_scheduled")
    assert on(func, GPU).body is func.body
