"""Linear equations: Cholesky's factors, and triangular ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tvm.error import message
from tvm.relax import op
from tvm.relax.frontend import equations

from .program import Operation
from .registry import convert
from .shape import extents

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter


def _turned(imp: StableHLOImporter, x: Any, ndim: int) -> Any:
    return imp.emit(op.permute_dims(x, [*range(ndim - 2), ndim - 1, ndim - 2]))


@convert("stablehlo.cholesky")
def cholesky(imp: StableHLOImporter, node: Operation, a: Any) -> Any:
    """L of L L^T, or U of U^T U, by one triangle of the matrix; the other of the result is zero."""
    shape = extents(node.operands[0])
    upper = not node.attrs.get("lower", False)
    x = _turned(imp, a, len(shape)) if upper else a
    flat = equations.flat(imp.block_builder, x)
    low = imp.emit(
        imp.block_builder.call_te(equations.cholesky, flat, primfunc_name_hint="cholesky")
    )
    made = imp.emit(op.reshape(low, shape))
    return _turned(imp, made, len(shape)) if upper else made


@convert("stablehlo.triangular_solve")
def triangular_solve(imp: StableHLOImporter, node: Operation, a: Any, b: Any) -> Any:
    """X of T X = B, or of X T = B, for a triangle T of A, turned or not."""
    attrs, shape = node.attrs, extents(node.operands[1])
    ndim = len(shape)
    kind = str(attrs.get("transpose_a", "NO_TRANSPOSE")).rsplit(maxsplit=1)[-1].strip(">")
    if kind not in ("NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"):
        raise ValueError(
            message("triangular_solve: transpose_a", found=kind, legal="NO_TRANSPOSE, TRANSPOSE")
        )
    turned = kind != "NO_TRANSPOSE"
    lower, left = bool(attrs.get("lower", False)), bool(attrs.get("left_side", False))
    if not left:  # X T = B is T^T X^T = B^T
        b, turned = _turned(imp, b, ndim), not turned
    if turned:
        a, lower = _turned(imp, a, ndim), not lower
    bb = imp.block_builder
    x = imp.emit(
        bb.call_te(
            equations.triangular_solutions, equations.flat(bb, a), equations.flat(bb, b),
            upper=not lower, unit=bool(attrs.get("unit_diagonal", False)),
            primfunc_name_hint="triangular_solutions",
        )
    )  # fmt: skip
    wanted = shape if left else [*shape[:-2], shape[-1], shape[-2]]
    made = imp.emit(op.reshape(x, wanted))
    return made if left else _turned(imp, made, ndim)
