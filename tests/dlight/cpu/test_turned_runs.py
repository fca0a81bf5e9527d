"""Planes as runs of elements: which epilogues can be computed along them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import tvm
from tests.dlight.cpu.test_channel_windows import FORM
from tests.dlight.programs import SPR
from tvm import te, tir, topi
from tvm.dlight.cpu import Fallback

Epilogue = Callable[[te.Tensor, te.Tensor], te.Tensor]


def by_channel(y: te.Tensor, other: te.Tensor) -> te.Tensor:
    return te.compute(y.shape, lambda n, c, i, j: y[n, c, i, j] * tir.Cast("float32", c))


def element_by_element(y: te.Tensor, other: te.Tensor) -> te.Tensor:
    return te.compute(y.shape, lambda n, c, i, j: y[n, c, i, j] + other[n, c, i, j])


def by_row(y: te.Tensor, other: te.Tensor) -> te.Tensor:
    return te.compute(y.shape, lambda n, c, i, j: y[n, c, i, j] + tir.Cast("float32", i))


def neighbours(y: te.Tensor, other: te.Tensor) -> te.Tensor:
    return te.compute(y.shape, lambda n, c, i, j: y[n, c, i, j] + other[n, c, i, 0])


@pytest.mark.parametrize(
    ("epilogue", "taken"),
    [(by_channel, True), (element_by_element, True), (by_row, False), (neighbours, False)],
)
def test_what_follows_is_the_same_along_a_plane(epilogue: Epilogue, taken: bool) -> None:
    n, h, w = (te.size_var(name) for name in "nhw")
    x, weights = te.placeholder((n, 32, h, w), name="X"), te.placeholder((32, 1, 3, 3), name="W")
    y = topi.nn.depthwise_conv2d_nchw(x, weights, 1, 1, 1)
    other = te.placeholder(y.shape, name="other")
    func = te.create_prim_func([x, weights, other, epilogue(y, other)])
    with SPR:
        made = tvm.dlight.ApplyDefaultSchedule(Fallback())(tvm.IRModule({"main": func}))
    assert (FORM in str(made["main"].attrs["schedule_reason"])) is taken
