"""Products of bytes less zero points: what is multiplied on which CPU, and the numbers."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import calls, run_interp
from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op
from tvm.relax.expr import is_call_of
from tvm.relax.transform.integer_products import IntegerProducts, product_form
from tvm.relax.transform.rebuild import all_bindings
from tvm.target import Target

pytestmark = pytest.mark.pure

BYTES = Target("llvm -mcpu=cascadelake")
WORDS = Target("llvm -mcpu=haswell")
SIGNED = Target("llvm -mtriple=aarch64-linux-gnu -mcpu=neoverse-n1")
RANGE = {"int8": (-128, 128), "uint8": (0, 256)}


def program(a: str, w: str, zero: object, *, vary: bool = False, rows: int = 6) -> IRModule:
    """matmul(x - z, w - zero); the weights are a constant of 32 bits unless they vary."""
    rng = np.random.default_rng(5)
    x = relax.Var("x", relax.TensorStructInfo((rows, 20), a))
    z = relax.Var("z", relax.TensorStructInfo((), a))
    y = relax.Var("y", relax.TensorStructInfo((20, 8), w))
    point = np.asarray(zero, "int32")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, z, y] if vary else [x, z]):
        left = bb.emit(op.subtract(op.astype(x, "int32"), op.astype(z, "int32")))
        right: relax.Expr = relax.const(rng.integers(*RANGE[w], (20, 8)).astype("int32") - point)
        if vary:
            right = bb.emit(op.subtract(op.astype(y, "int32"), relax.const(point)))
        bb.emit_func_output(bb.emit(op.matmul(left, right)))
    return bb.get()


def rewritten(mod: IRModule, target: Target) -> IRModule:
    """The module after the pass, which multiplies what the target wants, with equal numbers."""
    after = IntegerProducts(target)(mod)
    assert relax.analysis.well_formed(after)
    rng = np.random.default_rng(9)
    main = mod["main"]
    assert isinstance(main, relax.Function)
    args = []
    for param in main.params:
        info = param.struct_info
        assert isinstance(info, relax.TensorStructInfo)
        dtype, shape = str(info.dtype), [int(getattr(d, "value", 0)) for d in info.values or ()]
        args.append(rng.integers(*RANGE[dtype], shape).astype(dtype))
    np.testing.assert_array_equal(run_interp(after, args), run_interp(mod, args))
    return after


def operands(mod: IRModule) -> tuple[str, ...]:
    """The data types of what the one product multiplies."""
    main = mod["main"]
    assert isinstance(main, relax.Function)
    (call,) = [
        binding.value
        for binding in all_bindings(main)
        if is_call_of(binding.value, "relax.matmul")
    ]
    infos = [arg.struct_info for arg in call.args]
    return tuple(str(i.dtype) for i in infos if isinstance(i, relax.TensorStructInfo))


@pytest.mark.parametrize("vary", [False, True])
@pytest.mark.parametrize("w", ["int8", "uint8"])
@pytest.mark.parametrize("a", ["int8", "uint8"])
def test_every_sign(a: str, w: str, vary: bool) -> None:
    zero = 3 if w == "int8" else 120
    mod = program(a, w, zero, vary=vary)
    assert operands(rewritten(mod, BYTES)) == ("uint8", "int8")
    assert operands(rewritten(mod, SIGNED)) == ("int8", "int8")
    words = operands(rewritten(mod, WORDS))
    assert words[0] == "int16"
    assert words[1] in ("int8", "int16")


@pytest.mark.parametrize("zero", [0, 128, np.arange(8).reshape(1, 8) * 30])
def test_zero_points_of_columns(zero: object) -> None:
    mod = program("uint8", "uint8", zero)
    assert operands(rewritten(mod, BYTES)) == ("uint8", "int8")


def test_leaves_others() -> None:
    one_row = program("uint8", "int8", 0, rows=1)
    assert IntegerProducts(BYTES)(one_row) is one_row
    wide = program("uint8", "uint8", np.arange(20).reshape(20, 1) * 100)  # varies along the sum
    assert IntegerProducts(BYTES)(wide) is wide
    mod = program("uint8", "int8", 0)
    assert IntegerProducts(Target("c"))(mod) is mod
    assert "relax.matmul" in calls(mod)
    assert product_form(Target("llvm -mtriple=aarch64-linux-gnu -mcpu=cortex-a72")) is None
