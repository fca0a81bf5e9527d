"""bfloat16 in languages without it: the upper half of a float, carried as an unsigned integer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tvm.support.dtype import DataType

if TYPE_CHECKING:
    from .kernels import DeviceEmitter


def narrow_function(words: str, bits_of: Callable[[str], str]) -> str:
    """A function from float to the carried bits: to nearest, ties to even, NaN stays NaN."""
    return (
        f"{words}ushort float_to_bfloat16(float x) {{\n"
        f"  uint bits = {bits_of('x')};\n"
        "  if (x != x) { return (ushort)((bits >> 16) | 64u); }\n"
        "  return (ushort)((bits + 32767u + ((bits >> 16) & 1u)) >> 16);\n}"
    )


def convert_carried(
    emit: DeviceEmitter, source: DataType, target: DataType, text: str,
    bits_of: Callable[[str], str], float_of: Callable[[str], str],
) -> str | None:  # fmt: skip
    """A conversion with bfloat16 on one side; None for others."""
    single = DataType("float32")
    if source.is_bfloat16 and target.is_bfloat16:
        return text
    if source.is_bfloat16:
        wide = float_of(f"((uint){text} << 16)")
        return emit.convert(single, target, wide)
    if target.is_bfloat16:
        name = emit.out.file.need(
            "float_to_bfloat16", narrow_function(emit.function_word(), bits_of)
        )
        return f"{name}({emit.convert(source, single, text)})"
    return None
