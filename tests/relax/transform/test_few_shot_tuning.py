"""Schedules after a few tries."""

from __future__ import annotations

import pytest

import tvm
from tests.relax.transform.test_meta_schedule import Module, check_results, scheduled_names
from tvm.relax.transform import FewShotTuning
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.target import Target

pytestmark = [pytest.mark.cpu, pytest.mark.slow]


@pytest.mark.parametrize(("valid_count", "benchmark"), [(1, False), (2, True)])
def test_all_kernels(valid_count: int, benchmark: bool) -> None:
    with Target("llvm --num-cores=2"):
        out = FewShotTuning(valid_count=valid_count, benchmark=benchmark)(Module)
        again = FewShotTuning()(out)
    assert scheduled_names(out) == {"tir_matmul", "tir_relu"}
    assert not tvm.ir.structural_equal(out["tir_matmul"].body, Module["tir_matmul"].body)
    tvm.ir.assert_structural_equal(again, out)
    check_results(out)


def test_symbolic_shapes_are_left() -> None:
    @I.ir_module
    class Symbolic:
        @T.prim_func
        def relu(x: T.handle, y: T.handle):
            n = T.int64()
            A = T.match_buffer(x, (n,))
            B = T.match_buffer(y, (n,))
            for i in range(n):
                with T.block("relu"):
                    vi = T.axis.spatial(n, i)
                    B[vi] = T.max(A[vi], T.float32(0))

    with Target("llvm"):
        tvm.ir.assert_structural_equal(FewShotTuning()(Symbolic), Symbolic)


def test_what_it_needs() -> None:
    with pytest.raises(ValueError, match=r"found: no target"):
        FewShotTuning()(Module)
    with pytest.raises(ValueError, match=r"found: valid_count=0"):
        FewShotTuning(valid_count=0)(Module)
