"""Random graphs of operators, the same for the same seed."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tvm import relax
from tvm.ir import IRModule
from tvm.relax import op

Rule = Callable[[relax.Expr, relax.Expr, np.random.Generator], relax.Expr]


def _shape(expr: relax.Expr) -> list[int]:
    return [int(extent) for extent in expr.struct_info.shape.values]


def _constant(rng: np.random.Generator, *shape: int) -> relax.Constant:
    return relax.const(rng.uniform(-1, 1, shape).astype("float32"))


def _matmul(a: relax.Expr, b: relax.Expr, rng: np.random.Generator) -> relax.Expr:
    inner = _shape(a)[-1]
    return op.multiply(op.matmul(a, _constant(rng, inner, inner)), relax.const(np.float32(0.25)))


def _split(a: relax.Expr, b: relax.Expr, rng: np.random.Generator) -> relax.Expr:
    halves = relax.BlockBuilder.current().emit(op.split(a, 2, axis=1))
    return op.concat([halves[1], halves[0]], axis=1)


def _there_and_back(a: relax.Expr, b: relax.Expr, rng: np.random.Generator) -> relax.Expr:
    flat = relax.BlockBuilder.current().emit(op.reshape(a, [-1]))
    return op.reshape(flat, _shape(a))


# All take (4, 6) tensors and give one; sums are scaled so that values stay small.
RULES: list[Rule] = [
    lambda a, b, rng: op.add(a, b),
    lambda a, b, rng: op.subtract(a, b),
    lambda a, b, rng: op.multiply(op.tanh(a), op.sigmoid(b)),
    lambda a, b, rng: op.maximum(a, b),
    lambda a, b, rng: op.nn.relu(a),
    lambda a, b, rng: op.tanh(a),
    lambda a, b, rng: op.add(a, _constant(rng, 6)),
    lambda a, b, rng: op.multiply(a, _constant(rng, 4, 1)),
    lambda a, b, rng: op.permute_dims(op.permute_dims(a)),
    lambda a, b, rng: op.nn.softmax(a, axis=1),
    lambda a, b, rng: op.subtract(a, op.mean(a, axis=[1], keepdims=True)),
    lambda a, b, rng: op.add(op.max(a, axis=[0], keepdims=True), b),
    lambda a, b, rng: op.where(op.greater(a, b), a, b),
    lambda a, b, rng: op.strided_slice(op.concat([a, b], axis=0), [0], [2], [6]),
    _matmul,
    _split,
    _there_and_back,
]


def random_graph(rng: np.random.Generator, length: int) -> IRModule:
    """A function `main` of two inputs, `length` operators, and one to three results."""
    info = relax.TensorStructInfo((4, 6), "float32")
    values: list[relax.Expr] = [relax.Var("x", info), relax.Var("y", info)]
    bb = relax.BlockBuilder()
    with bb.function("main", values[:2]):
        with bb.dataflow():
            for _ in range(length):
                rule = RULES[rng.integers(len(RULES))]
                # recent values are likelier to be read, so that graphs are deep
                a, b = (values[-1 - int(rng.integers(len(values)) * rng.random())] for _ in "ab")
                values.append(bb.emit(rule(a, b, rng)))
            chosen = [values[-1], *rng.choice(np.array(values, object), int(rng.integers(3)))]
            outputs = [bb.emit_output(value) for value in chosen]
        bb.emit_func_output(outputs[0] if len(outputs) == 1 else relax.Tuple(outputs))
    return bb.get()
