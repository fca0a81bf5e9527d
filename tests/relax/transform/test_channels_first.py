"""Convolutions of floats get their channels first; what lies between two of them follows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.expr import Expr, is_call_of
from tvm.relax.transform.channels_first import ChannelsFirst
from tvm.relax.transform.rebuild import all_bindings

pytestmark = pytest.mark.pure

RNG = np.random.default_rng(0)


def weights(*shape: int, dtype: str = "float32") -> Expr:
    return relax.const(RNG.integers(-3, 4, shape).astype(dtype))


def program(
    shape: tuple[Any, ...], build: Callable[[Callable[[Expr], Expr], Expr], Expr],
    dtype: str = "float32",
) -> IRModule:  # fmt: skip
    x = relax.Var("x", relax.TensorStructInfo(shape, dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_output(build(bb.emit, x))
        bb.emit_func_output(y)
    return bb.get()


def nhwc(x: Expr, w: Expr, **options: Any) -> Expr:
    given = {"data_layout": "NHWC", "kernel_layout": "HWIO", **options}
    return op.nn.conv2d(x, w, **given)


def calls(mod: IRModule, name: str) -> list[Any]:
    main = mod["main"]
    assert isinstance(main, relax.Function)
    return [b.value for b in all_bindings(main) if is_call_of(b.value, name)]


def moved(mod: IRModule) -> int:
    """How often a tensor changes its layout: constants do so while compiling."""
    return len(calls(mod, "relax.permute_dims"))


def check(mod: IRModule, shape: tuple[int, ...], transposes: int, layouts: list[str]) -> None:
    after = ChannelsFirst()(mod)
    assert relax.analysis.well_formed(after)
    found = [b.value for b in all_bindings(after["main"])]  # type: ignore[arg-type]
    found = [c for c in found if hasattr(getattr(c, "attrs", None), "data_layout")]
    assert [c.attrs.data_layout for c in found] == layouts
    assert moved(after) == transposes
    x = np.random.default_rng(1).integers(-9, 9, shape).astype("float32")
    np.testing.assert_allclose(run_interp(after, [x]), run_interp(mod, [x]), rtol=1e-6)


def test_network() -> None:
    """Biases of one dimension, pools, pads, joins, sums, one group a channel, 1x1 in between."""

    def build(emit: Callable[[Expr], Expr], x: Expr) -> Expr:
        y = emit(nhwc(x, weights(3, 3, 3, 4), padding=1))
        y = emit(op.nn.relu(emit(op.add(y, weights(4)))))
        y = emit(op.nn.max_pool2d(y, (2, 2), (2, 2), layout="NHWC"))
        z = emit(nhwc(y, weights(1, 1, 4, 6)))
        z = emit(op.multiply(weights(6), z))
        z = emit(nhwc(z, weights(3, 3, 6, 1), padding=1, groups=6, kernel_layout="HWOI"))
        z = emit(nhwc(z, weights(1, 1, 6, 4)))
        y = emit(op.concat([emit(op.add(y, z)), y], axis=-1))
        y = emit(op.nn.pad(y, [0, 0, 1, 1, 0, 2, 0, 0]))
        return op.mean(y, axis=[1, 2])

    check(program((2, 8, 8, 3), build), (2, 8, 8, 3), 1, ["NCHW"] * 4)


def test_constants_without_axes_stay_so() -> None:
    def build(emit: Callable[[Expr], Expr], x: Expr) -> Expr:
        y = emit(op.divide(emit(nhwc(x, weights(3, 3, 3, 4))), half := relax.const(0.5)))
        return op.add(y, half)

    after = ChannelsFirst()(program((1, 6, 6, 3), build))
    assert [call.args[1].struct_info.ndim for call in calls(after, "relax.divide")] == [0]


def test_open_sizes() -> None:
    from tvm.tir import Var

    shape = (Var("n", "int64"), Var("h", "int64"), 8, 3)

    def build(emit: Callable[[Expr], Expr], x: Expr) -> Expr:
        y = emit(nhwc(x, weights(3, 3, 3, 4), strides=2, padding=1))
        return op.add(y, weights(4))

    check(program(shape, build), (2, 6, 8, 3), 2, ["NCHW"])


def test_other_dimensions() -> None:
    def row(emit: Callable[[Expr], Expr], x: Expr) -> Expr:
        return op.nn.conv1d(x, weights(3, 3, 4), data_layout="NWC", kernel_layout="WIO")

    def box(emit: Callable[[Expr], Expr], x: Expr) -> Expr:
        return op.nn.conv3d(x, weights(2, 2, 2, 3, 4), data_layout="NDHWC", kernel_layout="DHWIO")

    check(program((1, 8, 3), row), (1, 8, 3), 2, ["NCW"])
    check(program((1, 3, 4, 5, 3), box), (1, 3, 4, 5, 3), 2, ["NCDHW"])


def test_products_stay() -> None:
    """A convolution by one element alone is a product of matrices as it lies."""

    def build(emit: Callable[[Expr], Expr], x: Expr) -> Expr:
        return nhwc(emit(nhwc(x, weights(1, 1, 3, 4))), weights(1, 1, 4, 4))

    mod = program((1, 8, 8, 3), build)
    assert ChannelsFirst()(mod)["main"] is mod["main"]


def test_product_before_a_window() -> None:
    def build(emit: Callable[[Expr], Expr], x: Expr) -> Expr:
        y = emit(nhwc(x, weights(1, 1, 3, 4)))
        return nhwc(emit(nhwc(y, weights(3, 3, 4, 4))), weights(1, 1, 4, 2))

    check(program((1, 8, 8, 3), build), (1, 8, 8, 3), 2, ["NHWC", "NCHW", "NCHW"])


def test_integers_stay() -> None:
    def build(emit: Callable[[Expr], Expr], x: Expr) -> Expr:
        return nhwc(x, weights(3, 3, 3, 4, dtype="int32"))

    mod = program((1, 8, 8, 3), build, "int32")
    assert ChannelsFirst()(mod)["main"] is mod["main"]
