"""Orthogonal factors, eigenvalues, singular values and exponentials of matrices.

    A = Q R        Householder's reflections, with LAPACK's signs
    A = V W V^T    Jacobi's rotations, of a symmetric matrix
    A = U S V^T    Hestenes' rotations of the columns (one-sided Jacobi)
    e^A            Taylor's polynomial of A / 2^s, squared s times

Matrices are (batch, rows, columns), where all may be open. Each factorization is one kernel over
the batch. Sources: Golub and Van Loan, "Matrix Computations", 4th edition, 5.2, 8.5, 8.6, 9.3.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.topi.loops import (
    let,
    load,
    local,
    locals_,
    loop,
    parallel,
    repeat_while,
    sequence,
    store,
    when,
)

Number = Callable[..., Any]

_SWEEPS: Final = 40  # Jacobi's sweeps converge in six to ten; more are for matrices of NaNs
_ROUNDING: Final = 2.0**-50
_TERMS: Final = 17  # of e^x for |x| <= 1/2: the next is below 2^-70


def _kernel(
    run: Callable[[list[tir.Buffer], list[tir.Buffer]], tir.Stmt], given: te.Tensor,
    shapes: list[list[PrimExpr]], name: str,
) -> Any:  # fmt: skip
    kinds = [given.dtype] * len(shapes)
    buffers = [
        tir.decl_buffer(s, given.dtype, f"{name}{i}") for i, s in enumerate(shapes)
    ]
    return te.extern(
        shapes, [given], run, dtype=kinds, out_buffers=buffers, name=name, tag=name
    )


def _every(rows: PrimExpr, columns: PrimExpr, body: Callable[..., tir.Stmt]) -> tir.Stmt:
    return loop(rows, lambda i: loop(columns, lambda j: body(i, j), "j"), "i")


def _sum(extent: PrimExpr, term: Number, into: tir.Buffer, start: Any = 0.0) -> tir.Stmt:
    """`into` becomes start + term(0) + term(1) + ..."""
    return sequence(
        store(into, start, 0),
        loop(extent, lambda i: store(into, load(into, 0) + term(i), 0), "t"),
    )


def _unit(x: tir.Buffer, b: PrimExpr, rows: PrimExpr, columns: PrimExpr) -> tir.Stmt:
    return _every(rows, columns, lambda i, j: store(
        x, tir.Select(tir.EQ(i, j), tir.const(1, x.dtype), tir.const(0, x.dtype)), b, i, j
    ))  # fmt: skip


# --- orthogonal and triangular ---


def orthogonal_factors(a: te.Tensor, *, complete: bool) -> Any:
    """Q, R, and the scales of the reflections.

    (batch, m, p), (batch, m, n), (batch, k): k = min(m, n), and p is m if `complete`, or else k.
    """
    batch, m, n = a.shape
    k = tir.min(m, n)
    p = m if complete else k

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        given, (q, r, scales) = ins[0], outs

        def matrix(b: PrimExpr) -> tir.Stmt:
            def back(step: PrimExpr) -> tir.Stmt:
                return _reflect(q, r, scales, b, k - 1 - step, m, p, 0)

            def forward(j: PrimExpr) -> tir.Stmt:
                return sequence(
                    _reflection(r, scales, b, j, m), _reflect(r, r, scales, b, j, m, n, j + 1)
                )

            # the reflections lie below the diagonal until Q is made of them
            return sequence(
                _every(m, n, lambda i, j: store(r, load(given, b, i, j), b, i, j)),
                loop(k, forward, "j"), _unit(q, b, m, p), loop(k, back, "step"),
                _every(m, n, lambda i, j: when(i > j, store(r, 0.0, b, i, j))),
            )  # fmt: skip

        return parallel(batch, matrix, "b")

    return _kernel(run, a, [[batch, m, p], [batch, m, n], [batch, k]], "orthogonal_factors")


def reflections(a: te.Tensor) -> Any:
    """R above the reflections that make it, and their scales, as LAPACK has them.

    (batch, m, n), (batch, min(m, n)). A reflection begins with a one that is not stored.
    """
    batch, m, n = a.shape
    k = tir.min(m, n)

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        given, (r, scales) = ins[0], outs

        def matrix(b: PrimExpr) -> tir.Stmt:
            return sequence(
                _every(m, n, lambda i, j: store(r, load(given, b, i, j), b, i, j)),
                loop(k, lambda j: sequence(
                    _reflection(r, scales, b, j, m), _reflect(r, r, scales, b, j, m, n, j + 1)
                ), "j"),
            )  # fmt: skip

        return parallel(batch, matrix, "b")

    return _kernel(run, a, [[batch, m, n], [batch, k]], "reflections")


def product_of_reflections(r: te.Tensor, scales: te.Tensor) -> te.Tensor:
    """The first n columns of the product of what `reflections` gives: (batch, m, n).

    n is at least the number of scales, and at most m.
    """
    batch, m, n = r.shape
    k = scales.shape[1]

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        (given, sizes), q = ins, outs[0]
        return parallel(batch, lambda b: sequence(
            _unit(q, b, m, n),
            loop(k, lambda step: _reflect(q, given, sizes, b, k - 1 - step, m, n, 0), "step"),
        ), "b")  # fmt: skip

    made: te.Tensor = te.extern(
        [[batch, m, n]], [r, scales], run, dtype=[r.dtype], name="product_of_reflections",
        tag="product_of_reflections", out_buffers=[tir.decl_buffer([batch, m, n], r.dtype, "q")],
    )  # fmt: skip
    return made


def _reflection(
    r: tir.Buffer, scales: tir.Buffer, b: PrimExpr, j: PrimExpr, m: PrimExpr
) -> tir.Stmt:
    """The reflection that clears column j below the diagonal; none where nothing is to clear."""
    below = m - 1 - j

    def of(rest: tir.Buffer) -> tir.Stmt:
        def made(head: PrimExpr) -> tir.Stmt:
            size = tir.sqrt(head * head + load(rest, 0))
            return let(tir.Select(head < tir.const(0, head.dtype), size, -size),
                       lambda new: sequence(
                store(scales, (new - head) / new, b, j),
                loop(below, lambda i: store(
                    r, load(r, b, j + 1 + i, j) / (head - new), b, j + 1 + i, j), "i"),
                store(r, new, b, j, j),
            ), "new")  # fmt: skip

        return sequence(
            _sum(below, lambda i: load(r, b, j + 1 + i, j) * load(r, b, j + 1 + i, j), rest),
            when(
                tir.EQ(load(rest, 0), tir.const(0, r.dtype)),
                store(scales, 0.0, b, j),
                let(load(r, b, j, j), made, "head"),
            ),
        )

    return local(r.dtype, of, 1, "rest")


def _reflect(
    x: tir.Buffer, r: tir.Buffer, scales: tir.Buffer, b: PrimExpr, j: PrimExpr, m: PrimExpr,
    columns: PrimExpr, first: Any,
) -> tir.Stmt:  # fmt: skip
    """The j-th reflection of the columns of x from `first` on."""
    below = m - 1 - j

    def of(along: tir.Buffer) -> tir.Stmt:
        def column(step: PrimExpr) -> tir.Stmt:
            c = step + first
            return sequence(
                _sum(below, lambda i: load(r, b, j + 1 + i, j) * load(x, b, j + 1 + i, c), along,
                     load(x, b, j, c)),
                store(along, load(along, 0) * load(scales, b, j), 0),
                store(x, load(x, b, j, c) - load(along, 0), b, j, c),
                loop(below, lambda i: store(
                    x, load(x, b, j + 1 + i, c) - load(along, 0) * load(r, b, j + 1 + i, j),
                    b, j + 1 + i, c), "i"),
            )  # fmt: skip

        return loop(columns - first, column, "step")

    return local(x.dtype, of, 1, "along")


# --- rotations ---


def _sweeps(pairs: Callable[[tir.Buffer], tir.Stmt]) -> tir.Stmt:
    """`pairs(moved)` again, until it leaves `moved` at 0."""

    def run(moved: tir.Buffer, count: tir.Buffer) -> tir.Stmt:
        going = tir.all(load(moved, 0) > 0, load(count, 0) < _SWEEPS)
        body = sequence(
            store(moved, 0, 0), store(count, load(count, 0) + 1, 0), pairs(moved)
        )
        return sequence(store(moved, 1, 0), store(count, 0, 0), repeat_while(going, body))

    return locals_(["int32", "int32"], run, ["moved", "count"])


def _pairs(n: PrimExpr, body: Callable[[PrimExpr, PrimExpr], tir.Stmt]) -> tir.Stmt:
    return loop(n, lambda p: loop(n - 1 - p, lambda d: body(p, p + 1 + d), "d"), "p")


def _angle(
    first: Any, second: Any, mixed: Any, body: Callable[[PrimExpr, PrimExpr], tir.Stmt]
) -> tir.Stmt:
    """`body(cosine, sine)` of the small rotation that makes ((first, mixed), (mixed, second))
    diagonal."""

    def of(ratio: PrimExpr) -> tir.Stmt:
        one = tir.const(1, ratio.dtype)
        tangent = tir.Select(ratio < 0, -one, one) / (
            tir.abs(ratio) + tir.sqrt(one + ratio * ratio)
        )
        return let(tangent, lambda t: let(
            one / tir.sqrt(one + t * t), lambda c: let(t * c, lambda s: body(c, s), "sine"),
            "cosine"), "tangent")  # fmt: skip

    return let((second - first) / (mixed * tir.const(2, mixed.dtype)), of, "ratio")


def _turn(read: Number, write: Number, extent: PrimExpr, c: PrimExpr, s: PrimExpr) -> tir.Stmt:
    """Both of each pair of elements, `read(i, side)`, turned."""

    def pair(i: PrimExpr) -> tir.Stmt:
        return let(read(i, 0), lambda x: let(read(i, 1), lambda y: sequence(
            write(i, 0, c * x - s * y), write(i, 1, s * x + c * y)), "y"), "x")  # fmt: skip

    return loop(extent, pair, "i")


def _columns(x: tir.Buffer, b: PrimExpr, p: PrimExpr, q: PrimExpr) -> tuple[Number, Number]:
    return (
        lambda i, side: load(x, b, i, q if side else p),
        lambda i, side, value: store(x, value, b, i, q if side else p),
    )


def _rows(x: tir.Buffer, b: PrimExpr, p: PrimExpr, q: PrimExpr) -> tuple[Number, Number]:
    return (
        lambda i, side: load(x, b, q if side else p, i),
        lambda i, side, value: store(x, value, b, q if side else p, i),
    )


def _ordered(
    w: tir.Buffer, b: PrimExpr, n: PrimExpr, before: Number, *beside: tuple[tir.Buffer, PrimExpr]
) -> tir.Stmt:
    """Values in order, by selection, with the columns that belong to them."""

    def of(place: tir.Buffer) -> tir.Stmt:
        def step(i: PrimExpr) -> tir.Stmt:
            def compare(d: PrimExpr) -> tir.Stmt:
                other = i + 1 + d
                return when(
                    before(load(w, b, other), load(w, b, load(place, 0))), store(place, other, 0)
                )

            def exchanged(best: PrimExpr) -> tir.Stmt:
                swaps = [_swapped(x, b, i, best, rows) for x, rows in beside]
                values = let(load(w, b, i), lambda own: sequence(
                    store(w, load(w, b, best), b, i), store(w, own, b, best)), "own")  # fmt: skip
                return sequence(values, *swaps)

            return sequence(
                store(place, i, 0), loop(n - 1 - i, compare, "d"),
                when(tir.NE(load(place, 0), i), let(load(place, 0), exchanged, "best")),
            )  # fmt: skip

        return loop(n, step, "i")

    return local("int64", of, 1, "place")


def _swapped(x: tir.Buffer, b: PrimExpr, p: PrimExpr, q: PrimExpr, rows: PrimExpr) -> tir.Stmt:
    return loop(rows, lambda i: let(load(x, b, i, p), lambda own: sequence(
        store(x, load(x, b, i, q), b, i, p), store(x, own, b, i, q)), "own"), "i")  # fmt: skip


# --- symmetric matrices ---


def symmetric_spectrum(a: te.Tensor, *, upper: bool) -> Any:
    """Eigenvalues, the smallest first, and vectors as columns; and the work space.

    float64 (batch, n), (batch, n, n), (batch, n, n). Of A one triangle is read.
    """
    batch, n, _ = a.shape

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        given, (w, v, x) = ins[0], outs

        def read(b: PrimExpr, i: PrimExpr, j: PrimExpr) -> Any:
            low, high = tir.max(i, j), tir.min(i, j)
            return load(given, b, high, low) if upper else load(given, b, low, high)

        def matrix(b: PrimExpr) -> tir.Stmt:
            def turned(size: tir.Buffer) -> tir.Stmt:
                def pairs(moved: tir.Buffer) -> tir.Stmt:
                    return _pairs(n, lambda p, q: when(
                        tir.abs(load(x, b, p, q)) > load(size, 0) * _ROUNDING,
                        sequence(store(moved, 1, 0), _diagonalized(x, v, b, p, q, n)),
                    ))  # fmt: skip

                return sequence(
                    store(size, 0.0, 0),
                    _every(n, n, lambda i, j: store(
                        size, tir.max(load(size, 0), tir.abs(load(x, b, i, j))), 0)),
                    _sweeps(pairs),
                )  # fmt: skip

            return sequence(
                _every(n, n, lambda i, j: store(x, read(b, i, j), b, i, j)),
                _unit(v, b, n, n), local("float64", turned, 1, "size"),
                loop(n, lambda i: store(w, load(x, b, i, i), b, i), "i"),
                _ordered(w, b, n, lambda one, best: one < best, (v, n)),
            )  # fmt: skip

        return parallel(batch, matrix, "b")

    return _kernel(run, a, [[batch, n], [batch, n, n], [batch, n, n]], "symmetric_spectrum")


def _diagonalized(
    x: tir.Buffer, v: tir.Buffer, b: PrimExpr, p: PrimExpr, q: PrimExpr, n: PrimExpr
) -> tir.Stmt:
    def turned(c: PrimExpr, s: PrimExpr) -> tir.Stmt:
        return sequence(
            _turn(*_columns(x, b, p, q), n, c, s), _turn(*_rows(x, b, p, q), n, c, s),
            _turn(*_columns(v, b, p, q), n, c, s),
            store(x, 0.0, b, p, q), store(x, 0.0, b, q, p),
        )  # fmt: skip

    return _angle(load(x, b, p, p), load(x, b, q, q), load(x, b, p, q), turned)


# --- singular values ---


def singular_factors(a: te.Tensor, *, complete: bool) -> Any:
    """U, S and V of (batch, m, n) with m >= n; the largest value first.

    float64 (batch, m, p), (batch, n), (batch, n, n): p is m if `complete`, or else n.
    """
    batch, m, n = a.shape
    p = m if complete else n

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        given, (u, s, v) = ins[0], outs

        def matrix(b: PrimExpr) -> tir.Stmt:
            def pairs(moved: tir.Buffer) -> tir.Stmt:
                return _pairs(n, lambda i, j: _made_orthogonal(u, v, b, i, j, m, n, moved))

            def size(j: PrimExpr) -> tir.Stmt:
                return local("float64", lambda total: sequence(
                    _sum(m, lambda i: load(u, b, i, j) * load(u, b, i, j), total),
                    store(s, tir.sqrt(load(total, 0)), b, j)), 1, "total")  # fmt: skip

            return sequence(
                _every(m, n, lambda i, j: store(u, load(given, b, i, j), b, i, j)),
                _unit(v, b, n, n), _sweeps(pairs), loop(n, size, "j"),
                _ordered(s, b, n, lambda one, best: one > best, (u, m), (v, n)),
                loop(p, lambda j: _normalized(u, s, b, j, m, n), "j"),
            )  # fmt: skip

        return parallel(batch, matrix, "b")

    return _kernel(run, a, [[batch, m, p], [batch, n], [batch, n, n]], "singular_factors")


def _made_orthogonal(
    u: tir.Buffer, v: tir.Buffer, b: PrimExpr, i: PrimExpr, j: PrimExpr, m: PrimExpr, n: PrimExpr,
    moved: tir.Buffer,
) -> tir.Stmt:  # fmt: skip
    """Columns i and j, turned until their product is zero."""

    def of(first: tir.Buffer, second: tir.Buffer, mixed: tir.Buffer) -> tir.Stmt:
        def dot(one: PrimExpr, other: PrimExpr, into: tir.Buffer) -> tir.Stmt:
            return _sum(m, lambda k: load(u, b, k, one) * load(u, b, k, other), into)

        def turned(c: PrimExpr, s: PrimExpr) -> tir.Stmt:
            return sequence(
                store(moved, 1, 0), _turn(*_columns(u, b, i, j), m, c, s),
                _turn(*_columns(v, b, i, j), n, c, s),
            )  # fmt: skip

        alpha, beta, gamma = (load(x, 0) for x in (first, second, mixed))
        slanted = tir.abs(gamma) > tir.sqrt(alpha * beta) * tir.const(8 * _ROUNDING, "float64")
        return sequence(
            dot(i, i, first), dot(j, j, second), dot(i, j, mixed),
            when(slanted, _angle(alpha, beta, gamma, turned)),
        )  # fmt: skip

    return locals_(["float64"] * 3, of, ["first", "second", "mixed"])


def _normalized(
    u: tir.Buffer, s: tir.Buffer, b: PrimExpr, j: PrimExpr, m: PrimExpr, n: PrimExpr
) -> tir.Stmt:
    """Column j over its length; where that is nothing, any direction across the columns before."""
    divided = loop(m, lambda i: store(u, load(u, b, i, j) / load(s, b, j), b, i, j), "i")
    counts = tir.all(j < n, load(s, b, tir.min(j, n - 1)) > load(s, b, 0) * (4 * _ROUNDING))
    broken = tir.all(j < n, tir.isnan(load(s, b, tir.min(j, n - 1))))
    return when(tir.any(counts, broken), divided, _completed(u, b, j, m))


def _completed(u: tir.Buffer, b: PrimExpr, j: PrimExpr, m: PrimExpr) -> tir.Stmt:
    """Of the axes the one that columns before j cover least, made orthogonal to them, twice."""

    def of(total: tir.Buffer, least: tir.Buffer) -> tir.Stmt:
        def cover(i: PrimExpr) -> tir.Stmt:
            return sequence(
                _sum(j, lambda k: load(u, b, i, k) * load(u, b, i, k), total),
                when(load(total, 0) < load(least, 0),
                     sequence(store(least, load(total, 0), 0), chosen(i))),
            )  # fmt: skip

        def chosen(i: PrimExpr) -> tir.Stmt:
            return loop(m, lambda r: store(
                u, tir.Select(tir.EQ(r, i), tir.const(1, "float64"), tir.const(0, "float64")),
                b, r, j), "r")  # fmt: skip

        def without(k: PrimExpr) -> tir.Stmt:
            return sequence(
                _sum(m, lambda i: load(u, b, i, k) * load(u, b, i, j), total),
                loop(m, lambda i: store(
                    u, load(u, b, i, j) - load(total, 0) * load(u, b, i, k), b, i, j), "i"),
            )  # fmt: skip

        return sequence(
            store(least, float(2**60), 0), loop(m, cover, "i"),
            loop(j, without, "k"), loop(j, without, "k"),
            _sum(m, lambda i: load(u, b, i, j) * load(u, b, i, j), total),
            store(total, tir.sqrt(load(total, 0)), 0),
            loop(m, lambda i: store(u, load(u, b, i, j) / load(total, 0), b, i, j), "i"),
        )  # fmt: skip

    return locals_(["float64", "float64"], of, ["total", "least"])


# --- exponentials ---


def exponential(a: te.Tensor) -> Any:
    """e^A, and the work space; (batch, n, n) three times."""
    batch, n, _ = a.shape

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        given, (found, small, next_) = ins[0], outs

        def product(b: PrimExpr, left: tir.Buffer, finish: Number) -> tir.Stmt:
            """`found` becomes finish(left found, i, j)."""
            return sequence(
                _every(n, n, lambda i, j: local(given.dtype, lambda total: sequence(
                    _sum(n, lambda k: load(left, b, i, k) * load(found, b, k, j), total),
                    store(next_, finish(load(total, 0), i, j), b, i, j)), 1, "total")),
                _every(n, n, lambda i, j: store(found, load(next_, b, i, j), b, i, j)),
            )  # fmt: skip

        def matrix(b: PrimExpr) -> tir.Stmt:
            def scaled(size: tir.Buffer, halvings: tir.Buffer) -> tir.Stmt:
                def term(step: PrimExpr) -> tir.Stmt:
                    count = (_TERMS - step).astype(given.dtype)
                    one, zero = (tir.const(value, given.dtype) for value in (1, 0))
                    return product(b, small, lambda total, i, j: (
                        tir.Select(tir.EQ(i, j), one, zero) + total / count))  # fmt: skip

                row = local(given.dtype, lambda total: loop(n, lambda i: sequence(
                    _sum(n, lambda j: tir.abs(load(given, b, i, j)), total),
                    store(size, tir.max(load(size, 0), load(total, 0)), 0)), "i"), 1, "total")
                halve = sequence(
                    store(halvings, load(halvings, 0) + 1, 0),
                    store(size, load(size, 0) * tir.const(0.5, given.dtype), 0),
                    _every(n, n, lambda i, j: store(
                        small, load(small, b, i, j) * tir.const(0.5, given.dtype), b, i, j)),
                )  # fmt: skip
                # an infinity stays one, however often it is halved
                large = tir.all(load(size, 0) > tir.const(0.5, given.dtype),
                                load(halvings, 0) < 1100)  # fmt: skip
                return sequence(
                    store(size, 0.0, 0), store(halvings, 0, 0), row, repeat_while(large, halve),
                    loop(_TERMS, term, "step"),
                    loop(load(halvings, 0),
                         lambda _: product(b, found, lambda total, i, j: total), "twice"),
                )  # fmt: skip

            return sequence(
                _every(n, n, lambda i, j: store(small, load(given, b, i, j), b, i, j)),
                _unit(found, b, n, n),
                locals_([given.dtype, "int32"], scaled, ["size", "halvings"]),
            )

        return parallel(batch, matrix, "b")

    return _kernel(run, a, [list(a.shape)] * 3, "exponential")
