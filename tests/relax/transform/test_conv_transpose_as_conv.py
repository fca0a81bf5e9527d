"""Transposed convolutions as convolutions, with the same results."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.programs import arguments, run_interp
from tvm import relax, tir
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.transform.conv_transpose_as_conv import ConvTransposeAsConv, phases_of

pytestmark = pytest.mark.pure

RNG = np.random.default_rng(6)


def module(
    shape: tuple[Any, ...], kernel: tuple[int, ...], constant: bool = True, **conv: Any
) -> IRModule:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo(shape, "float32"))
    values = RNG.standard_normal(kernel).astype("float32")
    info = relax.TensorStructInfo(kernel, "float32")
    w = relax.const(values) if constant else relax.Var("w", info)
    with bb.function("main", [x] if constant else [x, w]):
        with bb.dataflow():
            make = op.nn.conv1d_transpose if len(kernel) == 3 else op.nn.conv2d_transpose
            out = bb.emit_output(op.nn.relu(bb.emit(make(x, w, **conv))))
        bb.emit_func_output(out)
    return bb.get()


@pytest.mark.parametrize(
    ("shape", "kernel", "keywords"),
    [
        ((1, 2, 4, 5), (2, 3, 4, 4), {"strides": 2, "padding": 1}),
        ((2, 3, 3, 3), (3, 2, 2, 2), {"strides": 2}),
        ((1, 2, 4, 3), (2, 2, 3, 3), {"strides": (2, 1), "padding": 1, "output_padding": (1, 0)}),
        ((1, 2, 3, 4), (2, 1, 3, 2), {"strides": (3, 3), "padding": (0, 1, 1, 0)}),
        ((1, 2, 3, 4), (2, 1, 1, 1), {"strides": (3, 2), "output_padding": (2, 1)}),
        ((1, 2, 5, 5), (2, 3, 3, 3), {"strides": 1, "padding": 1}),
        ((1, 2, 1, 1), (2, 3, 5, 5), {"strides": 2, "padding": 2}),
        ((1, 2, 2, 9), (2, 3, 4, 4), {"strides": 2, "padding": 1}),
        ((2, 3, 6), (3, 2, 4), {"strides": 2, "padding": 1}),
        ((1, 1, 6), (1, 2, 5), {"strides": 3, "padding": (0, 2), "output_padding": 2}),
    ],
)
def test_changes(
    shape: tuple[int, ...], kernel: tuple[int, ...], keywords: dict[str, Any]
) -> None:
    before = module(shape, kernel, **keywords)
    after = ConvTransposeAsConv()(before)
    assert relax.analysis.well_formed(after)
    assert "_transpose(" not in after.script()
    given = arguments(before["main"])
    found, expected = run_interp(after, given), run_interp(before, given)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("shape", "kernel", "keywords"),
    [
        (("n", 3, "h", "w"), (3, 2, 2, 2), {"strides": 2}),
        (("n", 2, 7, "w"), (2, 3, 4, 4), {"strides": 2, "padding": 1}),
        ((1, 2, "h", 5), (2, 2, 3, 3), {"strides": (2, 1), "padding": 1, "output_padding": (1, 0)}),
        ((1, 2, "h", "w"), (2, 1, 1, 1), {"strides": (3, 2), "output_padding": (2, 1)}),
        (("n", 2, "w"), (2, 3, 5), {"strides": 3, "padding": (0, 2), "output_padding": 2}),
    ],
)
def test_open_sizes(
    shape: tuple[Any, ...], kernel: tuple[int, ...], keywords: dict[str, Any]
) -> None:
    sizes = {name: tir.SizeVar(name, "int64") for name in "nhw"}
    before = module(tuple(sizes.get(size, size) for size in shape), kernel, **keywords)
    after = ConvTransposeAsConv()(before)
    assert relax.analysis.well_formed(after)
    assert "_transpose(" not in after.script()
    for n, h, w in ((1, 3, 2), (2, 4, 9), (3, 5, 17)):
        given = arguments(before["main"], {"n": n, "h": h, "w": w})
        found, expected = run_interp(after, given), run_interp(before, given)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "keywords",
    [
        {"constant": False},
        {"groups": 2},
        {"dilation": 2},
    ],
)
def test_keeps(keywords: dict[str, Any]) -> None:
    before = module((1, 2, 4, 5), (2, 3, 3, 3), strides=2, **keywords)
    after = ConvTransposeAsConv()(before)
    assert after["main"] is before["main"]


def test_phases() -> None:
    weight = np.arange(1, 6, dtype="float32").reshape(1, 1, 5)
    np.testing.assert_array_equal(phases_of(weight, [2])[:, 0], [[5, 3, 1], [0, 4, 2]])
