"""Probabilities of classes from those of pairs (Wu, Lin and Weng 2004, their second method).

The classes' probabilities p minimise the sum over pairs of (r[j, i] p[i] - r[i, j] p[j])^2. One p
after the other is moved to its best value, until all agree to 0.005 / classes, 100 times at most.
That stop is part of the answer: runtimes give what they have there.
"""

from __future__ import annotations

from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.topi.loops import let, load, local, loop, parallel, repeat_while, sequence, store, when

F32 = "float32"


def coupled(pairs: te.Tensor) -> Any:
    """(rows, classes) of (rows, classes, classes): r[i, j] is that of i if it is i or j."""
    rows, count = pairs.shape[0], int(pairs.shape[1])  # type: ignore[call-overload]

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        return parallel(rows, lambda row: _row(ins[0], outs[0], row, count))

    out = tir.decl_buffer((rows, count), F32, "p")
    return te.extern(
        [(rows, count)], [pairs], run, dtype=[F32], out_buffers=[out], name="coupled",
        tag="coupled",
    )  # fmt: skip


def _row(r: tir.Buffer, p: tir.Buffer, row: PrimExpr, count: int) -> tir.Stmt:
    """One row; `q` is the matrix of the sum of squares, `qp` its product with p."""

    def body(q: tir.Buffer, qp: tir.Buffer, state: tir.Buffer) -> tir.Stmt:
        total, wrong, turn = 0, 1, 2  # p q p, the largest error, how many turns there were

        def entry(i: PrimExpr) -> tir.Stmt:
            def squares(j: PrimExpr) -> tir.Stmt:
                term = load(r, row, j, i) * load(r, row, j, i)
                own = load(q, i * count + i) + tir.Select(tir.EQ(i, j), _number(0), term)
                return store(q, own, i * count + i)

            def others(j: PrimExpr) -> tir.Stmt:
                product = -(load(r, row, j, i) * load(r, row, i, j))
                return when(tir.NE(i, j), store(q, product, i * count + j))

            return sequence(
                store(q, 0.0, i * count + i), loop(count, squares, "j"), loop(count, others, "k"),
                store(p, 1.0 / count, row, i),
            )  # fmt: skip

        def measure() -> tir.Stmt:
            """q p and p q p, and how far the former's elements are from the latter."""

            def product(i: PrimExpr) -> tir.Stmt:
                def add(j: PrimExpr) -> tir.Stmt:
                    return store(qp, load(qp, i) + load(q, i * count + j) * load(p, row, j), i)

                more = load(state, total) + load(p, row, i) * load(qp, i)
                return sequence(
                    store(qp, 0.0, i), loop(count, add, "j"), store(state, more, total)
                )

            def error(i: PrimExpr) -> tir.Stmt:
                gap = tir.abs(load(qp, i) - load(state, total))
                return store(state, tir.max(load(state, wrong), gap), wrong)

            return sequence(
                store(state, 0.0, total), loop(count, product, "i"), store(state, 0.0, wrong),
                loop(count, error, "i"),
            )  # fmt: skip

        def move(i: PrimExpr) -> tir.Stmt:
            """p[i] to its best value, and all p back to a sum of one."""
            own = load(q, i * count + i)

            def apply(step: PrimExpr) -> tir.Stmt:
                def rest(j: PrimExpr) -> tir.Stmt:
                    return sequence(
                        store(qp, (load(qp, j) + step * load(q, i * count + j)) / (step + 1.0), j),
                        store(p, load(p, row, j) / (step + 1.0), row, j),
                    )

                grown = load(state, total) + step * (step * own + load(qp, i) * 2.0)
                return sequence(
                    store(p, load(p, row, i) + step, row, i),
                    store(state, grown / (step + 1.0) / (step + 1.0), total),
                    loop(count, rest, "j"),
                )

            return let((load(state, total) - load(qp, i)) / own, apply, "step")

        most, enough = float(max(100, count)), 0.005 / count
        turned = store(state, load(state, turn) + 1.0, turn)
        goes_on = tir.all(load(state, wrong) >= _number(enough), load(state, turn) < _number(most))
        return sequence(
            loop(count, entry, "i"), store(state, 0.0, turn), measure(),
            repeat_while(goes_on, sequence(loop(count, move, "i"), turned, measure())),
        )  # fmt: skip

    def with_product(q: tir.Buffer) -> tir.Stmt:
        return local(F32, lambda qp: local(F32, lambda s: body(q, qp, s), 3, "state"), count, "qp")

    return local(F32, with_product, count * count, "q")


def _number(value: float) -> PrimExpr:
    return tir.const(value, F32)
