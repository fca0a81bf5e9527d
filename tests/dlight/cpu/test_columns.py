"""How columns of a convolution move in the plane that it reads."""

from __future__ import annotations

import pytest

from tvm import te, tir, topi
from tvm.dlight.analysis.contraction import Contraction, find_contraction
from tvm.dlight.cpu.columns import Column, columns_of, one_run
from tvm.dlight.cpu.contraction import MatrixForm
from tvm.tir.functor import walk
from tvm.tir.stmt import Block


def parts(
    kernel: int, stride: int, pad: int, dilation: int
) -> tuple[Block, MatrixForm, Contraction]:
    """The block of a convolution over planes of any size, and its roles."""
    h, w = te.size_var("h"), te.size_var("w")
    x = te.placeholder((1, 3, h, w), name="X")
    weight = te.placeholder((4, 3, kernel, kernel), name="W")
    func = te.create_prim_func([x, weight, topi.nn.conv2d_nchw(x, weight, stride, pad, dilation)])
    for node in walk(func.body):
        found = find_contraction(node) if isinstance(node, Block) and node.iter_vars else None
        if isinstance(node, Block) and found is not None:
            image, *plane = found.n  # the image is an outer loop
            form = MatrixForm((*found.batch, image), found.m, tuple(plane), found.k)
            return node, form, found
    raise AssertionError("a convolution is a contraction")


def columns(kernel: int, stride: int, pad: int, dilation: int = 1) -> list[Column]:
    node, form, found = parts(kernel, stride, pad, dilation)
    made = columns_of(node, form, found.rhs)
    assert made is not None
    return made


@pytest.mark.parametrize(("kernel", "stride", "dilation"), [(3, 1, 1), (3, 2, 1), (5, 1, 2)])
def test_steps_and_reach(kernel: int, stride: int, dilation: int) -> None:
    made = columns(kernel, stride, kernel // 2, dilation)
    assert [column.dim for column in made] == [2, 3]
    assert {column.step for column in made} == {stride}
    assert {column.reach for column in made} == {(kernel - 1) * dilation}
    assert not any(column.iv.var is node for column in made for node in walk(column.shift))


def test_a_plane_that_is_one_run() -> None:
    for kernel, stride, pad, wanted in ((1, 1, 0, True), (1, 2, 0, False), (3, 1, 1, False)):
        node, form, found = parts(kernel, stride, pad, 1)
        assert one_run(node, form, found.rhs) is wanted


def test_other_indices_have_no_columns() -> None:
    """Places divided by a number do not move in steps."""
    n = te.size_var("n")
    x, w = te.placeholder((3, n), name="X"), te.placeholder((4, 3), name="W")
    k = te.reduce_axis((0, 3), name="k")
    y = te.compute((4, n), lambda f, i: te.sum(w[f, k] * x[k, tir.floordiv(i, 2)], axis=k))
    func = te.create_prim_func([x, w, y])
    (node,) = [b for b in walk(func.body) if isinstance(b, Block) and b.init is not None]
    found = find_contraction(node)
    assert found is not None
    form = MatrixForm(found.batch, found.m, found.n, found.k)
    assert columns_of(node, form, found.rhs) is None
