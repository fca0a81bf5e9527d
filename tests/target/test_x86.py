"""Lanes follow the current target."""

from __future__ import annotations

from tvm.target import Target
from tvm.target.x86 import get_simd_32bit_lanes


def test_lanes() -> None:
    with Target("llvm -mtriple=x86_64-unknown-linux-gnu -mcpu=skylake-avx512"):
        assert get_simd_32bit_lanes() == 16
