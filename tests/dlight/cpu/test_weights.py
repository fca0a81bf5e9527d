"""Operands of products whose layout is free are packed beforehand."""

from __future__ import annotations

import pytest

from tests.dlight.programs import SPR, matmul, scheduled
from tvm import te
from tvm.dlight.base import open_schedule
from tvm.dlight.cpu import GEMM
from tvm.dlight.cpu.weights import PREPACK, pack_before
from tvm.relax.op.linear_algebra import te_matmul
from tvm.tir.function import PrimFunc


def weighted(func: PrimFunc, place: int = 1) -> PrimFunc:
    return func.with_attr("layout_free_buffers", [place])


@pytest.mark.covering(1)
@pytest.mark.parametrize(
    ("m", "n", "k"), [(1, 64, 12), (1, 50, 3), (7, 33, 5), (13, 130, 9), (3, 10, 1), (65, 127, 2)]
)
@pytest.mark.parametrize("transposed", [False, True])
def test_panels_one_after_another(m: int, n: int, k: int, transposed: bool) -> None:
    after = scheduled(GEMM(), weighted(matmul(m, n, k, transposed=transposed)))
    text = after.script()
    assert text.count("meta_schedule.layout_rewrite_preproc") == 1
    assert text.index("layout_rewrite_preproc") < text.index("C_init")  # at the front, whole
    assert "columns packed beforehand" in str(after.attrs["schedule_reason"])


def test_batches_of_weights_with_epilogue() -> None:
    func = matmul(10, 70, 6, batch=(3,), epilogue=True)
    text = scheduled(GEMM(), weighted(func)).script()
    assert "T.alloc_buffer((3, 2, 6, 48))" in text


@pytest.mark.parametrize("n", [64, 33])
def test_the_batch_of_a_product_is_not_one_of_its_weight(n: int) -> None:
    a, b = te.placeholder((1, 9, 8), name="A"), te.placeholder((8, n), name="B")
    r = te.reduce_axis((0, 8), name="r")
    c = te.compute((1, 9, n), lambda _, i, j: te.sum(a[0, i, r] * b[r, j], axis=r), name="C")
    text = scheduled(GEMM(), weighted(te.create_prim_func([a, b, c]))).script()
    width = 64 if n == 64 else 48
    assert f"T.alloc_buffer((1, 8, {width}))" in text


def test_one_row_of_symbolic_many() -> None:
    m = te.size_var("m")
    a, b = te.placeholder((m, 8), name="A"), te.placeholder((8, 100), name="B")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((m, 100), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")
    func = weighted(te.create_prim_func([a, b, c]))
    for rows in (1, 6, 11):
        scheduled(GEMM(), func, sizes={"m": rows})


def test_what_is_read_elsewhere_too_stays() -> None:
    a = te.placeholder((8, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    c = te.compute((8, 8), lambda i, j: te.sum(a[i, k] * a[k, j], axis=k), name="C")
    func = weighted(te.create_prim_func([a, c]), 0)
    assert "layout_rewrite_preproc" not in scheduled(GEMM(), func).script()


def test_one_row_without_a_weight_is_left_to_other_rules() -> None:
    assert GEMM().apply(matmul(1, 64, 64), SPR, False) is None


@pytest.mark.parametrize("known", [True, False])
def test_extents_that_the_function_names_are_packed_in_it(known: bool) -> None:
    """The weight has 16 x 8 elements; how many are multiplied, another operand says."""
    n = 16 if known else te.size_var("n", "int64")
    a, b = te.placeholder((1, 5, n), name="A"), te.placeholder((16, 8), name="B")
    made = te_matmul(a, b, "float32")
    sch = open_schedule(te.create_prim_func([a, b, made]))
    copy = sch.reindex(sch.get_block(made.op.name), ("read", 1))
    pack_before(sch, copy)
    assert (PREPACK in sch.get(copy).annotations) is known
