"""Dot products of bytes on Arm: what they say, and that LLVM knows the instructions."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.tir import TensorIntrin
from tvm.tir.tensor_intrin import arm_cpu

NAMES = {
    arm_cpu.ARM_DOT_4x4_i8_NEON_INTRIN: ("int8", "int32", "smull"),
    arm_cpu.ARM_DOT_4x4_i8_SDOT_INTRIN: ("int8", "int32", "sdot"),
    arm_cpu.ARM_DOT_4x4_u8_UDOT_INTRIN: ("uint8", "uint32", "udot"),
    arm_cpu.ARM_DOT_4x4_u8_HDOT_INTRIN: ("uint8", "int32", "udot"),
}


def functions(name: str) -> tuple[tir.PrimFunc, tir.PrimFunc]:
    intrin = TensorIntrin.get(name)
    assert intrin is not None
    return intrin.desc, intrin.impl


@pytest.mark.pure
@pytest.mark.parametrize("name", NAMES)
def test_the_description_is_four_dot_products(name: str) -> None:
    desc, impl = functions(name)
    low, result, _ = NAMES[name]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-100 if low == "int8" else 0, 100, s).astype(low) for s in (4, (4, 4)))
    c = rng.integers(0, 9, 4).astype(result)
    wanted = c + b.astype(result) @ a.astype(result)
    tir.interp.run(desc, a, b, c)
    np.testing.assert_array_equal(c, wanted)
    for func in (desc, impl):
        assert_structural_equal(from_source(func.script()), func)


@pytest.mark.cpu
@pytest.mark.parametrize("name", NAMES)
def test_llvm_has_the_instruction(name: str) -> None:
    target = tvm.target.Target(
        "llvm -mtriple=aarch64-linux-gnu -mattr=+v8.2a,+dotprod,+neon"
    )
    _, impl = functions(name)
    built = tvm.tir.build(impl.with_attr("global_symbol", "main"), target)
    assert NAMES[name][2] in built.inspect_source("asm")
