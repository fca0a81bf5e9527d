"""Linear algebra of square matrices: determinants, inverses, equations, Cholesky's factors.

torch raises where a matrix has no inverse or is not positive definite; here results are infinite
or NaN then. `info` of the functions that give one says so, as LAPACK's does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import PrimValue
from tvm.relax.frontend import equations

from .registry import convert
from .values import Expr, cast, common_shape, dtype_of, product, rank, refuse, same, scalar, sizes


def _matrices(bb: BlockBuilder, a: Expr) -> Expr:
    """(batch, n, n) of (..., n, n)."""
    return equations.flat(bb, a)


def _like(x: RelaxExpr, a: Expr, axes: int) -> Any:
    """A result of a batch, with the first axes of `a`; of its own axes there are `axes`."""
    outer = sizes(a)[:-2]
    own = sizes(x)[1:] if axes else []
    return op.reshape(x, [*outer, *own])


def _singular(bb: BlockBuilder, lu: Expr, a: Expr) -> Any:
    """Which element of the diagonal of U is the first zero, counted from 1; 0 for none."""
    heads = equations.diagonal(bb, _matrices(bb, lu))
    return _info(bb, heads, lambda head: tir.EQ(head, tir.const(0, head.dtype)), a)


def _info(
    bb: BlockBuilder, heads: RelaxExpr, is_wrong: Callable[[PrimExpr], PrimExpr], a: Expr
) -> Any:
    return bb.emit(op.reshape(equations.first_wrong(bb, heads, is_wrong), sizes(a)[:-2]))


@convert("det", "linalg_det")
def determinant(bb: BlockBuilder, A: Expr) -> Any:
    return _like(equations.determinant(bb, _matrices(bb, A)), A, 0)


@convert("_linalg_det")
def determinant_and_factors(bb: BlockBuilder, A: Expr) -> Any:
    """The determinant, both factors in one matrix, and rows counted from 1."""
    lu, rows, sign = equations.factored(bb, _matrices(bb, A))
    value = op.multiply(sign, bb.emit(op.prod(equations.diagonal(bb, lu), 1)))
    return _like(bb.emit(value), A, 0), _like(lu, A, 2), _pivots(bb, rows, A)


def _pivots(bb: BlockBuilder, rows: RelaxExpr, a: Expr) -> Any:
    counted = bb.emit(op.add(cast(bb, rows, "int32"), op.ones((), "int32")))
    return op.reshape(counted, [*sizes(a)[:-2], sizes(rows)[-1]])


@convert("slogdet", "linalg_slogdet")
def sign_and_logarithm(bb: BlockBuilder, A: Expr) -> Any:
    """The determinant's sign, and the logarithm of its size."""
    return _signed(bb, A)[:2]


@convert("_linalg_slogdet")
def sign_logarithm_and_factors(bb: BlockBuilder, A: Expr) -> Any:
    return _signed(bb, A)


def _signed(bb: BlockBuilder, a: Expr) -> tuple[Any, ...]:
    lu, rows, sign = equations.factored(bb, _matrices(bb, a))
    heads = bb.emit(equations.diagonal(bb, lu))
    signs = bb.emit(op.multiply(sign, bb.emit(op.prod(bb.emit(op.sign(heads)), 1))))
    size = bb.emit(op.sum(bb.emit(op.log(bb.emit(op.abs(heads)))), 1))
    return _like(signs, a, 0), _like(size, a, 0), _like(lu, a, 2), _pivots(bb, rows, a)


@convert("logdet")
def logarithm_of_determinant(bb: BlockBuilder, input: Expr) -> Any:
    return op.log(bb.emit(determinant(bb, input)))


@convert("inverse", "linalg_inv")
def inverse(bb: BlockBuilder, A: Expr) -> Any:
    return _like(equations.inverse(bb, _matrices(bb, A)), A, 2)


@convert("linalg_inv_ex")
def inverse_and_info(bb: BlockBuilder, A: Expr, check_errors: bool = False) -> Any:
    lu, _ = lu_factor(bb, A)
    return bb.emit(inverse(bb, A)), _singular(bb, bb.emit(lu), A)


@convert("linalg_lu_factor")
def lu_factor(bb: BlockBuilder, A: Expr, pivot: bool = True) -> Any:
    """L and U in one matrix, and the rows that were swapped, counted from 1."""
    if not pivot:
        raise refuse("linalg_lu_factor: pivot", pivot, "True")
    lu, rows, _ = equations.factored(bb, _matrices(bb, A))
    return _like(lu, A, 2), _pivots(bb, rows, A)


