"""Products of small numbers, summed in groups by one vector instruction, in 32 bits.

    C[i] += sum(A[k] * B[i, k] for k in range(group))    for i in range(lanes)

`A` is one group for all lanes. Four bytes are multiplied by VPDPBUSD (unsigned by signed ones),
SDOT, UDOT and USDOT; two numbers of 16 bits by VPMADDWD and VPDPWSSD, to which bytes are widened:
no sum can then overflow, where VPMADDUBSW would cut sums of two byte products to 16 bits. Sums of
integers are exact. VDPBF16PS multiplies two numbers of bfloat16, and adds the second product, then
the first, as fused multiply-adds in float32; numbers below 2**-126 count as zeros.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from tvm.tir.intrin_registry import TensorIntrin


class Dot(NamedTuple):
    """An instruction: how many lanes it has, and of how many numbers each sums the products."""

    name: str
    lanes: int
    group: int
    multiplies: tuple[str, str]  # the data types of its own operands
    accumulates: bool = True  # or leaves adding to the sums to another one
    sums: str = "int32"  # the data type of the sums


_US: Final = ("uint8", "int8")
_WORDS: Final = ("int16", "int16")
DOTS: Final[dict[str, Dot]] = {
    "vnni512": Dot("llvm.x86.avx512.vpdpbusd.512", 16, 4, _US),
    "vnni256": Dot("llvm.x86.avx512.vpdpbusd.256", 8, 4, _US),
    "words512": Dot("llvm.x86.avx512.vpdpwssd.512", 16, 2, _WORDS),
    "words256": Dot("llvm.x86.avx512.vpdpwssd.256", 8, 2, _WORDS),
    "avx512": Dot("llvm.x86.avx512.pmaddw.d.512", 16, 2, _WORDS, accumulates=False),
    "avx2": Dot("llvm.x86.avx2.pmadd.wd", 8, 2, _WORDS, accumulates=False),
    "sse2": Dot("llvm.x86.sse2.pmadd.wd", 4, 2, _WORDS, accumulates=False),
    "sdot": Dot("llvm.aarch64.neon.sdot.v4i32.v16i8", 4, 4, ("int8", "int8")),
    "udot": Dot("llvm.aarch64.neon.udot.v4i32.v16i8", 4, 4, ("uint8", "uint8")),
    "bf16": Dot(
        "llvm.x86.avx512bf16.dpbf16ps.512", 16, 2, ("bfloat16", "bfloat16"), sums="float32"
    ),
    "usdot": Dot("llvm.aarch64.neon.usdot.v4i32.v16i8", 4, 4, _US),
}


def dot_name(form: str, one: str, many: str, swapped: bool) -> str:
    """The name of an intrinsic: `one` is the type of `A`, `many` that of `B`.

    With `swapped` the program multiplies B by A.
    """
    return f"dot_{form}_{one}_{many}" + ("_swapped" if swapped else "")


def register_dot(form: str, one: str, many: str, swapped: bool = False) -> str:
    """The name of an intrinsic, which is made when it is first asked for: there are many."""
    name = dot_name(form, one, many, swapped)
    if TensorIntrin.get(name, allow_missing=True) is None:
        from .dots import dot_intrin  # written in TVMScript, whose parser is not needed before

        TensorIntrin.register(name, *dot_intrin(form, one, many, swapped))
    return name
