"""Classic models (ai.onnx.ml): linear ones and support vector machines."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant

from .coupling import coupled
from .ml_tables import DOMAIN, as_float, class_labels
from .node import Node
from .registry import Result, convert
from .texts import texts_of


def transformed(node: Node, scores: RelaxExpr) -> RelaxExpr:
    """Scores (rows, classes) by the attribute `post_transform`."""
    kind = str(node.attr("post_transform", "NONE"))
    scores = node.bb.emit(scores)
    zero = Constant(np.float32(0))
    if kind == "NONE":
        return scores
    if kind == "LOGISTIC":
        return op.sigmoid(scores)
    if kind == "SOFTMAX":
        return op.nn.softmax(scores, -1)
    if kind == "SOFTMAX_ZERO":  # the softmax of what is not zero; zeros stay near zero
        least = Constant(np.float32(1e-7))
        top = node.bb.emit(op.max(scores, [-1], keepdims=True))
        grown = op.exp(op.subtract(scores, top))
        kept = op.multiply(scores, op.exp(op.negative(top)))
        parts = node.bb.emit(op.where(op.greater(op.abs(scores), least), grown, kept))
        total = node.bb.emit(op.sum(parts, [-1], keepdims=True))
        whole = op.where(op.equal(total, zero), Constant(np.float32(1)), total)
        return op.divide(parts, whole)
    if kind == "PROBIT":
        return _probit(node, scores)
    raise node.invalid("post_transform", kind, "NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO, PROBIT")


def _probit(node: Node, p: RelaxExpr) -> RelaxExpr:
    """The inverse of the normal distribution, by Winitzki's inverse of erf (2008)."""

    def number(value: float) -> Constant:
        return Constant(np.float32(value))

    x = node.bb.emit(op.subtract(op.multiply(p, number(2)), number(1)))
    logs = op.log(op.multiply(op.subtract(number(1), x), op.add(number(1), x)))
    half = node.bb.emit(
        op.add(number(2 / (math.pi * 0.147)), op.multiply(number(0.5), logs))
    )
    rest = op.multiply(number(1 / 0.147), logs)
    root = op.sqrt(op.subtract(op.multiply(half, half), rest))
    size = op.sqrt(op.subtract(root, half))
    return op.multiply(op.multiply(number(1.41421356), op.sign(x)), size)


def labels_of(node: Node, class_indices: RelaxExpr, labels: Any) -> RelaxExpr:
    """The labels of classes by their places; strings as codes."""
    strings = any(isinstance(label, str) for label in labels)
    table = texts_of(node, labels) if strings else Constant(np.asarray(labels, np.int64))
    return op.take(table, node.bb.emit(class_indices), 0)


@convert(DOMAIN + "LinearRegressor")
def linear_regressor(node: Node) -> Result:
    """x @ coefficients + intercepts."""
    targets = int(node.attr("targets", 1))
    return transformed(node, _linear(node, targets))


def _linear(node: Node, classes: int) -> RelaxExpr:
    weights = np.asarray(node.attr("coefficients"), np.float32).reshape(classes, -1).T
    x = node.bb.emit(op.astype(as_float(node), "float32"))
    if node.rank(0) == 1:
        x = node.bb.emit(op.expand_dims(x, [0]))
    product: RelaxExpr = op.matmul(x, Constant(np.ascontiguousarray(weights)))
    shift = node.attr("intercepts")
    if shift:
        product = op.add(product, Constant(np.asarray(shift, np.float32)))
    return node.bb.emit(product)


@convert(DOMAIN + "LinearClassifier")
def linear_classifier(node: Node) -> Result:
    """The label of the largest score, and all scores."""
    labels = class_labels(node, "classlabels_ints")
    classes = len(labels)
    rows = max(len(node.attr("intercepts", [])), 1)
    scores = _linear(node, rows)
    if rows == 1 and classes == 2:
        return _two_classes(node, scores, labels)
    label = labels_of(node, op.argmax(scores, 1), labels)
    return [label, transformed(node, scores)]


def _two_classes(node: Node, score: RelaxExpr, labels: Any) -> list[RelaxExpr]:
    """One score tells two classes apart by its sign."""
    positive = op.greater(op.squeeze(score, [1]), Constant(np.float32(0)))
    class_index = op.astype(positive, "int64")
    pair = node.bb.emit(op.concat([node.bb.emit(op.negative(score)), score], 1))
    return [labels_of(node, class_index, labels), transformed(node, pair)]


@convert(DOMAIN + "SVMRegressor")
def svm_regressor(node: Node) -> Result:
    """Kernels with the support vectors, weighted (Cortes and Vapnik 1995)."""
    count = int(node.attr("n_supports", 0))
    weights = np.asarray(node.attr("coefficients"), np.float32)
    x = node.bb.emit(op.astype(as_float(node), "float32"))
    if count:
        vectors = np.asarray(node.attr("support_vectors"), np.float32).reshape(count, -1)
        product = op.matmul(_kernel(node, x, vectors), Constant(weights.reshape(count, 1)))
    else:
        product = op.matmul(x, Constant(weights.reshape(-1, 1)))
    shift = np.asarray(node.attr("rho", [0.0]), np.float32)[:1]
    value = node.bb.emit(op.add(product, Constant(shift)))
    if node.attr("one_class", 0):
        one = Constant(np.float32(1))
        return op.where(op.greater(value, Constant(np.float32(0))), one, op.negative(one))
    return transformed(node, value)