@convert("linalg_lu_factor_ex")
def lu_factor_and_info(
    bb: BlockBuilder, A: Expr, pivot: bool = True, check_errors: bool = False
) -> Any:
    lu, rows = lu_factor(bb, A, pivot)
    lu = bb.emit(lu)
    return lu, rows, _singular(bb, lu, A)


@convert("linalg_lu")
def lu(bb: BlockBuilder, A: Expr, pivot: bool = True) -> Any:
    """P, L and U of A = P L U."""
    return lu_unpack(bb, *map(bb.emit, lu_factor(bb, A, pivot)))


@convert("lu_unpack")
def lu_unpack(
    bb: BlockBuilder, LU_data: Expr, LU_pivots: Expr, unpack_data: bool = True,
    unpack_pivots: bool = True,
) -> Any:  # fmt: skip
    """P, L and U of what `lu_factor` gives; what is not asked for is empty."""
    *outer, m, _ = sizes(LU_data)
    dtype, steps = dtype_of(LU_data), sizes(LU_pivots)[-1]
    empty = op.zeros([0], dtype)
    low = high = permutation = empty
    if unpack_data:
        batch = bb.emit(op.zeros([product(outer), m, steps], dtype))
        heads = equations.unit_matrices(bb, batch)
        left = op.strided_slice(LU_data, [-1], [0], [steps])
        low = op.add(op.tril(left, -1), op.reshape(heads, [*outer, m, steps]))
        high = op.triu(op.strided_slice(LU_data, [-2], [0], [steps]))
    if unpack_pivots:
        permutation = _permutations(bb, LU_pivots, m, dtype)
    return tuple(map(bb.emit, (permutation, low, high)))


def _permutations(bb: BlockBuilder, pivots: Expr, m: Any, dtype: str) -> Any:
    """P, by the rows that were swapped: column i has its one where row i of L U is in A."""
    shape = sizes(pivots)[:-1]
    if isinstance(m, PrimExpr):
        raise refuse("lu_unpack", f"{m} rows", "a number of rows")
    count = tir.IntImm("int64", m)
    place = bb.emit_te(equations.order, _rows(bb, pivots), count, primfunc_name_hint="order")
    ones = op.one_hot(place, PrimValue(1), PrimValue(0), m, 1)
    return op.reshape(op.astype(ones, dtype), [*shape, m, m])


def _rows(bb: BlockBuilder, pivots: Expr) -> Expr:
    """int64 (batch, steps), counted from 0."""
    counted = op.subtract(op.astype(pivots, "int64"), scalar(1, "int64"))
    return bb.emit(op.reshape(counted, [product(sizes(pivots)[:-1]), sizes(pivots)[-1]]))


@convert("linalg_lu_solve")
def lu_solve(
    bb: BlockBuilder, LU: Expr, pivots: Expr, B: Expr, left: bool = True, adjoint: bool = False
) -> Any:
    """X of A X = B by what `lu_factor` gives of A; of X A = B, and of A^T X = B."""
    if not left:
        return _turned(bb, bb.emit(lu_solve(bb, LU, pivots, _turned(bb, B), True, not adjoint)))
    outer = common_shape([sizes(LU)[:-2], sizes(B)[:-2]])
    swaps = bb.emit(op.broadcast_to(pivots, [*outer, sizes(pivots)[-1]]))
    if not adjoint:
        a, b, _ = _batched(bb, LU, B)
        x = bb.emit_te(
            equations.solutions, a, _rows(bb, swaps), b, primfunc_name_hint="solutions"
        )
        return op.reshape(x, [*outer, *sizes(B)[-2:]])
    high = _turned(bb, LU)
    between = bb.emit(solve_triangular(bb, high, B, False))
    swapped = bb.emit(solve_triangular(bb, high, between, True, unitriangular=True))
    permutation = _permutations(bb, swaps, sizes(LU)[-1], dtype_of(LU))
    return op.matmul(bb.emit(permutation), swapped)


@convert("lu_solve")
def lu_solve_of_right(bb: BlockBuilder, input: Expr, LU_data: Expr, LU_pivots: Expr) -> Any:
    return lu_solve(bb, LU_data, LU_pivots, input)


@convert("linalg_solve")
def solve(bb: BlockBuilder, A: Expr, B: Expr, left: bool = True) -> Any:
    """X of A X = B, or of X A = B; B may be a vector for each matrix."""
    is_vector = rank(B) == 1 or (
        rank(B) == rank(A) - 1 and all(map(same, sizes(A), sizes(B)))
    )
    if is_vector:
        B = bb.emit(op.expand_dims(B, -1))
    if not left:
        return _turned(bb, bb.emit(solve(bb, _turned(bb, A), _turned(bb, B))))
    a, b, outer = _batched(bb, A, B)
    lu, rows, _ = equations.factored(bb, a)
    x = bb.emit_te(equations.solutions, lu, rows, b, primfunc_name_hint="solutions")
    shape = [*outer, *(sizes(B)[-2:-1] if is_vector else sizes(B)[-2:])]
    return op.reshape(x, shape)


