"""Products by mma: what they mean before and after lowering, and the names of the steps."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.dlight.gpu.lowered import CUDA, kernel
from tests.tir.tensor_intrin.products import arrays, matmul, tiled
from tvm import tir
from tvm.error import TVMError
from tvm.testing.tir import mma_schedule
from tvm.tir import TensorIntrin
from tvm.tir.interp import run
from tvm.tir.tensor_intrin import cuda

pytestmark = pytest.mark.pure

TYPES = [
    ("float16", "float32"), ("float16", "float16"), ("int8", "int32"),
    ("float8_e4m3fn", "float32"), ("float8_e5m2", "float32"),
]  # fmt: skip


def scheduled(dtype: str, out: str, trans_b: bool, scope: str = "shared") -> tir.PrimFunc:
    k = 16 if dtype == "float16" else 32
    group = cuda.get_mma_intrin_group(scope, "global", dtype, out, False, trans_b, False)
    assert group["micro_kernel"] == [16, 16, k]
    sch = mma_schedule(
        matmul(32, 32, 64, dtype, out, trans_b), k, dtype, trans_b, [1, 1, 1, 2, 1],
        [1, 1, 2, 1, 1], [2, 2, 1] if k == 16 else [1, 2, 1],
        tiled(group["index_map_a"], 16, k),
        tiled(group["index_map_b"], *((16, k) if trans_b else (k, 16))),
        tiled(group["index_map_c"], 16, 16),
        *(group[step] for step in ("load_a", "load_b", "compute", "init", "store")), scope,
    )  # fmt: skip
    func = sch.mod["main"]
    assert isinstance(func, tir.PrimFunc)
    return func


@pytest.mark.covering(1)
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize(("dtype", "out"), TYPES)
def test_a_product(dtype: str, out: str, trans_b: bool) -> None:
    func = scheduled(dtype, out, trans_b)
    given, expected = arrays(32, 32, 64, dtype, out, trans_b)
    run(func, *given)
    np.testing.assert_array_equal(given[2], expected)


@pytest.mark.parametrize(("dtype", "out", "trans_b"), [("float16", "float32", False),
                                                       ("int8", "int32", False)])  # fmt: skip
def test_a_product_in_registers(dtype: str, out: str, trans_b: bool) -> None:
    func = kernel(scheduled(dtype, out, trans_b, "shared"), CUDA)
    mod = tir.transform.LowerWarpMemory()(tvm.IRModule({"main": func}))
    given, expected = arrays(32, 32, 64, dtype, out, trans_b)
    run(mod["main"], *given)
    np.testing.assert_array_equal(given[2], expected)


def test_the_text() -> None:
    lib = tvm.compile(scheduled("float16", "float32", False, "shared.dyn"), "cuda -arch=sm_80")
    text = lib.mod.imports[0].inspect_source()
    assert "ldmatrix.sync.aligned.m8n8.x4.shared.b16" in text
    assert "ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16" in text
    assert text.count("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32") == 2
    assert "__align__(16) half A_shared_dyn_warp[16];" in text


def test_bytes_are_turned_one_by_one() -> None:
    lib = tvm.compile(scheduled("int8", "int32", False), "cuda -arch=sm_80")
    text = lib.mod.imports[0].inspect_source()
    assert text.count("ldmatrix.sync.aligned") == 1  # A; B is read by a loop
    assert "% 8 / 4 * 16 + ((int)threadIdx.x) % 4 * 4 + " in text


@pytest.mark.parametrize("layout", [
    (cuda.shared_16x16_to_ldmatrix_32x8_layout, 16, 16),
    (cuda.shared_16x32_to_ldmatrix_32x16_layout, 16, 32),
    (cuda.shared_32x16_to_ldmatrix_32x16_layout, 32, 16),
])  # fmt: skip
def test_layouts_give_each_element_a_place(layout: tuple[object, int, int]) -> None:
    place, rows, columns = layout
    assert callable(place)
    places = {place(i, j) for i in range(rows) for j in range(columns)}
    assert places == {(t, n) for t in range(32) for n in range(rows * columns // 32)}


def test_the_way_back() -> None:
    for i in range(16):
        for j in range(16):
            there = cuda.shared_16x16_to_ldmatrix_32x8_layout(i, j)
            assert cuda.ldmatrix_32x8_to_shared_16x16_layout(*there) == (i, j)
    found = tvm.get_global_func("tir.index_map.shared_16x16_to_ldmatrix_32x8")
    assert [int(x) for x in found([9, 3])] == [5, 3]


@pytest.mark.parametrize("trans_a", [False, True])
@pytest.mark.parametrize("trans_b", [False, True])
@pytest.mark.parametrize("scope", ["shared", "shared.dyn"])
@pytest.mark.parametrize("out", ["float16", "float32"])
@pytest.mark.parametrize("simple", [False, True])
def test_all_names_of_a_group_are_registered(
    trans_a: bool, trans_b: bool, scope: str, out: str, simple: bool
) -> None:
    for store in ("global", "shared.dyn"):
        group = cuda.get_mma_intrin_group(scope, store, "float16", out, trans_a, trans_b, simple)
        for step in ("init", "load_a", "load_b", "compute", "store"):
            assert TensorIntrin.get(group[step]) is not None


@pytest.mark.parametrize("trans", [False, True])
def test_a_transposed(trans: bool) -> None:
    """The loads and the product of a transposed A undo each other's turns."""
    load_a, load_b = (cuda.get_ldmatrix_intrin(16, "float16", m, t)[1]
                      for m, t in (("A", True), ("B", trans)))  # fmt: skip
    text = load_a.script(), load_b.script()
    assert 'T.ptx_ldmatrix("float16", T.bool(True), 4' in text[0]
    assert f'T.ptx_ldmatrix("float16", T.bool({not trans}), 4' in text[1]


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="in_dtype is 'float64'; legal: float16, int8"):
        cuda.get_mma_intrin_group("shared", "global", "float64", "float32", False, False)
    with pytest.raises(TVMError, match="k_dim=32, dtype=int8, matrix A, transposed=True"):
        cuda.get_ldmatrix_intrin(32, "int8", "A", True)
    with pytest.raises(TVMError, match="k_dim=8"):
        cuda.get_mma_intrin(8)
    with pytest.raises(TVMError, match="found: bfloat16"):
        cuda.get_mma_intrin(16, "bfloat16")
