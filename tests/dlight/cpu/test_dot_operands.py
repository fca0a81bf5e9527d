"""Where operands of products of small numbers lie otherwise, copies are made of them."""

from __future__ import annotations

import pytest

from tests.dlight.cpu.test_dots import product, schedule
from tvm import te
from tvm.target import Target

ZEN4 = Target("llvm -mcpu=znver4")

pytestmark = pytest.mark.pure


def test_columns_lie_in_groups() -> None:
    """64 steps are 16 groups of four, 128 columns two panels of 64."""
    text = schedule(product(12, 128, 64), ZEN4).mod.script()
    assert 'T.alloc_buffer((2, 16, 64, 4), "int8")' in text
    assert "layout_rewrite_preproc" not in text
    free = product(12, 128, 64).with_attr("layout_free_buffers", [1])
    assert "layout_rewrite_preproc" in schedule(free, ZEN4).mod.script()


def test_rows_lie_along_the_sum() -> None:
    a, b = te.placeholder((64, 12), "uint8", name="A"), te.placeholder((64, 32), "int8", name="B")
    r = te.reduce_axis((0, 64), name="r")
    c = te.compute(
        (12, 32),
        lambda i, j: te.sum(a[r, i].astype("int32") * b[r, j].astype("int32"), axis=r), name="C",
    )  # fmt: skip
    text = schedule(te.create_prim_func([a, b, c]), ZEN4).mod.script()
    assert 'A_global = T.alloc_buffer((12, 64), "uint8")' in text
    assert "A_global = " not in schedule(product(12, 32, 64), ZEN4).mod.script()
