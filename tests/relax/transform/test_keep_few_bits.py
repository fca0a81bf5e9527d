"""Constant weights of few bits are multiplied, and read, as they are stored."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.programs import run_interp
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.expr import is_call_of
from tvm.relax.transform.keep_few_bits import KeepFewBits, Stored, pack
from tvm.relax.transform.rebuild import all_bindings
from tvm.tir.function import PrimFunc

INPUTS, OUTPUTS = 512, 160


def stored(bits: int, dtype: str = "int8", shape: tuple[int, ...] = (OUTPUTS, INPUTS)) -> Any:
    low = 0 if dtype == "uint8" else -(1 << bits >> 1)
    numbers = np.random.default_rng(bits).integers(low, low + (1 << bits), shape).astype(dtype)
    return relax.const(numbers)


def scales(*shape: int) -> Any:
    numbers = np.random.default_rng(5).uniform(0.5, 1.5, shape)
    return relax.const((numbers / INPUTS).astype("float32"))


def points(*shape: int, dtype: str = "int8") -> Any:
    return relax.const(np.random.default_rng(6).integers(1, 4, shape).astype(dtype))


def real(x: Any) -> Any:
    return op.astype(x, "float32")


def in_rows(bits: int, dtype: str = "int8", zero: bool = False) -> Any:
    """A scale for each output."""
    whole = op.astype(stored(bits, dtype), "int32")
    if zero:
        whole = op.subtract(whole, op.astype(points(OUTPUTS, 1), "int32"))
    return op.permute_dims(op.multiply(real(whole), scales(OUTPUTS, 1)))


def in_groups(bits: int, size: int, zero: bool = False) -> Any:
    """A scale for each group of inputs."""
    groups = INPUTS // size
    whole = real(op.reshape(stored(bits), (OUTPUTS, groups, size)))
    if zero:
        point = op.reshape(points(OUTPUTS, groups), (OUTPUTS, groups, 1))
        whole = op.subtract(whole, op.astype(point, "float32"))
    scaled = op.multiply(whole, op.reshape(scales(OUTPUTS, groups), (OUTPUTS, groups, 1)))
    return op.permute_dims(op.reshape(scaled, (OUTPUTS, INPUTS)))


WEIGHTS = {
    "rows": (lambda: in_rows(4), "int4"),
    "rows of bytes": (lambda: in_rows(8), "int8"),
    "rows of bytes without a sign": (lambda: in_rows(8, "uint8"), "int8"),
    "rows with zero points": (lambda: in_rows(4, "uint8", zero=True), "int4"),
    "two bits": (lambda: in_rows(2), "int2"),
    "groups": (lambda: in_groups(4, 32), "int4"),
    "groups of 128": (lambda: in_groups(3, 128), "int4"),
    "groups with zero points": (lambda: in_groups(4, 64, zero=True), "int4"),
    "no scale": (lambda: real(op.permute_dims(stored(8))), "int8"),
    "one scale": (lambda: op.multiply(scales(), real(stored(8, shape=(INPUTS, OUTPUTS)))), "int8"),
}


def program(weight: Any, rows: Any = 3, dtype: str = "float32") -> IRModule:
    x = relax.Var("x", relax.TensorStructInfo((rows, INPUTS), dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        factor = weight if dtype == "float32" else op.astype(weight, dtype)
        bb.emit_func_output(bb.emit(op.matmul(x, factor)))
    return bb.get()


def kernels_of(mod: IRModule) -> list[str]:
    return [var.name_hint for var, func in mod.functions.items() if isinstance(func, PrimFunc)]


def has_products(mod: IRModule) -> bool:
    main = mod["main"]
    assert isinstance(main, relax.Function)
    return any(is_call_of(binding.value, "relax.matmul") for binding in all_bindings(main))


@pytest.mark.parametrize("name", WEIGHTS)
@pytest.mark.cpu
def test_products(name: str) -> None:
    make, form = WEIGHTS[name]
    mod = program(make(), rows=1)
    after = KeepFewBits()(mod)
    assert kernels_of(after) == [f"matmul_{form}"]
    assert not has_products(after)
    assert relax.analysis.well_formed(after)
    x = np.random.default_rng(2).standard_normal((1, INPUTS)).astype("float32")
    wanted = run_interp(mod, [x])
    vm = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    made = vm["main"](tvm.runtime.tensor(x)).numpy()
    np.testing.assert_allclose(made, wanted, atol=1e-6 * float(np.abs(wanted).max()))


@pytest.mark.cpu
def test_rows_without_a_known_number() -> None:
    mod = program(in_groups(4, 32), tvm.tir.Var("n", "int64"))
    vm = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    for rows in (1, 2, 13):
        x = np.random.default_rng(rows).standard_normal((rows, INPUTS)).astype("float32")
        made = vm["main"](tvm.runtime.tensor(x)).numpy()
        np.testing.assert_allclose(made, run_interp(mod, [x]), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_floats(dtype: str) -> None:
    """Sums are of 32 bits; what comes out has the type that it had."""
    after = KeepFewBits()(program(in_rows(4), dtype=dtype))
    assert kernels_of(after) == ["matmul_int4"]
    info = after["main"].ret_struct_info
    assert isinstance(info, relax.TensorStructInfo)
    assert str(info.dtype) == dtype


def test_kept() -> None:
    """What has another form: a scale in each element, few weights, weights that are given."""
    each = op.permute_dims(op.multiply(real(stored(8)), scales(OUTPUTS, INPUTS)))
    along = op.multiply(real(stored(8, shape=(INPUTS, OUTPUTS))), scales(INPUTS, 1))
    scaled_first = op.subtract(op.multiply(real(stored(8)), scales(OUTPUTS, 1)), scales())
    wide = real(relax.const(np.full((INPUTS, OUTPUTS), 70000, "int32")))
    for weight in (each, along, op.permute_dims(scaled_first), wide):
        mod = program(weight)
        assert KeepFewBits()(mod) is mod
    few = relax.const(np.ones((INPUTS, 8), "int8"))
    mod = program(real(few))
    assert KeepFewBits()(mod) is mod


@pytest.mark.parametrize(("weights", "dtype"), [("rows", "float32"), ("groups", "float16")])
def test_tables(weights: str, dtype: str) -> None:
    """Rows are read as they are stored, and widened."""
    table = in_rows(8) if weights == "rows" else in_groups(4, 64, zero=True)
    ids = relax.Var("ids", relax.TensorStructInfo((2, 3), "int64"))
    bb = relax.BlockBuilder()
    with bb.function("main", [ids]):
        rows = op.astype(op.permute_dims(table), dtype)
        bb.emit_func_output(bb.emit(op.take(rows, ids, axis=0)))
    mod = bb.get()
    after = KeepFewBits()(mod)
    main = after["main"]
    assert isinstance(main, relax.Function)
    tables = [b.value.args[0] for b in all_bindings(main) if is_call_of(b.value, "relax.take")]
    assert str(tables[0].data.dtype) == "int8"
    given = np.array([[0, 159, 3], [7, 7, 80]])
    np.testing.assert_allclose(
        run_interp(after, [given]).astype("float32"), run_interp(mod, [given]).astype("float32"),
        rtol=1e-6 if dtype == "float32" else 2e-3,
    )  # fmt: skip


def test_groups_are_as_large_as_they_can_be() -> None:
    numbers = np.zeros((4, 96), "int8")
    scale = np.repeat(np.arange(8, dtype="float32").reshape(4, 2), 48, axis=1)
    zero = np.zeros((4, 96), "float32")
    assert pack(Stored(numbers, zero, scale)) is None
    for repeats, group in ((32, 32), (96, 96)):
        scale = np.repeat(np.arange(4 * 96 // repeats, dtype="float32"), repeats).reshape(4, 96)
        packed = pack(Stored(numbers, zero, scale))
        assert packed is not None
        assert packed[0].group == group
