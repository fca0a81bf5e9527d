"""Recurrent layers whose number of steps only running tells: one kernel goes through all of them.

The products with the inputs are made before, as for known steps. Few rows of the batch go
together, and make use of each weight that is read; those left over go one by one:

    for t in steps:
        gates = own_bias + h @ R                    columns in lanes, sums in registers
        h, c = formula(inputs[t] + gates, h, c)

Where the state is quantised anew for each step (`rounded`), its bytes are multiplied by those of
the weights, which lie in words of four inputs for 16 columns:

        q, scale, zero = quantised(h)
        gates = own_bias + scale * weight_scale * (q @ R - points * sum(q) - zero * column_sums)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from tvm import te, tir
from tvm.ir.expr import PrimExpr
from tvm.tir.op.arith import is_zero
from tvm.topi.loops import load, loop, parallel, sequence, store, when

from .lanes import blocks, lanes
from .recurrent_bytes import product_of_bytes, rounded

Activation = Callable[[Any], Any]
Source = Callable[[Any, Any], Any]  # of an element of a row: a product's left operand
# rows of the batch that share what is read of the weights
BATCH_TILE = 4


@dataclass(frozen=True)
class Recipe:
    """What a kernel computes: the layer's kind, its functions, and variants."""

    kind: str  # RNN, GRU, LSTM
    activations: Sequence[Activation]
    hidden: int
    backward: bool
    before_reset: bool = False
    coupled: bool = False
    has_lengths: bool = False
    has_peepholes: bool = False
    rounded: bool = False  # the state is quantised anew for each step's products

    @property
    def gates(self) -> int:
        """How many gates a step has."""
        return {"RNN": 1, "GRU": 3, "LSTM": 4}[self.kind]


