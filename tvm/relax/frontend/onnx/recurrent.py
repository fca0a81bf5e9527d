"""Recurrent layers (RNN, GRU, LSTM), written out step by step where few are known.

Inputs: sequences (steps, batch, in), or (batch, steps, in) with `layout` 1; weights (directions,
gates * hidden, in), recurrent ones (directions, gates * hidden, hidden), biases (directions, 2 *
gates * hidden). The products with the inputs are one for all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tvm import te
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant, PrimValue, TupleGetItem
from tvm.tir.expr import IntImm

from .node import Node
from .quantized import dynamically_quantised
from .recurrent_bytes import in_words
from .recurrent_steps import Recipe, activation, through_steps
from .registry import Result, convert

State: TypeAlias = "list[RelaxExpr]"
# More steps than this are a loop: written out, they are as many nodes for the whole compiler.
MAX_WRITTEN_OUT = 512
# gates of a step from the inputs' products and the state, to a new state
Step: TypeAlias = "Callable[[RelaxExpr, State], State]"


_HAVE_ALPHA = ("affine", "leakyrelu", "scaledtanh", "hardsigmoid")
_HAVE_BETA = ("affine", "scaledtanh", "hardsigmoid")


def activations_of(node: Node, defaults: Sequence[str], direction: int) -> dict[str, Any]:
    """The attributes that tell the functions of one direction, as they are told for one.

    Those that have a number take the next of its list.
    """
    count = len(defaults)
    names = [str(name) for name in node.attr("activations", [])]
    names = names or [*defaults] * (direction + 1)
    found: dict[str, Any] = {"activations": names[direction * count : (direction + 1) * count]}
    for attribute, having in (("activation_alpha", _HAVE_ALPHA), ("activation_beta", _HAVE_BETA)):
        numbers = node.attr(attribute, [])
        taken = [sum(name.lower() in having for name in names[: way * count])
                 for way in (direction, direction + 1)]  # fmt: skip
        if numbers[taken[0] : taken[1]]:
            found[attribute] = numbers[taken[0] : taken[1]]
    return found


def _activations(
    node: Node, defaults: Sequence[str], direction: int, make: Callable[..., Any] | None = None
) -> list[Any]:
    """The functions of one direction."""
    make = make or _activation
    told = activations_of(node, defaults, direction)
    names = [name.lower() for name in told["activations"]]
    alphas = iter(told.get("activation_alpha", []))
    betas = iter(told.get("activation_beta", []))
    return [
        make(
            node, name,
            next(alphas, None) if name in _HAVE_ALPHA else None,
            next(betas, None) if name in _HAVE_BETA else None,
            # as ONNX Runtime has it, the cell is not clipped where it is shown
            None if len(defaults) == 3 and i == 2 else node.attr("clip"),
        )
        for i, name in enumerate(names)
    ]  # fmt: skip


def _activation(
    node: Node, name: str, alpha: float | None, beta: float | None, clip: float | None
) -> Any:
    def number(value: float) -> Constant:
        return Constant(np.asarray(value, node.dtype(0)))

    def affine(x: RelaxExpr, a: float, b: float) -> RelaxExpr:
        return op.add(op.multiply(x, number(a)), number(b))

    table: dict[str, Callable[[RelaxExpr], RelaxExpr]] = {
        "sigmoid": op.sigmoid,
        "tanh": op.tanh,
        "relu": op.nn.relu,
        "affine": lambda x: affine(x, alpha or 1.0, beta or 0.0),
        "leakyrelu": lambda x: op.nn.leakyrelu(x, 0.01 if alpha is None else alpha),
        "scaledtanh": lambda x: op.multiply(
            number(1.0 if alpha is None else alpha),
            op.tanh(op.multiply(number(1.0 if beta is None else beta), x)),
        ),
        "hardsigmoid": lambda x: op.clip(
            affine(x, 0.2 if alpha is None else alpha, 0.5 if beta is None else beta),
            PrimValue(0.0), PrimValue(1.0),
        ),
        "softsign": lambda x: op.divide(x, op.add(number(1.0), op.abs(x))),
        "softplus": op.nn.softplus,
    }  # fmt: skip
    found = table.get(name)
    if found is None:
        raise node.invalid("activations", name, ", ".join(table))
    if clip is None:
        return found
    limit = float(clip)
    return lambda x: found(op.clip(x, -limit, limit))


def _kernel_activation(
    node: Node, name: str, alpha: float | None, beta: float | None, clip: float | None
) -> Any:
    """The same functions on the elements of a kernel."""
    found = activation(name, alpha, beta, clip)
    if found is None:
        _activation(node, name, alpha, beta, clip)  # says what is legal
    return found


class _Layer:
    """One recurrent layer: what its directions share."""

    def __init__(self, node: Node, gates: int, states: int) -> None:
        self.node, self.bb, self.gates, self.states = node, node.bb, gates, states
        self.kind = {1: "RNN", 3: "GRU", 4: "LSTM"}[gates]
        self.hidden = int(node.attr("hidden_size"))
        way = node.attr("direction", "forward")
        if way not in ("forward", "reverse", "bidirectional"):
            raise node.invalid("direction", way, "forward, reverse, bidirectional")
        self.ways = ["forward", "reverse"] if way == "bidirectional" else [way]
        self.swapped = bool(node.attr("layout", 0))
        x = node[0]
        if self.swapped:
            x = self.bb.emit(op.permute_dims(x, [1, 0, 2]))
        self.x = x
        steps = x.struct_info.shape.values[0]  # type: ignore[attr-defined]
        self.steps = steps.value if isinstance(steps, IntImm) else 0
        # a loop: only running tells how many, or there are many
        self.is_open = not 0 < self.steps <= MAX_WRITTEN_OUT
        self.batch = x.struct_info.shape.values[1]  # type: ignore[attr-defined]

    def part(self, i: int, way: int) -> RelaxExpr | None:
        """The part of an input for one direction, without the axis of directions."""
        value = self.node.optional(i)
        if value is None:
            return None
        if isinstance(value, Constant):
            return Constant(np.ascontiguousarray(value.data.numpy()[way]))
        axis = 1 if self.swapped and i in (5, 6) else 0  # states
        index = Constant(np.asarray(way, np.int64))
        return self.bb.emit(op.take(value, index, axis))

    def matrix(self, i: int, way: int) -> RelaxExpr:
        """A weight, turned round for products from the left."""
        weight = self.part(i, way)
        assert weight is not None, "weights are required inputs"
        if isinstance(weight, Constant):
            return Constant(np.ascontiguousarray(weight.data.numpy().T))
        return self.bb.emit(op.permute_dims(weight))

    def biases(self, way: int) -> list[RelaxExpr | None]:
        """Of the inputs' products, and of the states'."""
        both = self.part(3, way)
        if both is None:
            return [None, None]
        if isinstance(both, Constant):
            return [Constant(part) for part in np.split(both.data.numpy(), 2)]
        whole = self.bb.emit(op.split(both, 2, 0))
        return [self.bb.emit(whole[0]), self.bb.emit(whole[1])]

    def first(self, way: int) -> State:
        """The states before the first step."""
        found = []
        for k in range(self.states):
            given = self.part(5 + k, way)
            if given is None:
                shape = (self.batch, self.hidden)
                given = self.bb.emit(op.zeros(shape, self.node.dtype(0)))
            found.append(given)
        return found

    def products(self, way: int) -> RelaxExpr:
        """Those with the inputs, of all steps."""
        return op.matmul(self.x, self.matrix(1, way))

    def recurrent(self, way: int) -> RelaxExpr:
        """The weights of the products with the states, as the kernel of many steps takes them."""
        return self.matrix(2, way)

    def of_columns(self, way: int) -> list[RelaxExpr]:
        """What else the kernel takes for these weights."""
        return []

    def projected(self, way: int, bias: RelaxExpr | None) -> list[RelaxExpr]:
        """The products with the inputs and the bias, for each step."""
        product = _added(self.products(way), bias)
        if self.steps == 1:
            return [self.bb.emit(op.squeeze(product, [0]))]
        whole = self.bb.emit(op.split(self.bb.emit(product), self.steps, 0))
        return [self.bb.emit(op.squeeze(whole[t], [0])) for t in range(self.steps)]

    def run_open(self, defaults: Sequence[str], **variant: bool) -> list[RelaxExpr]:
        """All outputs, when only running tells the number of steps."""
        node, bb, dtype = self.node, self.bb, self.node.dtype(0)
        outputs: list[RelaxExpr] = []
        finals: list[State] = []
        for way, name in enumerate(self.ways):
            bias, own = self.biases(way)
            product = bb.emit(_added(self.products(way), bias))
            if own is None:
                own = Constant(np.zeros(self.gates * self.hidden, dtype))
            state = self.first(way)
            extra = [value for value in (node.optional(4), self.part(7, way)) if value is not None]
            recipe = Recipe(
                self.kind, _activations(node, defaults, way, _kernel_activation), self.hidden,
                name == "reverse", has_lengths=node.has(4), has_peepholes=node.has(7), **variant,
            )  # fmt: skip

            def kernel(*inputs: te.Tensor, recipe: Recipe = recipe) -> list[te.Tensor]:
                return through_steps(recipe, *inputs)

            made = bb.emit_te(
                kernel, product, self.recurrent(way), own, state[0], state[-1], *extra,
                *self.of_columns(way), primfunc_name_hint=self.kind.lower(),
            )  # fmt: skip
            outputs.append(bb.emit(TupleGetItem(made, 0)))
            finals.append([bb.emit(TupleGetItem(made, 1 + k)) for k in range(self.states)])
        return self._stacked(outputs, finals)

    def run(self, make_step: Callable[[int], tuple[Step, RelaxExpr | None]]) -> list[RelaxExpr]:
        """All outputs: every hidden state, and the last of each state."""
        lengths = self.node.optional(4)
        outputs, finals = [], []
        for way, name in enumerate(self.ways):
            step, bias = make_step(way)
            inputs = self.projected(way, bias)
            state = self.first(way)
            seen: list[Any] = [None] * self.steps
            order = range(self.steps)
            for t in reversed(order) if name == "reverse" else order:
                new: State = [self.bb.emit(value) for value in step(inputs[t], state)]
                if lengths is not None:
                    new, shown = self._within(t, lengths, new, state)
                else:
                    shown = new[0]
                state, seen[t] = new, shown
            outputs.append(self.bb.emit(op.stack(seen, 0)))
            finals.append(state)
        return self._stacked(outputs, finals)

    def _stacked(self, outputs: Sequence[RelaxExpr], finals: Sequence[State]) -> list[RelaxExpr]:
        """The outputs of all directions."""
        whole = op.stack(outputs, 1)  # (steps, directions, batch, hidden)
        last = [op.stack([state[k] for state in finals], 0) for k in range(self.states)]
        if self.swapped:
            whole = op.permute_dims(whole, [2, 0, 1, 3])
            last = [op.permute_dims(value, [1, 0, 2]) for value in last]
        return [whole, *last]

    def _within(
        self, t: int, lengths: RelaxExpr, new: State, old: State
    ) -> tuple[State, RelaxExpr]:
        """Beyond the end of a sequence the state stays, and 0 is given."""
        longer = op.greater(lengths, Constant(np.asarray(t, np.int32)))
        inside = self.bb.emit(op.expand_dims(longer, [1]))
        kept: State = [self.bb.emit(op.where(inside, a, b)) for a, b in zip(new, old)]
        shown = op.where(inside, new[0], op.zeros_like(new[0]))
        return kept, self.bb.emit(shown)


class _QuantisedLayer(_Layer):
    """Weights (directions, inputs, columns) of 8 bits; inputs and states are made so, as they come.

    Inputs 8 to 11: scales and zero points of both weights, of a direction or of each column.
    """

    def __init__(self, node: Node, gates: int, states: int) -> None:
        data, self.scale, point = dynamically_quantised(node)
        super().__init__(node, gates, states)
        whole = op.subtract(op.astype(data, "int32"), op.astype(point, "int32"))
        self.whole = self.bb.emit(whole)
        if self.swapped:
            self.whole = self.bb.emit(op.permute_dims(self.whole, [1, 0, 2]))

    def _columns(self, i: int, way: int, dtype: str) -> RelaxExpr:
        """A number for each column."""
        given = self.part(i, way)
        assert given is not None, "scales and zero points are required inputs"
        wide = op.broadcast_to(op.astype(given, dtype), (self.gates * self.hidden,))
        return self.bb.emit(wide)

    def _centred(self, i: int, way: int) -> RelaxExpr:
        """Weights of 8 bits less their zero points, in 32 bits."""
        weight = self.part(i, way)
        assert weight is not None, "weights are required inputs"
        point = self._columns(7 + 2 * i, way, "int32")
        return self.bb.emit(op.subtract(op.astype(weight, "int32"), point))

    def products(self, way: int) -> RelaxExpr:
        sums = self.bb.emit(op.matmul(self.whole, self._centred(1, way)))
        factor = op.multiply(self._columns(8, way, "float32"), self.scale)
        return op.multiply(op.astype(sums, "float32"), self.bb.emit(factor))

    def recurrent(self, way: int) -> RelaxExpr:
        weight = self.part(2, way)
        return self.bb.emit_te(in_words, weight, primfunc_name_hint="words")

    def of_columns(self, way: int) -> list[RelaxExpr]:
        points = self._columns(11, way, "int32")
        if self.node.dtype(2) == "uint8":  # words have signs
            points = self.bb.emit(op.subtract(points, Constant(np.int32(128))))
        sums = self.bb.emit(op.sum(self._centred(2, way), 0))
        return [self._columns(10, way, "float32"), points, sums]


def _added(value: RelaxExpr, bias: RelaxExpr | None) -> RelaxExpr:
    return value if bias is None else op.add(value, bias)


def _split(layer: _Layer, value: RelaxExpr, count: int) -> list[RelaxExpr]:
    whole = layer.bb.emit(op.split(layer.bb.emit(value), count, -1))
    return [layer.bb.emit(whole[i]) for i in range(count)]


@convert("RNN")
def rnn(node: Node) -> Result:
    """h = f(x W^T + h R^T + b)."""
    layer = _Layer(node, 1, 1)
    if layer.is_open:
        return layer.run_open(["Tanh"])

    def make(way: int) -> tuple[Step, RelaxExpr | None]:
        (f,) = _activations(node, ["Tanh"], way)
        weight, (bias, own) = layer.matrix(2, way), layer.biases(way)

        def step(x: RelaxExpr, state: State) -> State:
            return [f(op.add(x, _added(op.matmul(state[0], weight), own)))]

        return step, bias

    return layer.run(make)


@convert("GRU")
def gru(node: Node) -> Result:
    """Cho et al. 2014; gates in the order update, reset, hidden."""
    layer = _Layer(node, 3, 1)
    before = not node.attr("linear_before_reset", 0)
    if layer.is_open:
        return layer.run_open(["Sigmoid", "Tanh"], before_reset=before)

    def make(way: int) -> tuple[Step, RelaxExpr | None]:
        f, g = _activations(node, ["Sigmoid", "Tanh"], way)
        weight, (bias, own) = layer.matrix(2, way), layer.biases(way)
        if before:
            gates, inner = _columns(layer, weight, 2)
            own_gates, own_inner = (None, None) if own is None else _columns(layer, own, 2)
        one = Constant(np.asarray(1, node.dtype(0)))

        def step(x: RelaxExpr, state: State) -> State:
            h = state[0]
            xz, xr, xh = _split(layer, x, 3)
            if before:
                hz, hr = _split(layer, _added(op.matmul(h, gates), own_gates), 2)
                z, r = layer.bb.emit(f(op.add(xz, hz))), f(op.add(xr, hr))
                part = _added(op.matmul(op.multiply(r, h), inner), own_inner)
            else:
                hz, hr, hh = _split(layer, _added(op.matmul(h, weight), own), 3)
                z, r = layer.bb.emit(f(op.add(xz, hz))), f(op.add(xr, hr))
                part = op.multiply(r, hh)
            new = g(op.add(xh, part))
            return [op.add(op.multiply(op.subtract(one, z), new), op.multiply(z, h))]

        return step, bias

    return layer.run(make)


def _columns(layer: _Layer, value: RelaxExpr, gates: int) -> list[RelaxExpr]:
    """The first gates of a weight or a bias, and the rest."""
    at = gates * layer.hidden
    if isinstance(value, Constant):
        parts = np.split(value.data.numpy(), [at], -1)
        return [Constant(np.ascontiguousarray(part)) for part in parts]
    whole = layer.bb.emit(op.split(value, [at], -1))
    return [layer.bb.emit(whole[0]), layer.bb.emit(whole[1])]


@convert("LSTM")
def lstm(node: Node) -> Result:
    """Hochreiter and Schmidhuber 1997; gates in the order input, output, forget, cell."""
    layer = _Layer(node, 4, 2)
    coupled = bool(node.attr("input_forget", 0))
    if layer.is_open:
        return layer.run_open(["Sigmoid", "Tanh", "Tanh"], coupled=coupled)

    def make(way: int) -> tuple[Step, RelaxExpr | None]:
        f, g, h = _activations(node, ["Sigmoid", "Tanh", "Tanh"], way)
        weight, (bias, own) = layer.matrix(2, way), layer.biases(way)
        peep: list[RelaxExpr | None] = [None] * 3
        peepholes = layer.part(7, way)
        if peepholes is not None:
            peep = [*_split(layer, peepholes, 3)]
        one = Constant(np.asarray(1, node.dtype(0)))

        def seen(gate: RelaxExpr, cell: RelaxExpr, weight: RelaxExpr | None) -> RelaxExpr:
            return gate if weight is None else op.add(gate, op.multiply(weight, cell))

        def step(x: RelaxExpr, state: State) -> State:
            hidden, cell = state
            sums = op.add(x, _added(op.matmul(hidden, weight), own))
            i, o, forget, new = _split(layer, sums, 4)
            i = layer.bb.emit(f(seen(i, cell, peep[0])))
            forget = op.subtract(one, i) if coupled else f(seen(forget, cell, peep[2]))
            cell = layer.bb.emit(op.add(op.multiply(forget, cell), op.multiply(i, g(new))))
            return [op.multiply(f(seen(o, cell, peep[1])), h(cell)), cell]

        return step, bias

    return layer.run(make)


@convert("com.microsoft.DynamicQuantizeLSTM")
def dynamic_quantize_lstm(node: Node) -> Result:
    """What is multiplied by the weights is quantised before: all inputs, the states of a step."""
    layer = _QuantisedLayer(node, 4, 2)
    coupled = bool(node.attr("input_forget", 0))
    return layer.run_open(["Sigmoid", "Tanh", "Tanh"], coupled=coupled, rounded=True)
