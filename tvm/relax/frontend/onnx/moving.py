"""Elements put elsewhere by amounts that only running tells: pads, repetitions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import te, tir
from tvm.error import OpAttributeInvalid, message
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax.block_builder import BlockBuilder

Amounts = Sequence["PrimExpr | int"]
MODES = ("constant", "reflect", "edge", "wrap")


def padded(
    bb: BlockBuilder, value: RelaxExpr, before: Amounts, after: Amounts,
    mode: str = "constant", fill: RelaxExpr | float = 0.0,
) -> RelaxExpr:  # fmt: skip
    """Elements around a tensor, or (negative amounts) cut off; `fill` may be a tensor of one."""
    if mode not in MODES:
        raise OpAttributeInvalid(message("Pad: mode", found=repr(mode), legal=", ".join(MODES)))
    return bb.emit_te(
        _padded, value, list(before), list(after), mode, fill, primfunc_name_hint="pad"
    )


def _padded(x: te.Tensor, before: Any, after: Any, mode: str, fill: Any) -> Any:
    low = [tir.const(b, "int64") if isinstance(b, int) else b for b in before]
    shape = [b + n + a for b, n, a in zip(low, x.shape, after)]
    moved = [not _is_zero(b) or not _is_zero(a) for b, a in zip(before, after)]

    def element(*at: Any) -> Any:
        indices = [i - b if m else i for i, b, m in zip(at, low, moved)]
        if mode != "constant":
            return x(*(
                _inside(p, n, mode) if m else p for p, n, m in zip(indices, x.shape, moved)
            ))  # fmt: skip
        inside = [p >= 0 for p, m in zip(indices, moved) if m]
        inside += [p < n for p, n, m in zip(indices, x.shape, moved) if m]
        if not inside:
            return x(*indices)
        value: Any
        if isinstance(fill, te.Tensor):
            value = fill(*(tir.const(0, "int64") for _ in fill.shape))
        else:
            value = tir.const(_number(fill, x.dtype), x.dtype)
        return tir.if_then_else(tir.all(*inside), x(*indices), value)

    return te.compute(shape, element, name="pad")


def _number(fill: float, dtype: Any) -> Any:
    return fill if str(dtype).startswith(("float", "bfloat")) else int(fill)


def _inside(index: PrimExpr, extent: PrimExpr, mode: str) -> Any:
    """The element that stands for one outside."""
    last, zero = extent - 1, tir.const(0, "int64")
    if mode == "edge":
        return tir.max(tir.min(index, last), zero)
    if mode == "wrap":
        return tir.floormod(index, extent)
    folded = tir.floormod(index, tir.max(last * 2, tir.const(1, "int64")))
    return last - tir.abs(last - folded)


def _is_zero(amount: Any) -> bool:
    return isinstance(amount, int) and amount == 0


def tiled(x: te.Tensor, times: Amounts) -> te.Tensor:
    """A tensor beside itself, some times along each axis."""
    shape = [n * count for n, count in zip(x.shape, times)]

    def element(*at: Any) -> Any:
        return x(*(tir.floormod(i, n) for i, n in zip(at, x.shape)))

    result: te.Tensor = te.compute(shape, element, name="tile")
    return result
