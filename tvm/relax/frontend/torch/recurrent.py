"""Recurrent layers, written out step by step; products with inputs are one for all steps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from tvm.relax import op
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import TupleGetItem

from .registry import convert
from .values import Expr, dtype_of, rank, refuse, sizes

# (gates of the inputs, state before, recurrent weights and bias) -> state after
Cell: TypeAlias = "Callable[[BlockBuilder, Expr, list[Expr], Expr, Any], list[Expr]]"


def _parts(bb: BlockBuilder, gates: Expr, count: int) -> list[Expr]:
    pieces = bb.emit(op.split(gates, count, -1))
    return [bb.emit(TupleGetItem(pieces, i)) for i in range(count)]


def lstm_cell_step(
    bb: BlockBuilder, x: Expr, state: list[Expr], weight: Expr, bias: Any
) -> list[Expr]:
    """Gates: input, forget, cell, output."""
    h, c = state
    gates = bb.emit(op.add(x, bb.emit(op.linear(h, weight, bias))))
    i, f, g, o = _parts(bb, gates, 4)
    kept = op.multiply(op.sigmoid(f), c)
    cell = bb.emit(op.add(kept, op.multiply(op.sigmoid(i), op.tanh(g))))
    return [bb.emit(op.multiply(op.sigmoid(o), op.tanh(cell))), cell]


def gru_cell_step(
    bb: BlockBuilder, x: Expr, state: list[Expr], weight: Expr, bias: Any
) -> list[Expr]:
    """Gates: reset, update, new; the reset gate is on the product with its bias."""
    (h,) = state
    xr, xz, xn = _parts(bb, x, 3)
    hr, hz, hn = _parts(bb, bb.emit(op.linear(h, weight, bias)), 3)
    reset = op.sigmoid(op.add(xr, hr))
    update = bb.emit(op.sigmoid(op.add(xz, hz)))
    new = bb.emit(op.tanh(op.add(xn, op.multiply(reset, hn))))
    return [bb.emit(op.add(new, op.multiply(update, op.subtract(h, new))))]


def _rnn_step(activation: Callable[[Expr], Expr]) -> Cell:
    def step(
        bb: BlockBuilder, x: Expr, state: list[Expr], weight: Expr, bias: Any
    ) -> list[Expr]:
        (h,) = state
        return [bb.emit(activation(op.add(x, bb.emit(op.linear(h, weight, bias)))))]

    return step


RNN_STEPS: Final[dict[str, Cell]] = {"tanh": _rnn_step(op.tanh), "relu": _rnn_step(op.nn.relu)}


def _direction(
    bb: BlockBuilder, cell: Cell, x: Expr, state: list[Expr], weights: Sequence[Any],
    projection: Any, backward: bool,
) -> tuple[Expr, list[Expr]]:  # fmt: skip
    """(steps, batch, in) to (steps, batch, hidden), and the last state."""
    w_in, w_state, b_in, b_state = weights
    gates = bb.emit(op.linear(x, w_in, b_in))
    steps = sizes(x)[0]
    if not isinstance(steps, int):
        raise refuse("a recurrent layer", f"a sequence of {steps} steps", "a number of steps")
    outputs: list[Any] = [None] * steps
    for number in range(steps):
        at = steps - 1 - number if backward else number
        now = bb.emit(op.squeeze(op.strided_slice(gates, [0], [at], [at + 1]), [0]))
        state = cell(bb, now, state, w_state, b_state)
        if projection is not None:
            state = [bb.emit(op.linear(state[0], projection)), *state[1:]]
        outputs[at] = state[0]
    return bb.emit(op.stack(tuple(outputs), 0)), state


def run_layers(
    bb: BlockBuilder,
    cell: Cell,
    input: Expr,
    states: Sequence[Expr],
    params: Sequence[Expr],
    has_biases: bool,
    num_layers: int,
    bidirectional: bool,
    batch_first: bool,
    projected: bool = False,
) -> tuple[Any, ...]:
    """All layers and directions: the outputs of the last layer, and the last state of each."""
    x = input
    batched = rank(x) == 3
    if not batched:
        x = bb.emit(op.expand_dims(x, 1))
        states = [bb.emit(op.expand_dims(s, 1)) for s in states]
    elif batch_first:
        x = bb.emit(op.permute_dims(x, [1, 0, 2]))
    directions = 2 if bidirectional else 1
    width = 2 + 2 * has_biases + projected
    last: list[list[Expr]] = []
    for layer in range(num_layers):
        outputs = []
        for way in range(directions):
            number = layer * directions + way
            given = list(params[number * width : (number + 1) * width])
            projection = given.pop() if projected else None
            weights = given if has_biases else [*given, None, None]
            state = [_row(bb, s, number) for s in states]
            made, after = _direction(bb, cell, x, state, weights, projection, way == 1)
            outputs.append(made)
            last.append(after)
        x = outputs[0] if directions == 1 else bb.emit(op.concat(tuple(outputs), -1))
    ends = [bb.emit(op.stack(tuple(row[i] for row in last), 0)) for i in range(len(states))]
    if not batched:
        return tuple(bb.emit(op.squeeze(v, [1])) for v in (x, *ends))
    return (bb.emit(op.permute_dims(x, [1, 0, 2])) if batch_first else x, *ends)


def _row(bb: BlockBuilder, x: Expr, number: int) -> Expr:
    return bb.emit(op.squeeze(op.strided_slice(x, [0], [number], [number + 1]), [0]))


def _check(name: str, train: bool, dropout: float) -> None:
    if train and dropout:
        raise refuse(f"{name}: dropout", f"{dropout} in training", "a model in evaluation mode")


@convert("lstm")
def lstm(
    bb: BlockBuilder, input: Expr, hx: Sequence[Expr], params: Any, has_biases: bool,
    num_layers: int, dropout: float, train: bool, bidirectional: bool, batch_first: Any = False,
) -> Any:  # fmt: skip
    """The outputs, the last hidden states, the last cells."""
    _refuse_packed("lstm", params)
    _check("lstm", train, dropout)
    cells = num_layers * (2 if bidirectional else 1)
    projected = len(params) == cells * (3 + 2 * has_biases)
    return run_layers(
        bb, lstm_cell_step, input, list(hx), params, has_biases, num_layers, bidirectional,
        batch_first, projected,
    )  # fmt: skip


def _refuse_packed(name: str, params: Any) -> None:
    """The overload of packed sequences has the list of states in the parameters' place."""
    if not isinstance(params, (list, tuple)):
        raise refuse(name, "a packed sequence", "a padded sequence")


