"""Factorizations of matrices by orthogonal ones: QR, eigenvalues, singular values; exponentials.

Eigenvectors and singular vectors are unique up to their signs (and to turns among those of one
value); the signs here need not be torch's.
"""

from __future__ import annotations

from typing import Any

from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import TupleGetItem
from tvm.relax.frontend import equations, spectra
from tvm.tir import max as larger
from tvm.tir import min as smaller

from .equations import inverse
from .registry import convert
from .values import (
    Expr,
    cast,
    dtype_of,
    product,
    rank,
    refuse,
    same,
    scalar,
    size_tensor,
    sizes,
)

_ROUNDING = {"float32": 2.0**-23, "float64": 2.0**-52}


def _emitted(bb: BlockBuilder, made: RelaxExpr, count: int) -> list[RelaxExpr]:
    return [bb.emit(TupleGetItem(made, i)) for i in range(count)]


def _like(bb: BlockBuilder, x: RelaxExpr, a: Expr) -> Any:
    """A result of a batch, with the first axes and the data type of `a`."""
    return cast(bb, bb.emit(op.reshape(x, [*sizes(a)[:-2], *sizes(x)[1:]])), dtype_of(a))


def _turned(bb: BlockBuilder, x: RelaxExpr) -> RelaxExpr:
    axes = list(range(rank(x)))
    return bb.emit(op.permute_dims(x, [*axes[:-2], axes[-1], axes[-2]]))


def _real(asked: str, a: Expr) -> None:
    if dtype_of(a) not in _ROUNDING:
        raise refuse(asked, dtype_of(a), " or ".join(_ROUNDING))


# --- QR ---


@convert("linalg_qr")
def qr(bb: BlockBuilder, A: Expr, mode: str = "reduced") -> Any:
    """Q and R; of `complete` Q is square, of `r` it is empty."""
    if mode not in ("reduced", "complete", "r"):
        raise ValueError(f"linalg_qr: mode {mode!r}; legal: 'reduced', 'complete', 'r'")
    _real("linalg_qr", A)
    rows, columns = sizes(A)[-2:]
    made = bb.emit_te(spectra.orthogonal_factors, equations.flat(bb, A),
                      complete=mode == "complete", primfunc_name_hint="qr")  # fmt: skip
    q, r, _ = (_like(bb, x, A) if rank(x) == 3 else x for x in _emitted(bb, made, 3))
    if mode != "complete":
        last = _smaller(rows, columns)
        r = bb.emit(op.strided_slice(r, [rank(r) - 2], [0], [last]))
    return (op.zeros((0,), dtype_of(A)) if mode == "r" else q), r


@convert("qr")
def old_qr(bb: BlockBuilder, input: Expr, some: bool = True) -> Any:
    return qr(bb, input, "reduced" if some else "complete")


@convert("geqrf")
def geqrf(bb: BlockBuilder, input: Expr) -> Any:
    """R above reflections, and their scales."""
    _real("geqrf", input)
    rows, columns = sizes(input)[-2:]
    made = bb.emit_te(spectra.reflections, equations.flat(bb, input),
                      primfunc_name_hint="reflections")  # fmt: skip
    r, scales = _emitted(bb, made, 2)
    return _like(bb, r, input), op.reshape(
        scales, [*sizes(input)[:-2], _smaller(rows, columns)]
    )


@convert("linalg_householder_product", "orgqr")
def householder_product(bb: BlockBuilder, input: Expr, tau: Expr) -> Any:
    """The first columns of the product of reflections, as `geqrf` gives them."""
    _real("linalg_householder_product", input)
    *outer, count = sizes(tau)
    scales = bb.emit(op.reshape(tau, [product(outer), count]))
    made = bb.emit_te(spectra.product_of_reflections, equations.flat(bb, input), scales,
                      primfunc_name_hint="product_of_reflections")  # fmt: skip
    return _like(bb, made, input)


@convert("ormqr")
def ormqr(
    bb: BlockBuilder, input: Expr, tau: Expr, other: Expr, left: bool = True,
    transpose: bool = False,
) -> Any:  # fmt: skip
    """The whole product of reflections, or it transposed, times a matrix on its right or left."""
    *outer, rows, columns = sizes(input)
    missing = rows - columns
    wide = [0, 0] * (len(outer) + 1) + [0, missing]
    a = input if same(rows, columns) else bb.emit(op.nn.pad(input, wide))
    q: RelaxExpr = bb.emit(householder_product(bb, a, tau))
    q = _turned(bb, q) if transpose else q
    return op.matmul(q, other) if left else op.matmul(other, q)


def _smaller(a: Any, b: Any) -> Any:
    return min(a, b) if isinstance(a, int) and isinstance(b, int) else smaller(a, b)


