"""Which convolutions become Winograd's, and that they mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.programs import arguments, run_interp
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.transform.winograd_conv2d import (
    WinogradConv2D,
    any_panels,
    choose_panels,
    has_two_forms,
    pays,
)
from tvm.target import Target

SPR = Target("llvm -mcpu=sapphirerapids")
RNG = np.random.default_rng(5)


def module(
    shape: tuple[Any, ...] = (1, 32, 16, 16), kernel: tuple[int, ...] = (32, 32, 3, 3),
    constant: bool = True, dtype: str = "float32", dataflow: bool = True, **conv: Any,
) -> IRModule:  # fmt: skip
    bb = relax.BlockBuilder()
    if "data_layout" in conv:
        shape = (shape[0], *shape[2:], shape[1])
    x = relax.Var("x", relax.TensorStructInfo(shape, dtype))
    values = (RNG.standard_normal(kernel) / 10).astype(dtype)
    w = relax.const(values) if constant else relax.Var("w", relax.TensorStructInfo(kernel, dtype))
    bias = relax.const(RNG.standard_normal((1, 1, 1, 1)).astype(dtype))

    def body() -> relax.Expr:
        y = bb.emit(op.nn.conv2d(x, w, padding=1, **conv))
        return bb.emit(op.nn.relu(bb.emit(op.add(y, bias))))

    with bb.function("main", [x] if constant else [x, w]):
        if dataflow:
            with bb.dataflow():
                out = bb.emit_output(body())
        else:
            out = body()
        bb.emit_func_output(out)
    return bb.get()


def rewritten(mod: IRModule, target: Target = SPR) -> IRModule:
    after = WinogradConv2D(target.cpu)(mod)
    assert relax.analysis.well_formed(after)
    return after


@pytest.mark.parametrize("dataflow", [True, False])
def test_changes(dataflow: bool) -> None:
    before = module((1, 24, 16, 16), (24, 24, 3, 3), dataflow=dataflow)
    after = rewritten(before)
    assert "conv2d_winograd" in after.script()
    assert "R.nn.conv2d" not in after.script()
    given = arguments(before["main"])
    found, expected = run_interp(after, given), run_interp(before, given)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "keywords",
    [
        {"strides": 2},
        {"dilation": 2},
        {"groups": 2, "kernel": (32, 16, 3, 3)},
        {"kernel": (32, 32, 5, 5)},
        {"constant": False},
        {"dtype": "float16"},
        {"shape": (1, 32, 7, 7)},
        {"shape": (1, 3, 32, 32), "kernel": (32, 3, 3, 3)},
        {"shape": (tvm.tir.SizeVar("n", "int64"), 32, 16, 1)},
        {"shape": (1, 8, tvm.tir.SizeVar("h", "int64"), 16), "kernel": (8, 8, 3, 3)},
        {"data_layout": "NHWC", "kernel_layout": "HWIO", "kernel": (3, 3, 32, 32)},
    ],
)
def test_keeps(keywords: dict[str, Any]) -> None:
    before = module(**keywords)
    assert rewritten(before) is before


@pytest.mark.parametrize("dims", ["n", "h", "w", "nhw"])
def test_sizes_that_are_known_when_it_runs(dims: str) -> None:
    shape = [tvm.tir.Var(d, "int64") if d in dims else 11 for d in "nhw"]
    before = module((shape[0], 24, shape[1], shape[2]), (20, 24, 3, 3))
    after = rewritten(before)
    assert "conv2d_winograd" in after.script()
    data = np.random.default_rng(0).standard_normal((2, 24, 11, 11)).astype("float32")
    if "n" not in dims:
        before = module((11, 24, shape[1], shape[2]), (20, 24, 3, 3))
        after, data = rewritten(before), np.repeat(data, 6, 0)[:11]
    found, expected = run_interp(after, [data]), run_interp(before, [data])
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("target", [SPR, Target("llvm -mcpu=znver3")])
def test_open_planes_have_both_forms(target: Target) -> None:
    n, h, w = (tvm.tir.SizeVar(name, "int64") for name in "nhw")
    for channels in (32, 224):
        weights = (channels, channels, 3, 3)
        panels = any_panels(target.cpu, channels, channels)
        assert panels is not None
        planes: list[list[int | None] | None] = [[None, None], [None, 7], [7, 7], [56, 56], None]
        several = [has_two_forms(target.cpu, panels.filters, weights, plane) for plane in planes]
        assert several == [True, True, True, False, False]
    for shape in ((1, 32, h, w), (n, 32, 7, 7)):
        after = WinogradConv2D(target.cpu)(module(shape, (32, 32, 3, 3)))
        assert "winograd_or_direct" in after.script()


@pytest.mark.parametrize("target", [SPR, Target("llvm -mcpu=znver3")])
def test_tiles_pay_where_there_are_some(target: Target) -> None:
    panels = any_panels(target.cpu, 512, 512)
    assert panels is not None

    def taken(*size: int, weights: tuple[int, int] = (512, 512)) -> bool:
        images, high, wide = (tvm.tir.IntImm("int64", n) for n in size)
        asked = pays(target.cpu, panels.filters, weights, images, high, wide)
        condition = tvm.arith.Analyzer().simplify(asked)
        assert isinstance(condition, tvm.tir.IntImm)
        return bool(condition.value)

    assert taken(1, 56, 56)
    assert taken(1, 14, 14)
    assert taken(4, 7, 7)
    assert not taken(3, 3, 5)
    assert not taken(1, 2, 2)
    # transforming what few channels read and give is much beside their sums
    assert taken(3, 6, 9)
    assert not taken(3, 5, 9, weights=(64, 16))


def test_panels_fill_vectors() -> None:
    panels = choose_panels(SPR.cpu, 256, 256, 14, 14)
    assert panels is not None
    assert (panels.rows, panels.filters) == (4, 16)
    assert choose_panels(SPR.cpu, 64, 67, 56, 56) is None  # filters of which none divides 67


@pytest.mark.cpu
@pytest.mark.parametrize("size", [13, 16, 17, 30])
def test_compiled(size: int) -> None:
    before = module((2, 32, size, size))
    machine = relax.VirtualMachine(tvm.compile(before, "llvm"), tvm.cpu())
    given = arguments(before["main"])
    expected = run_interp(before, given)
    found = machine["main"](*[tvm.runtime.tensor(x) for x in given])
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-4, atol=1e-4)


def test_equal_convolutions_of_open_size_share_a_kernel() -> None:
    h, w = (tvm.tir.Var(name, "int64") for name in "hw")
    rng = np.random.default_rng(3)
    weights = [(rng.standard_normal((48, 48, 3, 3)) / 20).astype("float32") for _ in range(3)]
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((1, 48, h, w), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(op.nn.conv2d(x, relax.const(weights[0]), padding=1))
            y = bb.emit(op.nn.conv2d(y, relax.const(weights[1]), padding=1))
            narrow = bb.emit(op.nn.conv2d(y, relax.const(weights[2])))  # of another size
            out = bb.emit_output(op.add(narrow, narrow))
        bb.emit_func_output(out)
    after = rewritten(bb.get())
    kernels = [var for var in after.functions if var.name_hint != "main"]
    assert len(kernels) == 2
    data = rng.standard_normal((1, 48, 7, 10)).astype("float32")
    np.testing.assert_allclose(
        run_interp(after, [data]), run_interp(bb.get(), [data]), rtol=1e-4, atol=1e-4
    )
