"""Products of 16x8 by 8x8 on fragments that become registers."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.gpu.lowered import CUDA, kernel
from tests.tir.tensor_intrin.products import arrays, matmul
from tvm import tir
from tvm.tir.interp import run
from tvm.tir.tensor_intrin import cuda

pytestmark = pytest.mark.pure


def scheduled(out: str) -> tir.PrimFunc:
    """64x64x16 by two warps; each has half of the rows."""
    sch = tir.Schedule(matmul(64, 64, 16, "float16", out, False))
    block, short = sch.get_block("C"), "f32" if out == "float32" else "f16"
    result = sch.cache_write(block, 0, "shared.dyn")
    fragment_c = sch.cache_write(block, 0, "m16n8k8.matrixC")
    i, j, k = sch.get_loops(block)
    i0, i1, i2 = sch.split(i, [2, None, 16])
    j1, j2 = sch.split(j, [None, 8])
    k1, k2 = sch.split(k, [None, 8])
    sch.reorder(i0, k1, i1, j1, i2, j2, k2)
    sch.bind(i0, "threadIdx.y")
    for operand, letter, (rows, columns) in ((0, "A", (32, 8)), (1, "B", (8, 32))):
        fragment = sch.cache_read(block, operand, f"m16n8k8.matrix{letter}")
        shared = sch.cache_read(fragment, 0, "shared.dyn")
        sch.compute_at(fragment, k1)
        sch.compute_at(shared, k1)
        _, lane = sch.split(sch.fuse(*sch.get_loops(shared)[2:]), [None, 32])
        sch.bind(lane, "threadIdx.x")
        down, along = sch.get_loops(fragment)[-2:]
        (d0, d1), (a0, a1) = sch.split(down, [None, rows]), sch.split(along, [None, columns])
        sch.reorder(d0, a0, d1, a1)
        sch.tensorize(d1, f"mma_load_m16n8k8_f16_{letter}_shared_dyn")
    sch.reverse_compute_at(fragment_c, i0)
    init = sch.decompose_reduction(block, k1)
    down, along = sch.get_loops(init)[-2:]
    sch.tensorize(sch.get_loops(init)[-2], f"mma_init_m16n8k8_{short}")
    sch.tensorize(sch.get_loops(block)[-3], f"mma_sync_m16n8k8_f16f16{short}")
    down, along = sch.get_loops(fragment_c)[-2:]
    d, quad = sch.split(down, [None, 8])
    a, pair_of, pair = sch.split(along, [None, 4, 2])
    sch.reorder(d, a, quad, pair_of, pair)
    sch.bind(sch.fuse(quad, pair_of), "threadIdx.x")
    sch.bind(sch.split(sch.get_loops(result)[0], [2, None])[0], "threadIdx.y")
    _, lane = sch.split(sch.get_loops(result)[-1], [None, 32])
    sch.bind(lane, "threadIdx.x")
    func = sch.mod["main"]
    assert isinstance(func, tir.PrimFunc)
    return func


@pytest.mark.parametrize("out", ["float32", "float16"])
def test_a_product(out: str) -> None:
    func = kernel(scheduled(out), CUDA)
    assert "m16n8k8.matrix" not in func.script()
    given, expected = arrays(64, 64, 16, "float16", out, False)
    run(func, *given)
    np.testing.assert_array_equal(given[2], expected)


def test_register_elements() -> None:
    # a piece of 16x8 in the second tile of rows, the third of columns, its lower half
    assert cuda.get_index_A((32 + 16) * 64 + 16, 64) == (8 + 2) * 8 + 4
    assert cuda.get_index_B(8 * 64 + 32 + 24, 64) == (2 + 1) * 8 + 6
    assert cuda.get_index_C(16 * 64 + 8, 64) == (8 + 1) * 4
    found = tvm.get_global_func("tir.index_map_m16n8k8.matrixC")
    assert [int(x) for x in found([25, 9])] == [1, 1, 1, 1]
