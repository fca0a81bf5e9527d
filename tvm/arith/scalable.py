"""What the target says about vscale, the unknown factor of scalable vectors."""

from __future__ import annotations

import sys
from typing import Final

from tvm.ir.expr import PrimExpr
from tvm.target.target import Target
from tvm.tir import expr as e
from tvm.tir.functor import expr_children

SVE: Final = tuple(range(1, 17))  # vectors of 128 to 2048 bits; vscale counts the 128s
RVV: Final = tuple([1 << power for power in range(11)])  # 64 to 65,536 bits, in steps of 64


def vscale_values() -> tuple[int, ...] | None:
    """The values that vscale may have, in rising order; None if the target has no such vectors.

    Where no target is set nothing speaks against those of SVE.
    """
    target = Target.current()
    if target is None:
        return SVE
    triple = str(target.attrs.get("mtriple", ""))
    on = [str(feature)[1:] for feature in target.mattr if str(feature).startswith("+")]
    if triple.startswith("aarch64"):
        sve = any(name.startswith(("sve", "v9")) for name in on)
        return SVE if sve else None
    return RVV if triple.startswith("riscv") and "v" in on else None


def is_vscale(expr: PrimExpr) -> bool:
    """The expression is the call of vscale."""
    return e.is_call_of(expr, "tir.vscale")


def uses_vscale(expr: PrimExpr) -> bool:
    """vscale occurs in the expression."""
    stack = [expr]
    while stack:
        node = stack.pop()
        if is_vscale(node):
            return True
        stack.extend(expr_children(node))
    return False


def has_vscale_of_target(a: PrimExpr, b: PrimExpr) -> bool:
    """vscale occurs in one of both, and the current target says what it may be."""
    if Target.current() is None or vscale_values() is None:
        return False
    return uses_vscale(a) or uses_vscale(b)


def warn_without_values(target: Target) -> None:
    """Say on standard error that a proof was not tried value by value."""
    sys.stderr.write(
        "Warning: The expression contains scalable values. An attempt to prove by substituting "
        "with known values of vscale was not performed. This proof currently only supports VLA "
        f"targets, but the target was {target}\n"
    )