# --- eigenvalues of symmetric matrices ---


def _spectrum(bb: BlockBuilder, a: Expr, triangle: str) -> list[RelaxExpr]:
    """Values and vectors in double precision, as a batch."""
    if triangle.upper() not in ("L", "U"):
        raise ValueError(f"linalg_eigh: UPLO {triangle!r}; legal: 'L', 'U'")
    _real("linalg_eigh", a)
    flat = cast(bb, equations.flat(bb, a), "float64")
    made = bb.emit_te(spectra.symmetric_spectrum, flat, upper=triangle.upper() == "U",
                      primfunc_name_hint="symmetric_spectrum")  # fmt: skip
    return _emitted(bb, made, 2)


@convert("linalg_eigh", "_linalg_eigh")
def eigh(bb: BlockBuilder, A: Expr, UPLO: str = "L", compute_v: bool = True) -> Any:
    values, vectors = (_like(bb, x, A) for x in _spectrum(bb, A, UPLO))
    return values, (vectors if compute_v else op.zeros((0,), dtype_of(A)))


@convert("linalg_eigvalsh")
def eigvalsh(bb: BlockBuilder, A: Expr, UPLO: str = "L") -> Any:
    return _like(bb, _spectrum(bb, A, UPLO)[0], A)


# --- singular values ---


def _singular(bb: BlockBuilder, a: Expr, complete: bool = False) -> list[RelaxExpr]:
    """U, S and V of a batch, in double precision."""
    _real("linalg_svd", a)
    rows, columns = sizes(a)[-2:]
    if not (same(rows, columns) or (isinstance(rows, int) and isinstance(columns, int))):
        raise refuse(
            "linalg_svd: the shape of a matrix", f"({rows}, {columns})",
            "numbers, or the same symbol twice",
        )  # fmt: skip
    wide = not same(rows, columns) and rows < columns
    x = cast(bb, equations.flat(bb, _turned(bb, a) if wide else a), "float64")
    made = bb.emit_te(
        spectra.singular_factors, x, complete=complete, primfunc_name_hint="singular_factors"
    )
    u, s, v = _emitted(bb, made, 3)
    return [v, s, u] if wide else [u, s, v]


@convert("linalg_svd", "_linalg_svd")
def svd(
    bb: BlockBuilder, A: Expr, full_matrices: bool = True, compute_uv: bool = True,
    driver: Any = None,
) -> Any:  # fmt: skip
    """U, S and V^T; `_linalg_svd` gives three empty ones but S where vectors are not asked for."""
    u, s, v = _singular(bb, A, full_matrices)
    if not compute_uv:
        return op.zeros((0,), dtype_of(A)), _like(bb, s, A), op.zeros((0,), dtype_of(A))
    return _like(bb, u, A), _like(bb, s, A), _like(bb, _turned(bb, v), A)


@convert("svd")
def old_svd(bb: BlockBuilder, input: Expr, some: bool = True, compute_uv: bool = True) -> Any:
    """U, S and V, which is not turned; vectors that are not asked for are zeros."""
    u, s, v = (_like(bb, x, input) for x in _singular(bb, input, not some))
    if not compute_uv:
        rows, columns = sizes(input)[-2:]
        outer, dtype = sizes(input)[:-2], dtype_of(input)
        u, v = (op.zeros([*outer, n, n], dtype) for n in (rows, columns))
    return u, s, v


@convert("linalg_svdvals")
def svdvals(bb: BlockBuilder, A: Expr, driver: Any = None) -> Any:
    return _like(bb, _singular(bb, A)[1], A)


@convert("nuclear_norm")
def nuclear_norm(bb: BlockBuilder, input: Expr, keepdim: bool = False) -> Any:
    """The sum of the singular values of a matrix."""
    total = bb.emit(op.sum(svdvals(bb, input), [-1]))
    return op.reshape(total, [1, 1]) if keepdim else total


@convert("linalg_cond")
def cond(bb: BlockBuilder, input: Expr, p: Any = None) -> Any:
    """The largest singular value by the smallest, or norms of the matrix and of its inverse."""
    if p in (2, -2, None):
        values = bb.emit(svdvals(bb, input))
        large, small = (bb.emit(f(values, [-1])) for f in (op.max, op.min))
        return op.divide(small, large) if p == -2 else op.divide(large, small)
    from .reduction import matrix_norm

    turned = bb.emit(inverse(bb, input))
    return op.multiply(*(bb.emit(matrix_norm(bb, x, p)) for x in (input, turned)))


# --- what follows from them ---


