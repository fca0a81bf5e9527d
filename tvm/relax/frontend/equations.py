"""Linear equations: matrices in triangular factors, and what follows from them.

    P A = L U     (Gauss's elimination; each column's largest element comes first)
    A = L L^T     (Cholesky's, of a symmetric matrix)

Matrices are (batch, n, n), where both may be open; those in factors L and U may also be (batch, m,
n). Each factor is one kernel over the batch. A matrix without an inverse gives infinities and NaNs,
one that is not positive definite NaNs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import TupleGetItem
from tvm.relax.extents import extents_of
from tvm.topi.loops import let, load, local, loop, parallel, sequence, store, when

Statement = Callable[..., tir.Stmt]


def factors(a: te.Tensor) -> Any:
    """L without its diagonal of ones and U in one matrix, the row that each step chose, the sign.

    float (batch, m, n), int64 (batch, min(m, n)), float (batch,): -1 where rows were swapped an odd
    number of times, and 1 otherwise.
    """
    batch, m, n = a.shape
    steps = _shorter(m, n)

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        given, (lu, rows, sign) = ins[0], outs

        def matrix(b: PrimExpr) -> tir.Stmt:
            def step(k: PrimExpr) -> tir.Stmt:
                return _column(lu, rows, sign, b, k)

            return sequence(
                _every(m, n, lambda i, j: store(lu, load(given, b, i, j), b, i, j)),
                store(sign, 1.0, b), loop(steps, step, "k"),
            )  # fmt: skip

        return parallel(batch, matrix, "b")

    kinds = [a.dtype, "int64", a.dtype]
    shapes = [list(a.shape), [batch, steps], [batch]]
    buffers = [tir.decl_buffer(s, d, x) for s, d, x in zip(shapes, kinds, ("lu", "rows", "sign"))]
    return te.extern(
        shapes, [a], run, dtype=kinds, out_buffers=buffers, name="factors", tag="factors"
    )


def _shorter(m: PrimExpr, n: PrimExpr) -> PrimExpr:
    return m if m is n else tir.min(m, n)


def _column(
    lu: tir.Buffer, rows: tir.Buffer, sign: tir.Buffer, b: PrimExpr, k: PrimExpr
) -> tir.Stmt:
    """Bring the largest element of column k to the diagonal, and clear what is below it."""
    _, m, n = lu.shape

    def choose(place: tir.Buffer) -> tir.Stmt:
        def compare(i: PrimExpr) -> tir.Stmt:
            below = k + 1 + i
            here, best = load(lu, b, below, k), load(lu, b, load(place, 0), k)
            return when(tir.abs(here) > tir.abs(best), store(place, below, 0))

        def swap(j: PrimExpr) -> tir.Stmt:
            # named before one of them is overwritten
            return let(load(lu, b, k, j), lambda own: let(
                load(lu, b, load(place, 0), j), lambda other: sequence(
                    store(lu, other, b, k, j), store(lu, own, b, load(place, 0), j)
                ), "other"), "own")  # fmt: skip

        turned = store(sign, tir.const(0, lu.dtype) - load(sign, b), b)
        return sequence(
            store(place, k, 0),
            loop(m - 1 - k, compare, "i"),
            store(rows, load(place, 0), b, k),
            when(tir.NE(load(place, 0), k), sequence(loop(n, swap, "j"), turned)),
        )

    def clear(i: PrimExpr) -> tir.Stmt:
        below = k + 1 + i
        head = load(lu, b, k, k)
        # a column of zeros is clear
        factor = tir.Select(tir.EQ(head, tir.const(0, lu.dtype)), tir.const(0, lu.dtype),
                            load(lu, b, below, k) / head)  # fmt: skip

        def rest(value: PrimExpr) -> tir.Stmt:
            def subtract(j: PrimExpr) -> tir.Stmt:
                right = k + 1 + j
                return store(
                    lu, load(lu, b, below, right) - value * load(lu, b, k, right), b, below, right
                )

            return sequence(store(lu, value, b, below, k), loop(n - 1 - k, subtract, "j"))

        return let(factor, rest, "factor")

    return sequence(local("int64", choose, 1, "place"), loop(m - 1 - k, clear, "i"))


def solutions(lu: te.Tensor, rows: te.Tensor, right: te.Tensor) -> te.Tensor:
    """x of A x = right, by what `factors` gives of A; right and x are (batch, n, m)."""
    batch, n, m = right.shape

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        (known, chosen, given), x = ins, outs[0]

        def system(b: PrimExpr) -> tir.Stmt:
            def swap(k: PrimExpr) -> tir.Stmt:
                return loop(m, lambda j: let(load(x, b, k, j), lambda own: let(
                    load(x, b, load(chosen, b, k), j), lambda other: sequence(
                        store(x, other, b, k, j), store(x, own, b, load(chosen, b, k), j)
                    ), "other"), "own"), "j")  # fmt: skip

            return sequence(
                _every(n, m, lambda i, j: store(x, load(given, b, i, j), b, i, j)),
                loop(n, swap, "k"),
                _substitute(known, x, b, n, m, upper=False, unit=True),
                _substitute(known, x, b, n, m, upper=True, unit=False),
            )

        return parallel(batch, system, "b")

    return _one(run, [lu, rows, right], list(right.shape), "solutions")


def order(rows: te.Tensor, m: PrimExpr) -> te.Tensor:
    """Which row of A each row of L U is, by the rows that `factors` chose: int64 (batch, m)."""
    batch, steps = rows.shape

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        chosen, place = ins[0], outs[0]

        def swap(b: PrimExpr, k: PrimExpr) -> tir.Stmt:
            return let(load(place, b, k), lambda own: let(
                load(place, b, load(chosen, b, k)), lambda other: sequence(
                    store(place, other, b, k), store(place, own, b, load(chosen, b, k))
                ), "other"), "own")  # fmt: skip

        return parallel(batch, lambda b: sequence(
            loop(m, lambda i: store(place, i.astype("int64"), b, i), "i"),
            loop(steps, lambda k: swap(b, k), "k"),
        ), "b")  # fmt: skip

    return _one(run, [rows], [batch, m], "order")


def triangular_solutions(a: te.Tensor, right: te.Tensor, *, upper: bool, unit: bool) -> te.Tensor:
    """x of T x = right; T is a triangle of a, with ones on the diagonal if `unit`."""
    batch, n, m = right.shape

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        (known, given), x = ins, outs[0]
        return parallel(batch, lambda b: sequence(
            _every(n, m, lambda i, j: store(x, load(given, b, i, j), b, i, j)),
            _substitute(known, x, b, n, m, upper=upper, unit=unit),
        ), "b")  # fmt: skip

    return _one(run, [a, right], list(right.shape), "triangular_solutions")


def _substitute(
    a: tir.Buffer, x: tir.Buffer, b: PrimExpr, n: PrimExpr, m: PrimExpr, *, upper: bool, unit: bool
) -> tir.Stmt:
    """Row after row of x, from the one that depends on no other."""

    def row(step: PrimExpr) -> tir.Stmt:
        own = n - 1 - step if upper else step

        def known(other: PrimExpr) -> tir.Stmt:
            at = n - 1 - other if upper else other
            return loop(m, lambda j: store(
                x, load(x, b, own, j) - load(a, b, own, at) * load(x, b, at, j), b, own, j
            ), "j")  # fmt: skip

        divided = loop(m, lambda j: store(
            x, load(x, b, own, j) / load(a, b, own, own), b, own, j), "j")  # fmt: skip
        return sequence(loop(step, known, "other"), None if unit else divided)

    return loop(n, row, "step")


def cholesky(a: te.Tensor) -> te.Tensor:
    """L, lower triangular, of A = L L^T; of A only the lower triangle is read."""
    batch, n, _ = a.shape

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        given, low = ins[0], outs[0]

        def matrix(b: PrimExpr) -> tir.Stmt:
            def row(i: PrimExpr) -> tir.Stmt:
                def element(j: PrimExpr) -> tir.Stmt:
                    def product(k: PrimExpr) -> tir.Stmt:
                        rest = load(low, b, i, j) - load(low, b, i, k) * load(low, b, j, k)
                        return store(low, rest, b, i, j)

                    last = when(
                        tir.EQ(i, j),
                        store(low, tir.sqrt(load(low, b, i, i)), b, i, i),
                        store(low, load(low, b, i, j) / load(low, b, j, j), b, i, j),
                    )
                    return sequence(
                        store(low, load(given, b, i, j), b, i, j), loop(j, product, "k"), last
                    )

                zeros = loop(n - 1 - i, lambda j: store(low, 0.0, b, i, i + 1 + j), "z")
                return sequence(loop(i + 1, element, "j"), zeros)

            return loop(n, row, "i")

        return parallel(batch, matrix, "b")

    return _one(run, [a], list(a.shape), "cholesky")


def _every(rows: PrimExpr, columns: PrimExpr, body: Statement) -> tir.Stmt:
    return loop(rows, lambda i: loop(columns, lambda j: body(i, j), "j"), "i")


def _one(run: Any, inputs: list[te.Tensor], shape: list[PrimExpr], name: str) -> te.Tensor:
    kind = inputs[-1].dtype
    made: te.Tensor = te.extern(
        [shape], inputs, run, dtype=[kind], out_buffers=[tir.decl_buffer(shape, kind, "x")],
        name=name, tag=name,
    )  # fmt: skip
    return made


# --- of tensors in a graph ---


def flat(bb: BlockBuilder, x: RelaxExpr) -> RelaxExpr:
    """(batch, rows, columns) of (..., rows, columns)."""
    known = extents_of(x)
    assert known is not None, "asked of matrices of known rank"
    batch = math.prod(known[1:-2], start=known[0]) if len(known) > 2 else 1
    return bb.emit(op.reshape(x, [batch, *known[-2:]]))


def factored(bb: BlockBuilder, a: RelaxExpr) -> tuple[RelaxExpr, RelaxExpr, RelaxExpr]:
    """What `factors` gives of (batch, m, n)."""
    made = bb.emit_te(factors, a, primfunc_name_hint="factors")
    lu, rows, sign = (bb.emit(TupleGetItem(made, i)) for i in range(3))
    return lu, rows, sign


def diagonal(bb: BlockBuilder, lu: RelaxExpr) -> RelaxExpr:
    """(batch, min(m, n)) of (batch, m, n)."""

    def compute(x: te.Tensor) -> te.Tensor:
        batch, m, n = x.shape
        shape = (batch, _shorter(m, n))
        made: te.Tensor = te.compute(shape, lambda b, i: x(b, i, i), name="diagonal")
        return made

    return bb.emit_te(compute, lu, primfunc_name_hint="diagonal")


def first_wrong(
    bb: BlockBuilder, heads: RelaxExpr, is_wrong: Callable[[PrimExpr], PrimExpr]
) -> RelaxExpr:
    """int32 (batch,): which of (batch, n) is the first that is wrong, counted from 1; 0 for none.

    As `info` of LAPACK's factorizations.
    """

    def compute(x: te.Tensor) -> te.Tensor:
        batch, n = x.shape
        k = te.reduce_axis((0, n), "k")
        none = tir.const(2**31 - 1, "int32")
        found = te.compute(
            (batch,),
            lambda b: te.min(tir.Select(is_wrong(x(b, k)), k.astype("int32") + 1, none), axis=k),
            name="first",
        )
        made: te.Tensor = te.compute(
            (batch,), lambda b: tir.Select(found[b] == none, tir.const(0, "int32"), found[b]),
            name="info",
        )  # fmt: skip
        return made

    return bb.emit_te(compute, heads, primfunc_name_hint="info")


def determinant(bb: BlockBuilder, a: RelaxExpr) -> RelaxExpr:
    """(batch,) of (batch, n, n)."""
    lu, _, sign = factored(bb, a)
    return bb.emit(op.multiply(sign, bb.emit(op.prod(diagonal(bb, lu), 1))))


def inverse(bb: BlockBuilder, a: RelaxExpr) -> RelaxExpr:
    """(batch, n, n), the inverse of each."""
    lu, rows, _ = factored(bb, a)
    right = unit_matrices(bb, a)
    return bb.emit_te(solutions, lu, rows, right, primfunc_name_hint="solutions")


def unit_matrices(bb: BlockBuilder, like: RelaxExpr) -> RelaxExpr:
    """Ones on the diagonals, zeros elsewhere, in the shape of (batch, n, n)."""

    def unit(x: te.Tensor) -> te.Tensor:
        one, zero = tir.const(1, x.dtype), tir.const(0, x.dtype)
        made: te.Tensor = te.compute(
            x.shape, lambda b, i, j: tir.Select(tir.EQ(i, j), one, zero), name="unit"
        )
        return made

    return bb.emit_te(unit, like, primfunc_name_hint="unit")
