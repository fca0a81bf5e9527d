"""Products of dequantised numbers become products of integers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm import relax, tir
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.expr import is_call_of
from tvm.relax.transform.fold_dequantize import FoldDequantize
from tvm.relax.transform.rebuild import all_bindings

pytestmark = pytest.mark.pure


def program(*, transposed: bool = False, scale: tuple[int, ...] = (), rows: int = 4) -> IRModule:
    """(x - 7) * 0.5 times w * scale, w perhaps transposed."""
    rng = np.random.default_rng(1)
    shape = (6, 12) if transposed else (12, 6)
    x = relax.Var("x", relax.TensorStructInfo((rows, 12), "uint8"))
    w = relax.const(rng.integers(-128, 128, shape).astype("int8"))
    factor = relax.const((rng.integers(1, 9, scale) / 16).astype("float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        point = op.astype(relax.const(np.uint8(7)), "int32")
        whole = op.subtract(op.astype(x, "int32"), point)
        left = bb.emit(op.multiply(op.astype(whole, "float32"), relax.const(np.float32(0.5))))
        right = bb.emit(op.multiply(op.astype(op.astype(w, "int32"), "float32"), factor))
        if transposed:
            right = bb.emit(op.permute_dims(right))
        bb.emit_func_output(bb.emit(op.matmul(left, right)))
    return bb.get()


def product_dtype(mod: IRModule) -> str:
    main = mod["main"]
    assert isinstance(main, relax.Function)
    (call,) = [
        binding.value
        for binding in all_bindings(main)
        if is_call_of(binding.value, "relax.matmul")
    ]
    info = call.struct_info
    assert isinstance(info, relax.TensorStructInfo)
    return str(info.dtype)


@pytest.mark.parametrize(
    ("transposed", "scale"), [(False, ()), (False, (1, 6)), (True, ()), (True, (6, 1))]
)
def test_changes(transposed: bool, scale: tuple[int, ...]) -> None:
    mod = program(transposed=transposed, scale=scale)
    after = FoldDequantize()(mod)
    assert product_dtype(after) == "int32"
    assert relax.analysis.well_formed(after)
    x = np.random.default_rng(2).integers(0, 256, (4, 12)).astype("uint8")
    # scales are powers of two in sixteenths, so that the floats before are exact as well
    np.testing.assert_array_equal(run_interp(after, [x]), run_interp(mod, [x]))


@pytest.mark.parametrize(
    "options", [{"scale": (12, 1)}, {"transposed": True, "scale": (1, 12)}, {"rows": 1}]
)
def test_keeps(options: dict[str, object]) -> None:
    """A scale for each step of the sum, and a single row."""
    mod = program(**options)  # type: ignore[arg-type]
    assert product_dtype(FoldDequantize()(mod)) == "float32"


def convolution(
    *, groups: int = 1, per_channel: bool = True, size: object = 9, divide: object = 0.25
) -> IRModule:
    """A convolution of (x - 7) * 0.5 by w * scale, rounded to steps."""
    rng, filters = np.random.default_rng(1), 4
    x = relax.Var("x", relax.TensorStructInfo((1, 4, 9, size), "uint8"))
    w = relax.const(rng.integers(-128, 128, (filters, 4 // groups, 3, 3)).astype("int8"))
    scale = (rng.integers(1, 9, (filters if per_channel else 1, 1, 1, 1)) / 16).astype("float32")
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        whole = op.subtract(op.astype(x, "int32"), op.astype(relax.const(np.uint8(7)), "int32"))
        left = bb.emit(op.multiply(op.astype(whole, "float32"), relax.const(np.float32(0.5))))
        integers = op.astype(op.astype(w, "int32"), "float32")
        right = bb.emit(op.multiply(integers, relax.const(scale)))
        sums = bb.emit(op.nn.conv2d(left, right, (2, 1), (1, 0), groups=groups))
        step = op.astype(relax.const(np.float32(divide)), "float32")  # type: ignore[arg-type]
        bb.emit_func_output(bb.emit(op.round(op.divide(sums, step))))
    return bb.get()


def calls_of(mod: IRModule, name: str) -> list[relax.Call]:
    main = mod["main"]
    assert isinstance(main, relax.Function)
    return [b.value for b in all_bindings(main) if is_call_of(b.value, name)]


def sums_of(mod: IRModule) -> str:
    (call,) = calls_of(mod, "relax.nn.conv2d")
    info = call.struct_info
    assert isinstance(info, relax.TensorStructInfo)
    return str(info.dtype)


@pytest.mark.parametrize("options", [{}, {"groups": 4}, {"per_channel": False}])
def test_changes_convolutions(options: dict[str, object]) -> None:
    """All numbers are of few binary digits, so that what floats gave is exact as well."""
    mod = convolution(**options)  # type: ignore[arg-type]
    after = FoldDequantize()(mod)
    assert sums_of(after) == "int32"
    assert relax.analysis.well_formed(after)
    x = np.random.default_rng(2).integers(0, 256, (1, 4, 9, 9)).astype("uint8")
    np.testing.assert_array_equal(run_interp(after, [x]), run_interp(mod, [x]))


def test_keeps_convolutions() -> None:
    """Two groups of two channels have no form for integers."""
    assert sums_of(FoldDequantize()(convolution(groups=2))) == "float32"


@pytest.mark.parametrize("groups", [1, 4])
def test_changes_convolutions_of_open_planes(groups: int) -> None:
    mod = convolution(size=tir.Var("width", "int64"), groups=groups)
    after = FoldDequantize()(mod)
    assert sums_of(after) == "int32"
    assert relax.analysis.well_formed(after)
    x = np.random.default_rng(2).integers(0, 256, (1, 4, 9, 8)).astype("uint8")
    np.testing.assert_array_equal(run_interp(after, [x]), run_interp(mod, [x]))


def row(channels: int, scale: tuple[int, ...]) -> IRModule:
    """A convolution along a row of (x - 7) * 0.5 by w * scale."""
    rng = np.random.default_rng(1)
    x = relax.Var("x", relax.TensorStructInfo((1, channels, 9), "uint8"))
    w = relax.const(rng.integers(-128, 128, (48, channels, 3)).astype("int8"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        whole = op.subtract(op.astype(x, "int32"), relax.const(np.int32(7)))
        left = bb.emit(op.multiply(op.astype(whole, "float32"), relax.const(np.float32(0.5))))
        sizes = (rng.integers(1, 9, scale) / 16).astype("float32")
        integers = op.astype(op.astype(w, "int32"), "float32")
        right = bb.emit(op.multiply(integers, relax.const(sizes)))
        bb.emit_func_output(bb.emit(op.nn.conv1d(left, right, 2, 1)))
    return bb.get()


@pytest.mark.parametrize("scale", [(), (48, 1, 1)])
def test_changes_convolutions_along_a_row(scale: tuple[int, ...]) -> None:
    """Those with many sums for each number; exact numbers again."""
    mod = row(48, scale)
    after = FoldDequantize()(mod)
    (call,) = calls_of(after, "relax.nn.conv1d")
    assert str(call.attrs.out_dtype) == "int32"  # type: ignore[union-attr]
    assert relax.analysis.well_formed(after)
    x = np.random.default_rng(2).integers(0, 256, (1, 48, 9)).astype("uint8")
    np.testing.assert_array_equal(run_interp(after, [x]), run_interp(mod, [x]))
    few = row(8, scale)
    assert FoldDequantize()(few)["main"] is few["main"]


@pytest.mark.parametrize(("step", "left"), [(0.25, 0), (1e-45, 1), (1e39, 1)])
def test_quotients_by_a_scale_are_products(step: float, left: int) -> None:
    """Unless one over the scale is no normal number."""
    with np.errstate(over="ignore"):
        after = FoldDequantize()(convolution(divide=step))
    assert len(calls_of(after, "relax.divide")) == left
