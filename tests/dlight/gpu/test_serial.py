"""What no rule takes runs on the device, by one thread."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.gpu.lowered import CUDA, target
from tvm import dlight as dl
from tvm.dlight.gpu import Serial
from tvm.ir import structural_equal
from tvm.script import tir as T
from tvm.tir.interp import run

pytestmark = pytest.mark.pure


@T.prim_func(private=True)
def scatter(A: T.Buffer((8,), "float32"), P: T.Buffer((5,), "int64"), V: T.Buffer((5,), "float32"),
            B: T.Buffer((8,), "float32")) -> None:  # fmt: skip
    with T.block("root"):
        for i in range(8):
            with T.block("copy"):
                v = T.axis.spatial(8, i)
                B[v] = A[v]
        with T.block("scatter"):
            T.reads(P[0:5], V[0:5])
            T.writes(B[0:8])
            for k in range(5):
                B[P[k]] = B[P[k]] + V[k]


def test_dependent_steps_have_one_thread() -> None:
    mod = tvm.IRModule({"main": scatter})
    with CUDA:
        new = dl.ApplyDefaultSchedule(Serial())(mod)["main"]
    text = str(new)
    assert text.count('T.thread_binding(1, thread="blockIdx.x")') == 2
    assert text.count('T.thread_binding(1, thread="threadIdx.x")') == 2
    a, v = np.arange(8, dtype="float32"), np.full(5, 2, "float32")
    places = np.array([1, 1, 7, 0, 1])
    found, wanted = np.zeros((2, 8), "float32")
    run(new, a, places, v, found)
    run(scatter, a, places, v, wanted)
    np.testing.assert_array_equal(found, wanted)
    np.testing.assert_array_equal(found, [2, 7, 2, 3, 4, 5, 6, 9])


def test_threads_that_are_there_stay() -> None:
    mod = tvm.IRModule({"main": scatter})
    with CUDA:
        once = dl.ApplyDefaultSchedule(Serial())(mod)["main"]
        assert Serial().apply(once, CUDA, False) is None


def test_the_cpu_has_no_such_threads() -> None:
    assert Serial().apply(scatter, tvm.target.Target("llvm"), False) is None
    assert Serial().apply(scatter, target("vulkan"), False) is not None


def test_the_last_of_the_default_rules() -> None:
    rules = dl.gpu.default_rules()
    assert isinstance(rules[-1], Serial)
    with CUDA:
        mod = dl.ApplyDefaultSchedule(*rules)(tvm.IRModule({"main": scatter}))
    assert not structural_equal(mod["main"], scatter)
