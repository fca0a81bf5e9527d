"""Special functions, and elements read as others of the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tvm.error import message
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.frontend import special
from tvm.relax.frontend.bits import reinterpreted

from .program import Operation
from .registry import convert

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter


def _declare(name: str, made: Callable[[BlockBuilder, Any], Any]) -> None:
    convert(name)(lambda imp, node, x: made(imp.block_builder, x))


_declare("chlo.erf_inv", special.erfinv)
_declare("chlo.lgamma", special.lgamma)
_declare("chlo.digamma", special.digamma)
_declare("chlo.bessel_i1e", lambda bb, x: special.bessel_i(bb, x, 1, scaled=True))


@convert("chlo.zeta")
def zeta(imp: StableHLOImporter, node: Operation, x: Any, q: Any) -> Any:
    return op.astype(special.zeta(imp.block_builder, x, q), node.results[0].dtype)


@convert("chlo.polygamma")
def polygamma(imp: StableHLOImporter, node: Operation, n: Any, x: Any) -> Any:
    """(-1)^(n+1) n! zeta(n+1, x), where the order is a tensor; digamma for order 0."""
    bb = imp.block_builder
    order = imp.emit(op.astype(n, "float64"))
    one = special.number(1.0)
    next_ = imp.emit(op.add(order, one))
    factorial = imp.emit(op.exp(special.lgamma(bb, next_)))
    is_odd = op.equal(op.floor_mod(order, special.number(2.0)), one)
    sign = imp.emit(op.where(is_odd, one, special.number(-1.0)))
    found = imp.emit(op.multiply(op.multiply(sign, factorial), special.zeta(bb, next_, x)))
    first = imp.emit(special.digamma(bb, imp.emit(op.astype(x, "float64"))))
    chosen = op.where(op.equal(order, special.number(0.0)), first, found)
    return op.astype(chosen, node.results[0].dtype)


@convert("stablehlo.bitcast_convert")
def bitcast_convert(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    """The same bits as another type: shorter ones along a new last axis, longer ones of it.

    The lowest bits come first.
    """
    before, after = node.operands[0].dtype, node.results[0].dtype
    if "bool" in (before, after):
        raise ValueError(
            message("bitcast_convert", found=f"{before} to {after}", legal="whole bytes")
        )
    return imp.block_builder.call_te(reinterpreted, x, after, primfunc_name_hint="bitcast_convert")