def _kernel(node: Node, x: RelaxExpr, vectors: Any) -> RelaxExpr:
    """(rows, features), (supports, features) -> (rows, supports)"""
    kind = str(node.attr("kernel_type", "LINEAR"))
    gamma, coef0, degree = (*node.attr("kernel_params", []), 0.0, 0.0, 0.0)[:3]

    def number(value: float) -> Constant:
        return Constant(np.float32(value))

    product = node.bb.emit(op.matmul(x, Constant(np.ascontiguousarray(vectors.T))))
    if kind == "LINEAR":
        return product
    if kind == "RBF":
        # from differences: squares of sums lose what is small
        gap = op.subtract(op.expand_dims(x, [1]), Constant(vectors[None]))
        squares = op.sum(op.square(gap), [2])
        return node.bb.emit(op.exp(op.multiply(number(-gamma), squares)))
    line = op.add(op.multiply(number(gamma), product), number(coef0))
    if kind == "POLY":
        return node.bb.emit(op.power(line, number(degree)))
    if kind == "SIGMOID":
        return node.bb.emit(op.tanh(line))
    raise node.invalid("kernel_type", kind, "LINEAR, POLY, RBF, SIGMOID")


@convert(DOMAIN + "SVMClassifier")
def svm_classifier(node: Node) -> Result:
    """The class that most of the pairwise decisions name, and these decisions."""
    labels = class_labels(node, "classlabels_ints")
    sizes = [int(size) for size in node.attr("vectors_per_class", [])]
    if not sizes or len(sizes) != len(labels):
        raise node.invalid("vectors_per_class", sizes, "the vectors of each of the labels")
    decisions = _decisions(node, sizes)
    count = len(sizes)
    if node.attr("prob_a"):
        return _with_probabilities(node, decisions, labels)
    if count == 2:
        return _two_svm_classes(node, decisions[0], labels)
    scores = node.bb.emit(op.concat(decisions, 1))
    class_index = _max_votes(node, decisions, count)
    return [labels_of(node, class_index, labels), transformed(node, scores)]


def _pairs(count: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(count) for j in range(i + 1, count)]


def _with_probabilities(node: Node, decisions: list[RelaxExpr], labels: Any) -> list[RelaxExpr]:
    """Each decision as the probability of its first class (Platt 1999), then of each class."""
    bb, count, one = node.bb, len(labels), Constant(np.float32(1))
    chances: dict[tuple[int, int], RelaxExpr] = {}
    slopes, shifts = node.attr("prob_a"), node.attr("prob_b")
    for pair, decision, a, b in zip(_pairs(count), decisions, slopes, shifts):
        line = op.add(op.multiply(decision, Constant(np.float32(-a))), Constant(np.float32(-b)))
        chance = bb.emit(op.clip(op.sigmoid(bb.emit(line)), 1e-7, 1 - 1e-7))
        chances[pair], chances[pair[::-1]] = chance, bb.emit(op.subtract(one, chance))
    nothing = bb.emit(op.zeros_like(decisions[0]))
    table = [chances.get((i, j), nothing) for i in range(count) for j in range(count)]
    pairs = bb.emit(op.reshape(bb.emit(op.concat(table, 1)), [-1, count, count]))
    scores = bb.emit_te(coupled, pairs, primfunc_name_hint="coupled")
    class_index = _max_votes(node, decisions, count)  # the label may be another than the likeliest
    return [labels_of(node, class_index, labels), transformed(node, scores)]


def _max_votes(node: Node, decisions: list[RelaxExpr], count: int) -> RelaxExpr:
    """The class that most decisions name, the first of several."""
    votes: list[list[RelaxExpr]] = [[] for _ in range(count)]
    zero = Constant(np.float32(0))
    for (i, j), decision in zip(_pairs(count), decisions):
        first = op.greater(decision, zero)
        votes[i].append(node.bb.emit(op.astype(first, "int32")))
        votes[j].append(node.bb.emit(op.astype(op.logical_not(first), "int32")))
    totals = [node.bb.emit(op.sum(op.stack(one, 0), [0])) for one in votes]
    return node.bb.emit(op.argmax(node.bb.emit(op.concat(totals, 1)), 1))


def _two_svm_classes(node: Node, decision: RelaxExpr, labels: Any) -> list[RelaxExpr]:
    zero = Constant(np.float32(0))
    first = op.greater(op.squeeze(decision, [1]), zero)
    class_index = op.where(first, Constant(np.int64(0)), Constant(np.int64(1)))
    pair = node.bb.emit(op.concat([node.bb.emit(op.negative(decision)), decision], 1))
    return [labels_of(node, class_index, labels), transformed(node, pair)]


def _decisions(node: Node, sizes: list[int]) -> list[RelaxExpr]:
    """(rows, 1) for each pair of classes: above 0 for the first of the two."""
    total = sum(sizes)
    vectors = np.asarray(node.attr("support_vectors"), np.float32).reshape(total, -1)
    weights = np.asarray(node.attr("coefficients"), np.float32).reshape(len(sizes) - 1, total)
    rho = list(node.attr("rho", [])) or [0.0] * (len(sizes) * (len(sizes) - 1) // 2)
    x = node.bb.emit(op.astype(as_float(node), "float32"))
    kernel = _kernel(node, x, vectors)
    starts = np.cumsum([0, *sizes])
    found: list[RelaxExpr] = []
    number = 0
    for i in range(len(sizes)):
        for j in range(i + 1, len(sizes)):
            column = np.zeros((total, 1), np.float32)
            mine, other = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
            column[mine, 0] = weights[j - 1, mine]
            column[other, 0] = weights[i, other]
            sums = op.matmul(kernel, Constant(column))
            found.append(node.bb.emit(op.add(sums, Constant(np.float32(rho[number])))))
            number += 1
    return found
