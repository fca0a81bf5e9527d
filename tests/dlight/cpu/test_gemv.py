"""The rule that scripts know: its result is fixed."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dlight.programs import SPR, matmul, results
from tvm import dlight as dl
from tvm import te, tir
from tvm.ir import IRModule, assert_structural_equal
from tvm.script import tir as T
from tvm.target import Target


def batched(b: int | tir.Var, n: int | tir.Var, k: int | tir.Var) -> tir.PrimFunc:
    """C[b, n] = sum over k of W[b, n, k] * x[b, k]."""
    w, x = te.placeholder((b, n, k), name="W"), te.placeholder((b, k), name="x")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((b, n), lambda i, j: te.sum(w[i, j, r] * x[i, r], axis=r), name="C")
    return te.create_prim_func([w, x, c])


def test_printed_form() -> None:
    @T.prim_func
    def expected(
        W: T.Buffer((4, 256, 512), "float32"),
        x: T.Buffer((4, 512), "float32"),
        C: T.Buffer((4, 256), "float32"),
    ):
        T.func_attr({"tir.is_scheduled": True, "tir.noalias": True})
        for ax0 in range(4):
            for s_0 in T.parallel(2):
                for s_1 in T.vectorized(128):
                    for r_0 in T.serial(
                        8,
                        annotations={
                            "pragma_auto_unroll_max_step": 256, "pragma_unroll_explicit": 1,
                        },
                    ):
                        for r_1 in range(64):
                            for c_0, c_1 in T.grid(1, 1):
                                with T.block("C"):
                                    v0 = T.axis.spatial(4, ax0)
                                    v1 = T.axis.spatial(256, s_0 * 128 + s_1)
                                    v2 = T.axis.reduce(512, r_0 * 64 + r_1)
                                    T.reads(W[v0, v1, v2], x[v0, v2])
                                    T.writes(C[v0, v1])
                                    with T.init():
                                        C[v0, v1] = T.float32(0)
                                    C[v0, v1] = C[v0, v1] + W[v0, v1, v2] * x[v0, v2]

    with SPR:
        after = dl.ApplyDefaultSchedule(dl.cpu.GEMV())(IRModule({"main": batched(4, 256, 512)}))
    assert_structural_equal(after["main"], expected.with_attr("global_symbol", "main"))


@pytest.mark.parametrize(
    ("func", "tiles"),
    [
        (matmul(1, 256, 128, transposed=True), (128, 64)),
        (matmul(1, 128, 256, transposed=True), (64, 128)),
        (matmul(1, 100, 300, transposed=True, epilogue=True), (64, 128)),
    ],
)
def test_tiles_by_sizes(func: tir.PrimFunc, tiles: tuple[int, int]) -> None:
    sch = dl.cpu.GEMV().apply(func, SPR, False)
    assert sch is not None
    extents = [int(sch.get(loop).extent) for loop in sch.get_loops(sch.get_block("C"))]
    assert (extents[2], extents[4]) == tiles  # batch, then two loops each for s, r and c
    np.testing.assert_allclose(results(func, sch.mod["main"]), results(func, func), rtol=1e-4)


def test_symbolic_sizes_have_tiles_of_64() -> None:
    n, k = tir.Var("n", "int64"), tir.Var("k", "int64")
    func = batched(tir.IntImm("int64", 2), n, k)
    sch = dl.cpu.GEMV().apply(func, SPR, False)
    assert sch is not None
    assert "T.vectorized(T.int64(64))" in sch.mod.script()
    sizes = {"n": 70, "k": 9}
    np.testing.assert_allclose(
        results(func, sch.mod["main"], sizes), results(func, func, sizes), rtol=1e-4
    )


def test_what_is_left_alone() -> None:
    rule = dl.cpu.GEMV()
    assert rule.apply(matmul(1, 64, 64), SPR, False) is None  # rows along the result
    assert rule.apply(matmul(8, 64, 64, transposed=True), SPR, False) is None
    assert not rule.is_target_available(Target("c"))
    assert not rule.is_target_available(Target("cuda"))