@convert("linalg_solve_ex")
def solve_and_info(
    bb: BlockBuilder, A: Expr, B: Expr, left: bool = True, check_errors: bool = False
) -> Any:
    return solve_factors_and_info(bb, A, B, left)[::3]


@convert("_linalg_solve_ex")
def solve_factors_and_info(
    bb: BlockBuilder, A: Expr, B: Expr, left: bool = True, check_errors: bool = False
) -> Any:
    lu, rows = lu_factor(bb, A)
    lu = bb.emit(lu)
    return bb.emit(solve(bb, A, B, left)), lu, rows, _singular(bb, lu, A)


def _batched(bb: BlockBuilder, a: Expr, b: Expr) -> tuple[Expr, Expr, list[Any]]:
    """Matrices of both in one batch, and its axes."""
    outer = common_shape([sizes(a)[:-2], sizes(b)[:-2]])

    def wide(x: Expr) -> Expr:
        shape = [*outer, *sizes(x)[-2:]]
        return _matrices(bb, bb.emit(op.broadcast_to(x, shape)))

    return wide(a), wide(b), outer


def _turned(bb: BlockBuilder, x: Expr) -> Expr:
    """Rows for columns."""
    axes = list(range(rank(x)))
    return bb.emit(op.permute_dims(x, [*axes[:-2], axes[-1], axes[-2]]))


@convert("linalg_solve_triangular")
def solve_triangular(
    bb: BlockBuilder, A: Expr, B: Expr, upper: bool, left: bool = True, unitriangular: bool = False
) -> Any:
    """X of A X = B, or of X A = B, where only a triangle of A counts."""
    if not left:
        turned = solve_triangular(
            bb, _turned(bb, A), _turned(bb, B), not upper, unitriangular=unitriangular
        )
        return _turned(bb, bb.emit(turned))
    a, b, outer = _batched(bb, A, B)
    x = bb.emit_te(equations.triangular_solutions, a, b, upper=upper, unit=unitriangular,
                   primfunc_name_hint="triangular_solutions")  # fmt: skip
    return op.reshape(x, [*outer, *sizes(B)[-2:]])


@convert("triangular_solve")
def triangular_solve(
    bb: BlockBuilder, input: Expr, A: Expr, upper: bool = True, transpose: bool = False,
    unitriangular: bool = False,
) -> Any:  # fmt: skip
    if transpose:
        solved = solve_triangular(
            bb, _turned(bb, A), input, not upper, unitriangular=unitriangular
        )
        return solved, A
    return solve_triangular(bb, A, input, upper, unitriangular=unitriangular), A


@convert("cholesky", "linalg_cholesky")
def cholesky(bb: BlockBuilder, input: Expr, upper: bool = False) -> Any:
    """L of L L^T, or U of U^T U."""
    a = _turned(bb, input) if upper else input
    low = bb.emit_te(equations.cholesky, _matrices(bb, a), primfunc_name_hint="cholesky")
    made = bb.emit(_like(low, a, 2))
    return _turned(bb, made) if upper else made


@convert("linalg_cholesky_ex")
def cholesky_and_info(
    bb: BlockBuilder, input: Expr, upper: bool = False, check_errors: bool = False
) -> Any:
    made = bb.emit(cholesky(bb, input, upper))
    heads = equations.diagonal(bb, _matrices(bb, made))
    return made, _info(bb, heads, lambda head: tir.Not(head > tir.const(0, head.dtype)), input)


@convert("cholesky_solve")
def cholesky_solve(bb: BlockBuilder, input: Expr, input2: Expr, upper: bool = False) -> Any:
    """X of A X = B, by a factor of A."""
    low, high = (_turned(bb, input2), input2) if upper else (input2, _turned(bb, input2))
    between = bb.emit(solve_triangular(bb, low, input, False))
    return solve_triangular(bb, high, between, True)


@convert("cholesky_inverse")
def cholesky_inverse(bb: BlockBuilder, input: Expr, upper: bool = False) -> Any:
    """The inverse of a matrix, by a factor of it."""
    unit = equations.unit_matrices(bb, _matrices(bb, input))
    return cholesky_solve(bb, bb.emit(_like(unit, input, 2)), input, upper)
