"""Einstein's summation."""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained

from .common import is_one, known, same_extent, stage

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _terms(subscripts: str, operands: tuple[te.Tensor, ...]) -> tuple[list[str], str]:
    """One letter a dimension for each operand, and for the result; dots become free letters."""
    text = subscripts.replace(" ", "")
    left, arrow, right = text.partition("->")
    parts = left.split(",")
    if len(parts) != len(operands):
        raise ShapeError(
            message(
                f"topi.einsum {subscripts!r}",
                found=f"{len(operands)} operands for {len(parts)} terms",
                legal="one operand for each term",
            )
        )
    free = [x for x in _LETTERS if x not in text]
    widest = max(
        (t.ndim - len(p.replace("...", "")) for p, t in zip(parts, operands) if "..." in p),
        default=0,
    )
    dots = "".join(free[:widest])
    full = []
    for part, operand in zip(parts, operands):
        missing = operand.ndim - len(part.replace("...", ""))
        full.append(part.replace("...", dots[len(dots) - missing :] if missing > 0 else ""))
        if len(full[-1]) != operand.ndim:
            raise ShapeError(
                message(
                    f"topi.einsum {subscripts!r}",
                    found=f"term {part!r} for an operand of {operand.ndim} dimensions",
                    legal="one letter for each dimension",
                )
            )
    if arrow:
        return full, right.replace("...", dots)
    once = sorted(x for x in set("".join(full)) - set(dots) if "".join(full).count(x) == 1)
    return full, dots + "".join(once)


@explained
def einsum(subscripts: str, *operand: Any) -> te.Tensor:
    """Products of the operands, summed over the letters that the result does not have.

    einsum("ij,jk->ik", a, b) is the product of two matrices.
    """
    given = operand[0] if len(operand) == 1 and isinstance(operand[0], (list, tuple)) else operand
    operands: tuple[te.Tensor, ...] = tuple(given)
    terms, result = _terms(subscripts, operands)
    extents: dict[str, Any] = {}
    for term, tensor in zip(terms, operands):
        for letter, extent in zip(term, tensor.shape):
            extents[letter] = _joined(letter, extents.get(letter), extent, subscripts)
    unknown = [x for x in result if x not in extents]
    if unknown:
        raise ShapeError(f"topi.einsum {subscripts!r}: no operand has the letter {unknown[0]!r}")
    summed = sorted(x for x in extents if x not in result)
    taps = {x: te.reduce_axis((0, extents[x]), x) for x in summed}

    def element(*i: Any) -> PrimExpr:
        where = {**dict(zip(result, i)), **taps}
        product: PrimExpr | None = None
        for term, tensor in zip(terms, operands):
            own = [
                tir.const(0, "int32") if is_one(e) and not is_one(extents[x]) else where[x]
                for x, e in zip(term, tensor.shape)
            ]
            value = tensor(*own)
            product = value if product is None else product * value
        assert product is not None, "there is at least one operand"
        total: PrimExpr = te.sum(product, axis=list(taps.values())) if taps else product
        return total

    return stage([extents[x] for x in result], element, "T_einsum", "einsum")


def _joined(letter: str, before: Any, extent: Any, subscripts: str) -> Any:
    if before is None or is_one(before) or same_extent(before, extent):
        return extent
    if known(before) and known(extent) and not is_one(extent):
        raise ShapeError(
            message(
                f"topi.einsum {subscripts!r}: letter {letter!r}",
                found=f"extents {before} and {extent}",
                legal="equal extents, or 1",
            )
        )
    return before
