"""Questions about x86 CPUs."""

from __future__ import annotations

from .codegen import llvm_get_vector_width


def get_simd_32bit_lanes() -> int:
    """How many values of 32 bits a vector register of the current target holds."""
    return llvm_get_vector_width() // 32
