"""Products in bfloat16: the instruction's sums against exact arithmetic of the same rounding."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import tvm
from tvm.runtime import tensor
from tvm.target import Target
from tvm.topi.nn import few_bits, pair_products
from tvm.topi.nn.few_bits import Packed

HERE = ["znver4"] if pair_products.has_instruction(Target.from_device("cpu")) else []
SHAPES = [(50, 96, 1), (64, 64, 29), (40, 1056, 13), (33, 320, 7), (16, 32, 2)]


def added(total: Any, a: Any, b: Any) -> Any:
    """A fused multiply-add in float32; the product of two numbers of 8 digits is exact."""
    wide = a.astype(np.longdouble) * b.astype(np.longdouble) + total.astype(np.longdouble)
    return wide.astype("float32")


def summed(x: Any, w: Any, chains: int) -> Any:
    """x @ w.T: the second product of a pair is added first, pairs go to `chains` sums in turn."""
    sums = [np.zeros((len(x), len(w)), "float32") for _ in range(chains)]
    for pair in range(x.shape[1] // 2):
        at = pair % 16 % chains
        for k in (2 * pair + 1, 2 * pair):
            sums[at] = added(sums[at], x[:, None, k], w[None, :, k])
    total = sums[0]
    for other in sums[1:]:
        total = total + other
    return total


@pytest.mark.cpu
@pytest.mark.parametrize("cpu", HERE)
def test_sums_are_those_of_the_instruction(cpu: str) -> None:
    target, rng = Target(f"llvm -mcpu={cpu}"), np.random.default_rng(0)
    with target:
        made = {
            f"p{i}": pair_products.product(
                f"p{i}", Packed(outputs, inputs, "bfloat16"), 1 if rows == 1 else None
            )
            for i, (outputs, inputs, rows) in enumerate(SHAPES)
        }
    built = tvm.compile(tvm.IRModule(made), target)
    for i, (outputs, inputs, rows) in enumerate(SHAPES):
        weights = rng.standard_normal((outputs, inputs)).astype("float32")
        x = (rng.standard_normal((rows, inputs)) * 3).astype(ml_dtypes.bfloat16)
        q, _ = few_bits.pack(weights, "bfloat16")
        out = tensor(np.full((rows, outputs), np.nan, "float32"))
        built[f"p{i}"](tensor(x), tensor(q), out)
        rounded = weights.astype(ml_dtypes.bfloat16)
        first = 0
        for high in (1,) if rows == 1 else (4, 2, 1) if rows <= few_bits.MAX_GEMV_ROWS else (rows,):
            while rows - first >= high:
                part = x[first : first + high]
                many = rows > few_bits.MAX_GEMV_ROWS
                chains = 1 if many else max(pair_products.CHAINS // high, 1)
                wanted = summed(part, rounded, chains)
                assert (out.numpy()[first : first + high] == wanted).all()
                first += high


@pytest.mark.pure
def test_who_has_the_instruction() -> None:
    for cpu, has in (("znver4", True), ("cooperlake", True), ("skylake-avx512", False),
                     ("haswell", False)):  # fmt: skip
        assert pair_products.has_instruction(Target(f"llvm -mcpu={cpu}")) == has
    assert not pair_products.has_instruction(Target("cuda"))
    assert not pair_products.has_instruction(None)


@pytest.mark.cpu
def test_code() -> None:
    """Pairs of inputs are broadcast from memory, pairs of weights are whole vectors."""
    target = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=znver4")
    with target:
        func = pair_products.product("p", Packed(64, 512, "bfloat16"), None)
    code = tvm.compile(func, target).mod.inspect_source("asm")
    assert "vdpbf16ps" in code
    assert "gather" not in code