def _limit(bb: BlockBuilder, a: Expr, largest: RelaxExpr, atol: Any, rtol: Any) -> RelaxExpr:
    """max(atol, rtol * the largest value), float64; without either, of rounding."""
    rows, columns = sizes(a)[-2:]
    if isinstance(rows, int) and isinstance(columns, int):
        longest: RelaxExpr = scalar(float(max(rows, columns)), "float64")
    else:
        longest = bb.emit(op.astype(size_tensor(larger(rows, columns)), "float64"))
    usual = op.multiply(longest, scalar(_ROUNDING[dtype_of(a)], "float64"))

    def number(value: Any) -> RelaxExpr:
        if not isinstance(value, RelaxExpr):
            return scalar(float(value), "float64")
        return bb.emit(op.expand_dims(cast(bb, value, "float64"), -1))

    if rtol is None:
        if atol is None:
            rtol = usual
        elif isinstance(atol, RelaxExpr):
            zero = scalar(0.0, "float64")
            rtol = bb.emit(op.where(op.greater(number(atol), zero), zero, usual))
        else:
            rtol = scalar(0.0, "float64") if atol > 0 else usual
    else:
        rtol = number(rtol)
    relative = bb.emit(op.multiply(largest, rtol))
    return relative if atol is None else bb.emit(op.maximum(number(atol), relative))


def _batch(bb: BlockBuilder, x: RelaxExpr, a: Expr) -> RelaxExpr:
    """The axes of `a` before a matrix again, in double precision."""
    return bb.emit(op.reshape(x, [*sizes(a)[:-2], *sizes(x)[1:]]))


@convert("linalg_matrix_rank")
def matrix_rank(
    bb: BlockBuilder, input: Expr, tol: Any = None, hermitian: bool = False, *, atol: Any = None,
    rtol: Any = None,
) -> Any:  # fmt: skip
    """How many singular values are above the tolerance; int64."""
    if tol is not None:
        atol, rtol = tol, 0.0
    found = _spectrum(bb, input, "L")[0] if hermitian else _singular(bb, input)[1]
    values = bb.emit(op.abs(_batch(bb, found, input)))
    limit = _limit(bb, input, bb.emit(op.max(values, [-1], True)), atol, rtol)
    return op.sum(cast(bb, bb.emit(op.greater(values, limit)), "int64"), [-1])


@convert("linalg_pinv")
def pinv(
    bb: BlockBuilder, input: Expr, rcond: Any = None, hermitian: bool = False, *,
    atol: Any = None, rtol: Any = None,
) -> Any:  # fmt: skip
    """Moore and Penrose's inverse: V (1 / S) U^T of the values above the tolerance."""
    if rcond is not None:
        rtol = rcond
    if hermitian:
        values, vectors = (_batch(bb, x, input) for x in _spectrum(bb, input, "L"))
        left, right = vectors, vectors
    else:
        right, values, left = (_batch(bb, x, input) for x in _singular(bb, input))
    sizes_ = bb.emit(op.abs(values))
    limit = _limit(bb, input, bb.emit(op.max(sizes_, [-1], True)), atol, rtol)
    one, zero = scalar(1.0, "float64"), scalar(0.0, "float64")
    counts = bb.emit(op.greater(sizes_, limit))
    inverted = op.where(counts, op.divide(one, op.where(counts, values, one)), zero)
    scaled = bb.emit(op.multiply(left, op.expand_dims(bb.emit(inverted), -2)))
    return cast(bb, bb.emit(op.matmul(scaled, _turned(bb, right))), dtype_of(input))


@convert("pinverse")
def pinverse(bb: BlockBuilder, input: Expr, rcond: float = 1e-15) -> Any:
    return pinv(bb, input, rcond)


@convert("linalg_matrix_exp", "matrix_exp")
def matrix_exp(bb: BlockBuilder, input: Expr) -> Any:
    _real("matrix_exp", input)
    made = bb.emit_te(
        spectra.exponential, equations.flat(bb, input), primfunc_name_hint="matrix_exp"
    )
    return _like(bb, bb.emit(TupleGetItem(made, 0)), input)


@convert("linalg_matrix_power", "matrix_power")
def matrix_power(bb: BlockBuilder, input: Expr, n: Any) -> Any:
    """By squares; a negative power is one of the inverse."""
    if isinstance(n, PrimExpr):
        raise refuse("matrix_power: n", n, "a number")
    if n == 0:
        flat = equations.flat(bb, input)
        return _like(bb, equations.unit_matrices(bb, flat), input)
    square: Any = bb.emit(inverse(bb, input)) if n < 0 else input
    found: Any = None
    left = abs(n)
    while left:
        if left & 1:
            found = square if found is None else bb.emit(op.matmul(found, square))
        left >>= 1
        if left:
            square = bb.emit(op.matmul(square, square))
    return found
