"""Matrices with other diagonals."""

from __future__ import annotations

from typing import Any

from tvm.ir.type import Type
from tvm.relay.expr import Call

from .declare import INJECTIVE, Expr, Relate, relay_op, topi
from .relations import extents, is_any, same_extent, tensor


def _with_diagonals(ctx: Relate) -> Type | None:
    x, diagonal = tensor(ctx, 0), tensor(ctx, 1)
    if x is None or diagonal is None:
        return None
    *batch, rows, columns = extents(x)
    low, high = int(ctx.attrs.k1), int(ctx.attrs.k2)
    if not is_any(rows, columns) and isinstance(rows, int) and isinstance(columns, int):
        length = min(rows + min(high, 0), columns - max(low, 0))
        wanted = [*batch, *([high - low + 1] if low != high else []), length]
        found = extents(diagonal)
        if len(found) != len(wanted) or not all(
            is_any(a, b) or same_extent(a, b) for a, b in zip(found, wanted)
        ):
            raise ctx.fail(f"diagonals of shape {tuple(found)}", f"{tuple(wanted)}")
    return x


@relay_op("matrix_set_diag", "MatrixSetDiagAttrs", operands=("data", "diagonal"), level=10,
          relation=_with_diagonals, pattern=INJECTIVE, hidden=("k", "align"),
          optional={"k1": 0, "k2": 0, "super_diag_right_align": True,
                    "sub_diag_right_align": False},
          lower=lambda bb, x, d, *, k1, k2, super_diag_right_align, sub_diag_right_align:
          bb.call_te(topi.matrix_set_diag, x, d, (k1, k2), "_".join(
              "RIGHT" if right else "LEFT"
              for right in (super_diag_right_align, sub_diag_right_align))))  # fmt: skip
def matrix_set_diag(data: Expr, diagonal: Expr, k: Any = 0, align: str = "RIGHT_LEFT") -> Call:
    """Matrices with other diagonals."""
    low, high = (k[0], k[-1]) if isinstance(k, (tuple, list)) else (k, k)
    above, below = align.split("_")
    return matrix_set_diag.call(
        data, diagonal, k1=int(low), k2=int(high), super_diag_right_align=above == "RIGHT",
        sub_diag_right_align=below == "RIGHT",
    )  # fmt: skip
