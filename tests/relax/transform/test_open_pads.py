"""Borders whose width only running tells are made by the convolution that reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.programs import run_interp
from tvm import relax, te, tir, topi
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.expr import is_call_of
from tvm.relax.transform.open_pads import OpenPadsOfConvolutions
from tvm.relax.transform.rebuild import all_bindings

N, H, W = (tir.SizeVar(name, "int64") for name in "nhw")


def missing(size: tir.PrimExpr, kernel: int, stride: int) -> tir.PrimExpr:
    """What TensorFlow's windows lack."""
    total = (tir.floordiv(size + (stride - 1), stride) - 1) * stride + kernel - size
    return total if kernel >= stride else tir.max(total, tir.const(0, "int64"))


def program(
    kernel: int, stride: int, groups: int = 1, channels: int = 4, *, value: float = 0.0,
    mode: str = "both", **options: Any,
) -> IRModule:  # fmt: skip
    """A border, a convolution with it, and a relu."""
    totals = [missing(size, kernel, stride) for size in (H, W)]
    before = [0, 0, *(tir.floordiv(total, 2) for total in totals)]
    after = [0, 0, *(total - tir.floordiv(total, 2) for total in totals)]
    if mode == "channels":
        after[1] = 1
    rng = np.random.default_rng(kernel)
    inner = (channels + (mode == "channels")) // groups
    w = relax.const(rng.integers(-3, 4, (8, inner, kernel, kernel)).astype("float32"))
    x = relax.Var("x", relax.TensorStructInfo([N, channels, H, W], "float32"))

    def wide(data: te.Tensor, low: Any, high: Any) -> te.Tensor:
        if mode == "edge":
            shape = [b + n + a for b, n, a in zip(low, data.shape, high)]
            last = [n - 1 for n in data.shape]
            return te.compute(shape, lambda *i: data(*(
                tir.max(tir.min(at - b, end), tir.const(0, "int64"))
                for at, b, end in zip(i, low, last)
            )))  # fmt: skip
        return topi.nn.pad(data, low, high, value)

    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit_te(wide, x, before, after, primfunc_name_hint="pad")
            y = bb.emit(op.nn.conv2d(y, w, strides=stride, groups=groups, **options))
            y = bb.emit_output(op.nn.relu(y))
        bb.emit_func_output(y)
    return bb.get()


def pads_and_convs(mod: IRModule) -> tuple[int, int]:
    values = [b.value for b in all_bindings(mod["main"])]  # type: ignore[arg-type]
    kernels = [v.args[0].name_hint for v in values if is_call_of(v, "relax.call_tir")]
    return kernels.count("pad"), sum(is_call_of(v, "relax.nn.conv2d") for v in values)


SIZES = ((1, 7, 8), (2, 8, 5), (1, 1, 3))


@pytest.mark.parametrize(
    ("kernel", "stride", "groups", "options"),
    [(3, 2, 1, {}), (5, 2, 4, {}), (1, 2, 1, {}), (3, 4, 2, {}), (3, 2, 1, {"padding": 1}),
     (3, 3, 1, {"padding": [0, 1, 2, 0], "dilation": 1})],
)  # fmt: skip
def test_kernels_with_a_border(
    kernel: int, stride: int, groups: int, options: dict[str, Any]
) -> None:
    before = program(kernel, stride, groups, **options)
    after = OpenPadsOfConvolutions()(before)
    if kernel >= stride:  # else nothing sees that extents of both forms are equal
        assert pads_and_convs(after) == (0, 0)
    for n, h, w in SIZES:
        x = np.random.default_rng(h).integers(-5, 6, (n, 4, h, w)).astype("float32")
        np.testing.assert_array_equal(run_interp(after, [x]), run_interp(before, [x]))


@pytest.mark.parametrize("mode", ["edge", "channels"])
def test_other_borders_stay(mode: str) -> None:
    assert pads_and_convs(OpenPadsOfConvolutions()(program(3, 2, mode=mode))) == (1, 1)


def test_borders_of_another_value_stay() -> None:
    assert pads_and_convs(OpenPadsOfConvolutions()(program(3, 2, value=1.0))) == (1, 1)


@pytest.mark.parametrize("cpu", ["sapphirerapids", "haswell"])
def test_no_kernel_copies_the_data(cpu: str) -> None:
    """Borders are made where windows are copied for their steps."""
    made = relax.get_default_pipeline(tvm.target.Target(f"llvm -mcpu={cpu}"))(program(3, 2, 4))
    blocks = [made[name].script() for name in made.get_global_vars() if name.name_hint != "main"]
    assert not any('T.block("pad_temp")' in text for text in blocks)
