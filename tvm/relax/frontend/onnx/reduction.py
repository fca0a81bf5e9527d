"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable

from tvm.ir.expr import RelaxExpr
from tvm.relax import op

from .node import Node
from .registry import Result, convert

Reduce = Callable[..., RelaxExpr]


def _log_sum_exp(x: RelaxExpr, axes: list[int] | None, keepdims: bool) -> RelaxExpr:
    """log(sum(exp(x))) from the largest element, so that nothing overflows."""
    largest = op.max(x, axes, keepdims=True)
    total = op.log(op.sum(op.exp(op.subtract(x, largest)), axes, keepdims=keepdims))
    return op.add(total, largest if keepdims else op.squeeze(largest, axes))


_REDUCTIONS: dict[str, Reduce] = {
    "ReduceSum": op.sum,
    "ReduceMean": op.mean,
    "ReduceMax": op.max,
    "ReduceMin": op.min,
    "ReduceProd": op.prod,
    "ReduceL1": lambda x, axes, keepdims: op.sum(op.abs(x), axes, keepdims=keepdims),
    "ReduceL2": lambda x, axes, keepdims: op.sqrt(
        op.sum(op.multiply(x, x), axes, keepdims=keepdims)
    ),
    "ReduceSumSquare": lambda x, axes, keepdims: op.sum(
        op.multiply(x, x), axes, keepdims=keepdims
    ),
    "ReduceLogSum": lambda x, axes, keepdims: op.log(op.sum(x, axes, keepdims=keepdims)),
    "ReduceLogSumExp": _log_sum_exp,
}


@convert(*_REDUCTIONS)
def reduction(node: Node) -> Result:
    """Axes as an attribute, or since later operator sets as an input; none means all."""
    axes = node.attr("axes")
    if axes is None and node.has(1):
        axes = node.integers(1, "axes")
    if not axes:
        if node.attr("noop_with_empty_axes", 0):
            return node[0]
        axes = list(range(node.rank(0)))
    rank = node.rank(0)
    wanted = [int(a) % rank for a in axes]
    keepdims = bool(node.attr("keepdims", 1))
    return _REDUCTIONS[node.op_type](node[0], wanted, keepdims=keepdims)


@convert("ArgMax", "ArgMin")
def arg_reduction(node: Node) -> Result:
    if node.attr("select_last_index", 0):
        raise node.invalid("select_last_index", 1, "0")
    call: Reduce = op.argmax if node.op_type == "ArgMax" else op.argmin
    return call(node[0], node.axis(0), bool(node.attr("keepdims", 1)))


@convert("CumSum")
def cumsum(node: Node) -> Result:
    axis = node.integers(1, "axis")[0]
    data = node[0]
    reverse = bool(node.attr("reverse", 0))
    if reverse:
        data = op.flip(data, axis)
    result = op.cumsum(data, axis, exclusive=bool(node.attr("exclusive", 0)))
    return op.flip(result, axis) if reverse else result


@convert("TopK", since=10)
def topk(node: Node) -> Result:
    k = node.integers(1, "k")[0]
    largest = bool(node.attr("largest", 1))
    pair = node.bb.emit(op.topk(node[0], k, node.axis(-1), "both", largest, "int64"))
    return [pair[0], pair[1]]


