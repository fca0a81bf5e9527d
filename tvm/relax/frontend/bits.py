"""Elements read as others of the same bits.

    float32 (..., n)  ->  uint8 (..., n, 4)  ->  float32 (..., n)

The lowest bits come first, as on all machines that are compiled for.
"""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.support.dtype import DataType


def reinterpreted(x: te.Tensor, dtype: str) -> te.Tensor:
    """Of the same width in the same shape; shorter ones along a new last axis, longer ones of it.

    Both types have whole bytes; a last axis that goes has as many elements as make up one.
    """
    given, wanted = (DataType(str(name)).bits for name in (x.dtype, dtype))
    made: te.Tensor
    if wanted > given:
        made = te.compute(
            x.shape[:-1], lambda *i: _joined(x, i, given, wanted, dtype), name="bits"
        )
    elif wanted == given:
        made = te.compute(x.shape, lambda *i: tir.reinterpret(dtype, x(*i)), name="bits")
    else:
        shape = [*x.shape, given // wanted]
        made = te.compute(shape, lambda *i: _part(x, i, given, wanted, dtype), name="bits")
    return made


def _part(x: te.Tensor, i: tuple[Any, ...], given: int, wanted: int, dtype: str) -> Any:
    whole = tir.reinterpret(f"uint{given}", x(*i[:-1]))
    shifted = whole >> (i[-1] * wanted).astype(whole.dtype)
    return tir.reinterpret(dtype, shifted.astype(f"uint{wanted}"))


def _joined(x: te.Tensor, i: tuple[Any, ...], given: int, wanted: int, dtype: str) -> Any:
    kind = f"uint{wanted}"
    whole = tir.const(0, kind)
    for part in range(wanted // given):
        bits = tir.reinterpret(f"uint{given}", x(*i, part)).astype(kind)
        whole = whole | (bits << tir.const(part * given, kind))
    return tir.reinterpret(dtype, whole)
