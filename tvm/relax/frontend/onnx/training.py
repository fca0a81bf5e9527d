"""Steps of optimisers (ai.onnx.preview.training), for any number of tensors at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant

from .node import Node
from .registry import Result, convert

_DOMAIN = "ai.onnx.preview.training."


class _Step:
    """The inputs: a rate, the number of steps done, and then tensors, kind by kind."""

    def __init__(self, node: Node, kinds: int) -> None:
        self.node, self.bb = node, node.bb
        self.count = (len(node.inputs) - 2) // kinds
        self.rate = node[0]
        self.steps = node.bb.emit(op.astype(node[1], "float32"))

    def tensors(self, i: int) -> list[RelaxExpr]:
        """Number `i` of each kind."""
        starts = range(2, len(self.node.inputs), self.count)
        return [self.node[start + i] for start in starts]

    def number(self, name: str, default: float) -> Constant:
        return Constant(np.float32(self.node.attr(name, default)))

    def regularised(self, x: RelaxExpr, gradient: RelaxExpr, name: str) -> RelaxExpr:
        """The gradient of the loss and of half the squares of x."""
        return self.bb.emit(op.add(op.multiply(self.number(name, 0.0), x), gradient))

    def results(self, rows: Sequence[Sequence[RelaxExpr]]) -> list[RelaxExpr]:
        """Outputs stand kind by kind too."""
        return [self.bb.emit(row[k]) for k in range(len(rows[0])) for row in rows]


@convert(_DOMAIN + "Adagrad")
def adagrad(node: Node) -> Result:
    """Duchi, Hazan and Singer 2011."""
    step, rows = _Step(node, 3), []
    one = Constant(np.float32(1))
    decay = op.add(one, op.multiply(step.steps, step.number("decay_factor", 0.0)))
    rate = step.bb.emit(op.divide(step.rate, decay))
    for i in range(step.count):
        x, gradient, squares = step.tensors(i)
        gradient = step.regularised(x, gradient, "norm_coefficient")
        total = step.bb.emit(op.add(squares, op.square(gradient)))
        size = op.add(op.sqrt(total), step.number("epsilon", 1e-6))
        rows.append([op.subtract(x, op.divide(op.multiply(rate, gradient), size)), total])
    return step.results(rows)


@convert(_DOMAIN + "Momentum")
def momentum(node: Node) -> Result:
    """With what is left of the steps before; `nesterov` looks one step ahead (Nesterov 1983)."""
    step, rows = _Step(node, 3), []
    alpha, beta = step.number("alpha", 0.0), step.number("beta", 0.0)
    one = Constant(np.float32(1))
    first = op.equal(step.steps, Constant(np.float32(0)))
    share = step.bb.emit(op.where(first, one, beta))
    mode = str(node.attr("mode"))
    if mode not in ("standard", "nesterov"):
        raise node.invalid("mode", mode, "standard, nesterov")
    for i in range(step.count):
        x, gradient, before = step.tensors(i)
        gradient = step.regularised(x, gradient, "norm_coefficient")
        moved = step.bb.emit(op.add(op.multiply(alpha, before), op.multiply(share, gradient)))
        way = op.add(gradient, op.multiply(alpha, moved)) if mode == "nesterov" else moved
        rows.append([op.subtract(x, op.multiply(step.rate, way)), moved])
    return step.results(rows)


@convert(_DOMAIN + "Adam")
def adam(node: Node) -> Result:
    """Kingma and Ba 2015."""
    step, rows = _Step(node, 4), []
    one = Constant(np.float32(1))
    alpha, beta = step.number("alpha", 0.9), step.number("beta", 0.999)
    rest = [
        op.sqrt(op.subtract(one, op.power(beta, step.steps))),
        op.subtract(one, op.power(alpha, step.steps)),
    ]
    started = op.greater(step.steps, Constant(np.float32(0)))
    scaled = op.divide(op.multiply(step.rate, rest[0]), op.where(started, rest[1], one))
    rate = step.bb.emit(op.where(started, scaled, step.rate))
    for i in range(step.count):
        x, gradient, mean, square = step.tensors(i)
        gradient = step.regularised(x, gradient, "norm_coefficient")
        mean = step.bb.emit(
            op.add(op.multiply(alpha, mean), op.multiply(op.subtract(one, alpha), gradient))
        )
        other = op.multiply(op.subtract(one, beta), op.square(gradient))
        square = step.bb.emit(op.add(op.multiply(beta, square), other))
        size = op.add(op.sqrt(square), step.number("epsilon", 1e-6))
        new = step.bb.emit(op.subtract(x, op.divide(op.multiply(rate, mean), size)))
        after = op.subtract(one, step.number("norm_coefficient_post", 0.0))
        rows.append([op.multiply(after, new), mean, square])
    return step.results(rows)