def _one_state(name: str, cell: Cell) -> Callable[..., Any]:
    def apply(
        bb: BlockBuilder, input: Expr, hx: Expr, params: Any, has_biases: bool, num_layers: int,
        dropout: float, train: bool, bidirectional: bool, batch_first: Any = False,
    ) -> Any:  # fmt: skip
        _refuse_packed(name, params)
        _check(name, train, dropout)
        return run_layers(
            bb, cell, input, [hx], params, has_biases, num_layers, bidirectional, batch_first
        )

    return apply


convert("gru")(_one_state("gru", gru_cell_step))
convert("rnn_tanh")(_one_state("rnn_tanh", RNN_STEPS["tanh"]))
convert("rnn_relu")(_one_state("rnn_relu", RNN_STEPS["relu"]))


@convert("lstm_cell")
def lstm_cell(
    bb: BlockBuilder, input: Expr, hx: Sequence[Expr], w_ih: Expr, w_hh: Expr, b_ih: Any = None,
    b_hh: Any = None,
) -> Any:  # fmt: skip
    x = bb.emit(op.linear(input, w_ih, b_ih))
    return tuple(lstm_cell_step(bb, x, list(hx), w_hh, b_hh))


def _one_cell(cell: Cell) -> Callable[..., Expr]:
    def apply(
        bb: BlockBuilder, input: Expr, hx: Expr, w_ih: Expr, w_hh: Expr, b_ih: Any = None,
        b_hh: Any = None,
    ) -> Expr:  # fmt: skip
        x = bb.emit(op.linear(input, w_ih, b_ih))
        return cell(bb, x, [hx], w_hh, b_hh)[0]

    return apply


convert("gru_cell")(_one_cell(gru_cell_step))
convert("rnn_tanh_cell")(_one_cell(RNN_STEPS["tanh"]))
convert("rnn_relu_cell")(_one_cell(RNN_STEPS["relu"]))


def zero_states(bb: BlockBuilder, x: Expr, count: int, width: int, batch_first: bool) -> Expr:
    """The states that a layer starts with when it is given none."""
    shape = [count, width]
    if rank(x) == 3:
        shape.insert(1, sizes(x)[0 if batch_first else 1])  # type: ignore[arg-type]
    return bb.emit(op.zeros(shape, dtype_of(x)))
