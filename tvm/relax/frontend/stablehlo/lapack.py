"""Calls of LAPACK, which JAX makes on CPUs: factors, orthogonal bases, spectra, triangles.

Each gives what the routine of that name gives (LAPACK Users' Guide, 3rd edition): rows and
reflections in its numbering, and `info`, which is 0 unless a pivot is wrong. Options are letters.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tvm import tir
from tvm.relax import op
from tvm.relax.expr import TupleGetItem, const
from tvm.relax.frontend import equations, spectra

from .program import Operation
from .registry import Converter, convert
from .shape import extents

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter


def _routine(name: str) -> Callable[[Converter], Converter]:
    """Declare the routine of floats and of doubles."""
    return convert(*(f"stablehlo.custom_call @lapack_{kind}{name}_ffi" for kind in "sd"))


def _options(node: Operation) -> dict[str, str]:
    """Letters by the names of the options: `{uplo = 76 : ui8}` is L."""
    written = re.findall(r"(\w+) = (\d+)", str(node.attrs.get("mhlo.backend_config", "")))
    return {name: chr(int(code)) for name, code in written}


def _kernel(imp: StableHLOImporter, rule: Any, *given: Any, count: int, **options: Any) -> Any:
    """The first results of a kernel over a batch of matrices."""
    bb = imp.block_builder
    made = imp.emit(bb.call_te(rule, *given, primfunc_name_hint=rule.__name__, **options))
    return [imp.emit(TupleGetItem(made, i)) for i in range(count)]


def _flat(imp: StableHLOImporter, x: Any) -> Any:
    return equations.flat(imp.block_builder, x)


def _flat_double(imp: StableHLOImporter, x: Any) -> Any:
    return imp.emit(op.astype(_flat(imp, x), "float64"))


def _shaped(imp: StableHLOImporter, node: Operation, made: list[Any]) -> list[Any]:
    """Results in the shapes and data types of the call's; None is an `info` of 0."""
    found = []
    for value, result in zip(made, node.results):
        shape = extents(result)
        if value is None:
            found.append(op.zeros(shape, result.dtype))
            continue
        found.append(op.reshape(imp.emit(op.astype(value, result.dtype)), shape))
    return found


def _turned(imp: StableHLOImporter, x: Any) -> Any:
    """Rows for columns in a batch of matrices."""
    return imp.emit(op.permute_dims(x, [0, 2, 1]))


@_routine("getrf")
def getrf(imp: StableHLOImporter, node: Operation, a: Any) -> Any:
    """L and U in one matrix, the rows that were swapped, and `info`."""
    lu, rows, _ = _kernel(imp, equations.factors, _flat(imp, a), count=3)
    heads = equations.diagonal(imp.block_builder, lu)
    info = equations.first_wrong(
        imp.block_builder, heads, lambda head: tir.EQ(head, tir.const(0, head.dtype))
    )
    counted = imp.emit(op.add(rows, const(1, "int64")))
    return _shaped(imp, node, [lu, counted, info])


@_routine("potrf")
def potrf(imp: StableHLOImporter, node: Operation, a: Any) -> Any:
    """A factor of a symmetric matrix by one triangle of it, and `info`."""
    upper = _options(node).get("uplo") == "U"
    x = _flat(imp, a)
    bb = imp.block_builder
    low = imp.emit(bb.call_te(equations.cholesky, _turned(imp, x) if upper else x,
                              primfunc_name_hint="cholesky"))  # fmt: skip
    heads = equations.diagonal(bb, low)
    info = equations.first_wrong(
        bb, heads, lambda head: tir.Not(head > tir.const(0, head.dtype))
    )
    return _shaped(imp, node, [_turned(imp, low) if upper else low, info])


@_routine("geqrf")
def geqrf(imp: StableHLOImporter, node: Operation, a: Any) -> Any:
    """R above reflections, and their scales."""
    return _shaped(imp, node, _kernel(imp, spectra.reflections, _flat(imp, a), count=2))


@_routine("orgqr")
def orgqr(imp: StableHLOImporter, node: Operation, a: Any, scales: Any) -> Any:
    """The first columns of the product of reflections."""
    batch = extents(node.operands[1])
    count = 1
    for extent in batch[:-1]:
        count = count * extent
    flat = imp.emit(op.reshape(scales, [count, batch[-1]]))
    made = imp.block_builder.call_te(
        spectra.product_of_reflections, _flat(imp, a), flat,
        primfunc_name_hint="product_of_reflections",
    )  # fmt: skip
    return _shaped(imp, node, [imp.emit(made)])


@_routine("syevd")
def syevd(imp: StableHLOImporter, node: Operation, a: Any) -> Any:
    """Eigenvectors of a symmetric matrix, its eigenvalues in order, and `info`."""
    upper = _options(node).get("uplo") == "U"
    values, vectors = _kernel(
        imp, spectra.symmetric_spectrum, _flat_double(imp, a), count=2, upper=upper
    )
    return _shaped(imp, node, [vectors, values, None])


@_routine("gesdd")
def gesdd(imp: StableHLOImporter, node: Operation, a: Any) -> Any:
    """The matrix, which is not kept; singular values, U, V transposed, and `info`."""
    rows, columns = extents(node.operands[0])[-2:]
    complete = _options(node).get("mode") == "A"
    x = _flat_double(imp, a)
    wide = rows < columns
    u, s, v = _kernel(
        imp, spectra.singular_factors, _turned(imp, x) if wide else x, count=3, complete=complete
    )
    left, right = (v, u) if wide else (u, v)
    if _options(node).get("mode") == "N":  # nobody reads them
        left = right = None
    else:
        right = _turned(imp, right)
    return _shaped(imp, node, [a, s, left, right, None])


@_routine("trsm")
def trsm(imp: StableHLOImporter, node: Operation, a: Any, b: Any) -> Any:
    """X of T X = B, or of X T = B, for a triangle T of A, turned or not."""
    options = _options(node)
    turned, lower = options.get("trans_x", "N") != "N", options.get("uplo") == "L"
    left = options.get("side") == "L"
    x, right = _flat(imp, a), _flat(imp, b)
    if not left:  # X T = B is T^T X^T = B^T
        right, turned = _turned(imp, right), not turned
    if turned:
        x, lower = _turned(imp, x), not lower
    made = imp.emit(
        imp.block_builder.call_te(
            equations.triangular_solutions, x, right, upper=not lower,
            unit=options.get("diag") == "U", primfunc_name_hint="triangular_solutions",
        )
    )  # fmt: skip
    return _shaped(imp, node, [made if left else _turned(imp, made)])


@convert("stablehlo.custom_call @Sharding")
def sharding(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    """Where the parts of a tensor lie is up to the passes that distribute programs."""
    return x
