"""Convolutions of integers less a zero point: what is multiplied on which CPU, and the numbers."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.relax.programs import run_interp
from tvm import relax, tir
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.backend.cpu_generic.pipeline import kernel_passes
from tvm.relax.expr import is_call_of
from tvm.relax.transform import tile_batch
from tvm.relax.transform.fold_dequantize import sizes_of
from tvm.relax.transform.integer_convolutions import is_convolution, is_taken
from tvm.relax.transform.integer_products import IntegerProducts
from tvm.relax.transform.rebuild import all_bindings
from tvm.target import Target

pytestmark = pytest.mark.pure

BYTES = Target("llvm -mcpu=cascadelake")
WORDS = Target("llvm -mcpu=haswell")
SIGNED = Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1")
RANGE = {"int8": (-128, 128), "uint8": (0, 256)}


def program(
    a: str = "uint8", *, zero: int | None = 120, vary: bool = False, channels: int = 5,
    filters: int = 6, groups: int = 1, moved: bool = False, shift: int = 0,
) -> IRModule:  # fmt: skip
    """conv2d(x - zero, w + shift), channels last; x comes with channels first if `moved`."""
    rng = np.random.default_rng(5)
    shape = (2, channels, 7, 6) if moved else (2, 7, 6, channels)
    x = relax.Var("x", relax.TensorStructInfo(shape, a))
    z = relax.Var("z", relax.TensorStructInfo((), a))
    w = rng.integers(-128, 128, (filters, 3, 2, channels // groups)).astype("int32") + shift
    bb = relax.BlockBuilder()
    with bb.function("main", [x, z] if vary else [x]):
        left = bb.emit(op.astype(x, "int32"))
        if vary:
            left = bb.emit(op.subtract(left, op.astype(z, "int32")))
        elif zero is not None:
            left = bb.emit(op.subtract(left, relax.const(np.int32(zero))))
        if moved:
            left = bb.emit(op.permute_dims(left, [0, 2, 3, 1]))
        sums = op.nn.conv2d(
            left, relax.const(w), (2, 1), (1, 0, 0, 1), (1, 2), groups, "NHWC", "OHWI"
        )
        bb.emit_func_output(bb.emit(sums))
    return bb.get()


def row_program(channels: int = 46, filters: int = 50, groups: int = 1) -> IRModule:
    """conv1d(x - 7, w), channels last, with a dilation and a border of two widths."""
    rng = np.random.default_rng(5)
    x = relax.Var("x", relax.TensorStructInfo((2, 9, channels), "uint8"))
    w = rng.integers(-128, 128, (filters, 3, channels // groups)).astype("int32")
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        left = bb.emit(op.subtract(bb.emit(op.astype(x, "int32")), relax.const(np.int32(7))))
        sums = op.nn.conv1d(left, relax.const(w), 1, (1, 2), 2, groups, "NWC", "OWI")
        bb.emit_func_output(bb.emit(sums))
    return bb.get()


def convolution(mod: IRModule) -> relax.Call:
    main = mod["main"]
    assert isinstance(main, relax.Function)
    (call,) = [b.value for b in all_bindings(main) if is_convolution(b.value)]
    return call


def rewritten(mod: IRModule, target: Target) -> tuple[str, ...]:
    """What is multiplied after the pass, which gives equal numbers."""
    after = IntegerProducts(target)(mod)
    assert relax.analysis.well_formed(after)
    rng, main = np.random.default_rng(9), mod["main"]
    assert isinstance(main, relax.Function)
    args = []
    for param in main.params:
        info = param.struct_info
        assert isinstance(info, relax.TensorStructInfo)
        shape = [int(getattr(d, "value", 0)) for d in info.values or ()]
        args.append(rng.integers(*RANGE[str(info.dtype)], shape).astype(str(info.dtype)))
    np.testing.assert_array_equal(run_interp(after, args), run_interp(mod, args))
    infos = [arg.struct_info for arg in convolution(after).args]
    return tuple(str(i.dtype) for i in infos if isinstance(i, relax.TensorStructInfo))


@pytest.mark.parametrize("a", ["int8", "uint8"])
@pytest.mark.parametrize("zero", [None, 0, 100])
def test_every_sign_and_zero_point(a: str, zero: int | None) -> None:
    mod = program(a, zero=zero)
    assert rewritten(mod, BYTES) == ("uint8", "int8")
    assert rewritten(mod, SIGNED) == ("int8", "int8")
    assert rewritten(mod, WORDS) == ("int16", "int16")


def test_the_border_and_the_empty_channels_stand_in_the_operands() -> None:
    call = convolution(IntegerProducts(BYTES)(program()))
    assert [sizes_of(arg) for arg in call.args] == [[2, 8, 7, 8], [8, 3, 2, 8]]


def test_rows_of_many_channels() -> None:
    """The border is the zero point here too; fewer sums would not pay for moving channels."""
    mod = row_program()
    assert rewritten(mod, BYTES) == ("uint8", "int8")
    assert rewritten(mod, WORDS) == ("int16", "int16")
    call = convolution(IntegerProducts(BYTES)(mod))
    assert [sizes_of(arg) for arg in call.args] == [[2, 12, 48], [56, 3, 48]]
    assert not is_taken(convolution(row_program(channels=30)))
    assert not is_taken(convolution(row_program(channels=50, groups=50)))


def test_each_channel_on_its_own() -> None:
    assert rewritten(program(groups=5, filters=5), BYTES) == ("uint8", "int8")
    assert rewritten(program(groups=5, filters=5), WORDS) == ("int16", "int16")


def test_zero_points_that_vary_and_weights_that_are_no_bytes_take_words() -> None:
    assert rewritten(program(vary=True), BYTES) == ("int16", "int16")
    assert rewritten(program(shift=9), BYTES) == ("int16", "int16")
    assert rewritten(program(shift=40000), BYTES) == ("int32", "int32")


def test_bytes_change_places_before_they_are_widened() -> None:
    assert rewritten(program(moved=True), BYTES) == ("uint8", "int8")


def test_what_has_no_form() -> None:
    assert is_taken(convolution(program()))
    assert is_taken(convolution(program(groups=5, filters=5)))
    assert not is_taken(convolution(program(channels=4, groups=2)))
    assert not is_taken(convolution(program(groups=5, filters=10)))


def test_a_batch_that_runs_image_by_image_keeps_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its zero point, which no constant tells, is made before the loop over images."""
    monkeypatch.setattr(tile_batch._Tiler, "_gain", lambda *_: 1e6)
    batch = tir.SizeVar("n", "int64")
    x = relax.Var("x", relax.TensorStructInfo((batch, 4, 7, 6), "uint8"))
    z = relax.Var("z", relax.TensorStructInfo((), "uint8"))
    w = np.random.default_rng(5).integers(-128, 128, (8, 4, 3, 3)).astype("int32")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, z]):
        with bb.dataflow():
            zero = bb.emit(op.astype(z, "int32"))
            data = bb.emit(op.subtract(op.astype(x, "int32"), zero))
            sums = bb.emit(op.nn.conv2d(data, relax.const(w), padding=1))
            out = bb.emit_output(op.nn.max_pool2d(bb.emit(op.astype(sums, "float32")), (2, 2)))
        bb.emit_func_output(out)
    passes = kernel_passes(BYTES)
    last = next(i for i, one in enumerate(passes) if isinstance(one, tile_batch.TileBatch))
    with BYTES:
        mod = tvm.ir.transform.Sequential(passes[: last + 1])(bb.get())
    calls = [
        b.value for f in mod.functions.values() if isinstance(f, relax.Function)
        for b in all_bindings(f) if is_call_of(b.value, "relax.nn.conv2d")
    ]  # fmt: skip
    (call,) = calls
    assert str(call.args[0].struct_info.dtype) == "int16"  # type: ignore[attr-defined]
    assert any("image" in var.name_hint for var in mod.functions)