def through_steps(recipe: Recipe, *inputs: te.Tensor) -> list[te.Tensor]:
    """All hidden states (steps, batch, hidden), the last one, the last cell.

    Inputs: products (steps, batch, gates * hidden), weights (hidden, gates * hidden), biases, the
    first hidden state and cell; then lengths and peepholes, if there are. Where the state is
    rounded, weights are those of `in_words`, and their scales (float32), zero points and sums
    without these (int32) of all columns come last.
    """
    dtype, (steps, batch, columns) = str(inputs[0].dtype), inputs[0].shape
    hidden = recipe.hidden
    shapes: list[tuple[Any, ...]] = [
        (steps, batch, hidden), (batch, hidden), (batch, hidden), (batch, columns)
    ]  # fmt: skip
    dtypes = [dtype] * len(shapes)
    if recipe.rounded:
        words = -(-hidden // 4)
        shapes += [(batch, words), (batch,), (2,)]  # words, their sums; scale and zero point
        dtypes += ["int32", "int32", dtype]

    def body(ins: Any, outs: Any) -> tir.Stmt:
        return _kernel(recipe, list(ins), list(outs), steps, batch)

    result: Any = te.extern(
        shapes, list(inputs), body, dtype=dtypes, name=recipe.kind.lower(), tag="recurrent"
    )
    return [result[0], result[1], result[2]]


def _kernel(recipe: Recipe, ins: list[Any], outs: list[Any], steps: Any, batch: Any) -> tir.Stmt:
    products, weights, bias, first, first_cell = ins[:5]
    lengths = ins[5] if recipe.has_lengths else None
    peepholes = ins[5 + recipe.has_lengths] if recipe.has_peepholes else None
    shown, state, cell, gates = outs[:4]
    hidden, count = recipe.hidden, recipe.gates * recipe.hidden

    def product(rows: Sequence[Any], low: int, high: int, source: Source) -> tir.Stmt:
        if recipe.rounded:
            return product_of_bytes(gates, weights, bias, rows, ins[-3:], outs[4:], count)
        return _product(gates, weights, bias, rows, low, high, hidden, source)

    def start(b: PrimExpr) -> tir.Stmt:
        def keep(j: PrimExpr) -> tir.Stmt:
            return sequence(
                store(state, load(first, b, j), b, j), store(cell, load(first_cell, b, j), b, j)
            )

        zeros = lanes(count, lambda j: store(gates, tir.const(0, gates.dtype), b, j))
        return sequence(lanes(hidden, keep), zeros)

    def step_of(first_row: PrimExpr, many: int) -> Callable[[PrimExpr], tir.Stmt]:
        def step(number: PrimExpr) -> tir.Stmt:
            t = steps - 1 - number if recipe.backward else number

            def shown_of(b: PrimExpr, done: tir.Stmt) -> tir.Stmt:
                if lengths is None:
                    return done
                zero = tir.const(0, shown.dtype)
                nothing = lanes(hidden, lambda j: store(shown, zero, t, b, j))
                inside = load(lengths, b).astype("int64") > t.astype("int64")
                return when(inside, done, nothing)

            return _step(recipe, first_row, many, t, products, product, outs, peepholes, shown_of)

        return step

    def all_rows(rows: Callable[[PrimExpr, int], tir.Stmt]) -> tir.Stmt:
        tiles = tir.floordiv(batch, tir.const(BATCH_TILE, "int64"))
        left = batch - tiles * BATCH_TILE
        parts = (
            (tiles, lambda b: rows(b * BATCH_TILE, BATCH_TILE), "tile"),
            (left, lambda b: rows(b + tiles * BATCH_TILE, 1), "b"),
        )
        # a device has no grid of no blocks
        return sequence(*(parallel(*part) for part in parts if not is_zero(part[0])))

    def starts(first_row: PrimExpr, many: int) -> tir.Stmt:
        return sequence(*(start(first_row + i) for i in range(many)))

    if recipe.rounded:  # a step of all rows before the next of any: they share one scale
        def together(t: PrimExpr) -> tir.Stmt:
            round_all = rounded(state, outs[4], outs[5], outs[6], batch, hidden)
            return sequence(round_all, all_rows(lambda row, many: step_of(row, many)(t)))

        return sequence(all_rows(starts), loop(steps, together, "t"))
    return all_rows(
        lambda row, many: sequence(starts(row, many), loop(steps, step_of(row, many), "t"))
    )


def _step(
    recipe: Recipe, row: Any, many: int, t: Any, products: Any,
    product: Callable[[Sequence[Any], int, int, Source], tir.Stmt], outs: Any, peepholes: Any,
    shown_of: Callable[[Any, tir.Stmt], tir.Stmt],
) -> tir.Stmt:  # fmt: skip
    """One step of `many` rows of the batch from `row` on."""
    gates, state = outs[3], outs[1]
    hidden = recipe.hidden
    rows = [row + i for i in range(many)]

    def of_state(b: Any, k: Any) -> PrimExpr:
        return load(state, b, k)

    def formulas() -> tir.Stmt:
        return sequence(*(
            shown_of(b, _formula(recipe, b, t, products, outs, peepholes)) for b in rows
        ))  # fmt: skip

    if recipe.kind == "GRU" and recipe.before_reset:
        # the state that was reset stands where its gate stood
        def reset(b: Any) -> tir.Stmt:
            def one(j: PrimExpr) -> tir.Stmt:
                gate = load(products, t, b, j + hidden) + load(gates, b, j + hidden)
                r = recipe.activations[0](gate)
                return store(gates, r * load(state, b, j), b, j + hidden)

            return lanes(hidden, one)

        return sequence(
            product(rows, 0, 2 * hidden, of_state),
            *(reset(b) for b in rows),
            product(rows, 2 * hidden, 3 * hidden, lambda b, k: load(gates, b, k + hidden)),
            formulas(),
        )
    return sequence(product(rows, 0, recipe.gates * hidden, of_state), formulas())


def _formula(
    recipe: Recipe, b: Any, t: Any, products: Any, outs: Any, peepholes: Any
) -> tir.Stmt:
    """The new state of a row, from its gates."""
    shown, state, cell, gates = outs[:4]
    hidden, f = recipe.hidden, recipe.activations

    def x(gate: int, j: Any) -> PrimExpr:
        return load(products, t, b, j + gate * hidden)

    def own(gate: int, j: Any) -> PrimExpr:
        return load(gates, b, j + gate * hidden)

    def keep(new: Any, j: Any) -> tir.Stmt:
        return sequence(store(state, new, b, j), store(shown, load(state, b, j), t, b, j))

    def plain(j: PrimExpr) -> tir.Stmt:
        return keep(f[0](x(0, j) + own(0, j)), j)

    def gru(j: PrimExpr) -> tir.Stmt:
        one = tir.const(1, state.dtype)
        z = f[0](x(0, j) + own(0, j))
        if recipe.before_reset:  # the third gate's product is of the state that was reset
            inner = own(2, j)
        else:
            inner = f[0](x(1, j) + own(1, j)) * own(2, j)
        new = f[1](x(2, j) + inner)
        return keep((one - z) * new + z * load(state, b, j), j)

    def lstm(j: PrimExpr) -> tir.Stmt:
        one = tir.const(1, state.dtype)

        def seen(gate: int, place: int, c: Any) -> PrimExpr:
            value: PrimExpr = x(gate, j) + own(gate, j)
            if peepholes is None:
                return value
            weight: PrimExpr = load(peepholes, j + place * hidden) * c
            return value + weight

        before = load(cell, b, j)
        i = f[0](seen(0, 0, before))
        forget = one - i if recipe.coupled else f[0](seen(2, 2, before))
        fresh = f[1](x(3, j) + own(3, j))
        update = store(cell, forget * before + i * fresh, b, j)
        after = load(cell, b, j)
        return sequence(update, keep(f[0](seen(1, 1, after)) * f[2](after), j))

    formula = {"RNN": plain, "GRU": gru, "LSTM": lstm}[recipe.kind]
    return lanes(hidden, formula)


def _product(
    gates: Any, weights: Any, bias: Any, rows: Sequence[Any], low: int, high: int, hidden: int,
    source: Source,
) -> tir.Stmt:  # fmt: skip
    """Columns `low` to `high` of bias + source @ weights, for some rows, some columns at a time."""
    # as many sums as hide how long one takes: several rows, or several vectors of one

    def columns(lane: Callable[[Callable[[PrimExpr], tir.Stmt]], tir.Stmt]) -> tir.Stmt:
        def add(k: PrimExpr) -> tir.Stmt:
            return sequence(*(
                lane(lambda j, b=b: store(  # type: ignore[misc]
                    gates, load(gates, b, j + low) + source(b, k) * load(weights, k, j + low),
                    b, j + low,
                )) for b in rows
            ))  # fmt: skip

        first = [
            lane(lambda j, b=b: store(gates, load(bias, j + low), b, j + low))  # type: ignore[misc]
            for b in rows
        ]
        return sequence(*first, loop(tir.const(hidden, "int64"), add, "k"))

    return blocks(high - low, columns, 64 if len(rows) == 1 else 16)


def activation(
    name: str, alpha: float | None, beta: float | None, clip: float | None
) -> Activation | None:
    """A function of ONNX by its name in small letters; None if there is none."""

    def number(value: float, x: Any) -> PrimExpr:
        return tir.const(value, x.dtype)

    def or_else(value: float | None, default: float) -> float:
        return default if value is None else value

    table: dict[str, Activation] = {
        "sigmoid": tir.sigmoid,
        "tanh": tir.tanh,
        "relu": lambda x: tir.max(x, number(0, x)),
        "affine": lambda x: x * number(alpha or 1.0, x) + number(beta or 0.0, x),
        "leakyrelu": lambda x: tir.Select(
            x < number(0, x), x * number(or_else(alpha, 0.01), x), x
        ),
        "scaledtanh": lambda x: number(or_else(alpha, 1.0), x)
        * tir.tanh(x * number(or_else(beta, 1.0), x)),
        "hardsigmoid": lambda x: tir.max(tir.min(
            x * number(or_else(alpha, 0.2), x) + number(or_else(beta, 0.5), x), number(1, x)
        ), number(0, x)),
        "softsign": lambda x: x / (number(1, x) + tir.abs(x)),
        "softplus": lambda x: tir.log(number(1, x) + tir.exp(x)),
    }  # fmt: skip
    found = table.get(name)
    if found is None or clip is None:
        return found
    limit = float(clip)
    return lambda x: found(tir.max(tir.min(x, number(limit, x)), number(-limit, x)))
