"""Blocks that unpack weights, whatever they are called."""

from __future__ import annotations

import pytest

from tests.dlight.gpu.workloads import dequantized
from tvm import te, tir
from tvm.dlight.analysis.dequantize import is_dequantization
from tvm.tir.functor import walk
from tvm.tir.stmt import Block


def found(func: tir.PrimFunc) -> list[bool]:
    return [is_dequantization(b) for b in walk(func.body) if isinstance(b, Block)][1:]


@pytest.mark.parametrize("transposed", [True, False])
def test_words_and_scales(transposed: bool) -> None:
    assert found(dequantized(4, 64, transposed=transposed)) == [True, False]


def test_bytes() -> None:
    a = te.placeholder((8, 8), "int8", name="A")
    scaled = te.compute(a.shape, lambda i, j: a[i, j].astype("float32") * 0.5, name="B")
    assert found(te.create_prim_func([a, scaled])) == [True]
    widened = te.compute(a.shape, lambda i, j: a[i, j].astype("int32"), name="C")
    assert found(te.create_prim_func([a, widened])) == [False]


def test_a_lookup_and_a_sum_are_none() -> None:
    table, at = te.placeholder((8, 4), name="T"), te.placeholder((5,), "int32", name="I")
    taken = te.compute((5, 4), lambda i, j: table[at[i], j] * 2.0, name="dequantize")
    assert found(te.create_prim_func([table, at, taken])) == [False]
    k = te.reduce_axis((0, 5), name="k")
    total = te.compute((1,), lambda _: te.sum(at[k].astype("float32"), axis=k), name="dequantize")
    assert found(te.create_prim_func([at, total])) == [False]
