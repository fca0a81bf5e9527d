"""Long reductions with few results, among other blocks."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.gpu.lowered import CUDA, KINDS, arguments, check, kernel, scheduled, target
from tests.dlight.programs import conv, reduction
from tvm import dlight as dl
from tvm import te, tir, topi
from tvm.dlight.gpu import FewResults
from tvm.tir.interp import run


def variance(rows: int, columns: int) -> tir.PrimFunc:
    """The variance of all elements."""
    x = te.placeholder((rows, columns), name="X")
    m, n, i, j = (te.reduce_axis((0, e), k) for e, k in ((rows, "m"), (columns, "n"),
                                                         (rows, "i"), (columns, "j")))  # fmt: skip
    mean = te.compute((), lambda: te.sum(x[m, n], axis=[m, n]), name="total")
    count = tir.const(rows * columns, "float32")

    def square(r: tir.Var, c: tir.Var) -> tir.PrimExpr:
        away = x[r, c] - mean[()] / count
        return away * away

    return te.create_prim_func([x, te.compute((), lambda: te.sum(square(i, j), axis=[i, j]))])


@pytest.mark.parametrize("kind", KINDS)
def test_several_in_one_function(kind: str) -> None:
    text = str(check(FewResults(), variance(7, 40), target(kind)))
    assert text.count('T.thread_binding(T.int64(1), thread="blockIdx.x")') == 2
    assert text.count('thread="threadIdx.x"') == 2


def test_a_pair_of_results_along_any_axis() -> None:
    x = te.placeholder((5, 90, 3), name="X")
    func = te.create_prim_func([x, topi.argmax(x, 1)])
    lowered = kernel(scheduled(FewResults(), func, CUDA), CUDA)
    data, found = arguments(func)
    run(lowered, data, found)
    np.testing.assert_array_equal(found, data.argmax(1))


def test_others_are_left_to_other_rules() -> None:
    assert FewResults().apply(reduction((8, 9), (1,)), CUDA, False) is None  # short
    assert FewResults().apply(reduction((5000, 90), (1,)), CUDA, False) is None  # many results
    assert FewResults().apply(conv(1, 3, 4, 6), CUDA, False) is None
    assert FewResults().apply(reduction((8, 90), (1,)), tvm.target.Target("llvm"), False) is None


def test_it_comes_before_a_thread_for_each_result() -> None:
    with CUDA:
        rules = dl.ApplyDefaultSchedule(*dl.gpu.default_rules())
        text = str(rules(tvm.IRModule({"main": variance(30, 50)}))["main"])
    assert 'T.thread_binding(1024, thread="threadIdx.x")' not in text
