"""Reductions over axes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tvm import tir
from tvm.ir.expr import RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant, const
from tvm.relax.extents import require_equal
from tvm.relax.struct_info import ShapeExpr
from tvm.tir.expr import IntImm

from .node import Node
from .registry import Result, convert

Reduce = Callable[..., RelaxExpr]


def _log_sum_exp(x: RelaxExpr, axes: list[int] | None, keepdims: bool) -> RelaxExpr:
    """log(sum(exp(x))) from the largest element, so that nothing overflows."""
    largest = op.max(x, axes, keepdims=True)
    total = op.log(op.sum(op.exp(op.subtract(x, largest)), axes, keepdims=True))
    found = op.add(total, largest)
    return found if keepdims else op.squeeze(found, axes)


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
_OF_FLOATS = ("ReduceL2", "ReduceLogSum", "ReduceLogSumExp")


@convert(*_REDUCTIONS)
def reduction(node: Node) -> Result:
    """Axes as an attribute, or since later operator sets as an input; none means all."""
    dtype = node.dtype(0)
    if node.op_type in _OF_FLOATS and "float" not in dtype:
        # as runtimes have it, what lies behind the point is cut off
        node.replace(0, node.bb.emit(op.astype(node[0], "float64")))
        found = reduction(node)
        assert isinstance(found, RelaxExpr), "one output"
        return op.astype(node.bb.emit(found), dtype)
    axes = node.attr("axes")
    if axes is None and node.has(1):
        axes = node.integers(1, "axes")
    if not axes and node.attr("noop_with_empty_axes", 0):
        return _of_each(node)
    written = [int(a) for a in axes] if axes else None  # none stand for all
    rank = node.rank(0)
    for a in written or ():
        if not -rank <= a < rank:
            raise node.invalid("axes", a, f"{-rank} ... {rank - 1}")
    wanted = list(range(rank)) if written is None else [a % rank for a in written]
    keepdims = bool(node.attr("keepdims", 1))
    if _reduces_nothing(node, wanted):
        return _of_nothing(node, wanted, keepdims)
    if node.dtype(0) == "bool":
        return _bool_extreme(node, wanted, keepdims)
    return _REDUCTIONS[node.op_type](node[0], written, keepdims=keepdims)


def _of_each(node: Node) -> RelaxExpr:
    """What is done to the elements, over no axis."""
    if node.op_type in ("ReduceL1", "ReduceL2"):
        return op.abs(node[0])
    if node.op_type == "ReduceSumSquare":
        return op.multiply(node[0], node[0])
    return op.log(node[0]) if node.op_type == "ReduceLogSum" else node[0]


def _reduces_nothing(node: Node, axes: list[int]) -> bool:
    shape = node.info(0).shape
    if not isinstance(shape, ShapeExpr):
        return False
    extents = [shape.values[a] for a in axes]
    return any(isinstance(e, IntImm) and e.value == 0 for e in extents)


def _of_nothing(node: Node, axes: list[int], keepdims: bool) -> RelaxExpr:
    """What a reduction over no elements gives."""
    dtype = node.dtype(0)
    floating = dtype.startswith(("float", "bfloat"))
    lowest = -np.inf if floating else (0 if dtype == "bool" else np.iinfo(dtype).min)
    highest = np.inf if floating else (1 if dtype == "bool" else np.iinfo(dtype).max)
    values = {"ReduceProd": 1, "ReduceMax": lowest, "ReduceMin": highest, "ReduceMean": np.nan,
              "ReduceLogSum": -np.inf, "ReduceLogSumExp": -np.inf}  # fmt: skip
    kept = list(enumerate(node.shape(0)))
    shape = [1 if a in axes else e for a, e in kept if keepdims or a not in axes]
    value = np.asarray(values.get(node.op_type, 0)).astype(dtype)
    return op.full(shape, Constant(value), dtype)


def _bool_extreme(node: Node, axes: list[int], keepdims: bool) -> RelaxExpr:
    """Whether all or any hold: false and true are 0 and 1."""
    numbers = node.bb.emit(op.astype(node[0], "int8"))
    found = _REDUCTIONS[node.op_type](numbers, axes, keepdims=keepdims)
    return op.astype(node.bb.emit(found), "bool")


@convert("ArgMax", "ArgMin")
def arg_reduction(node: Node) -> Result:
    """The place of the first such element, or of the last one."""
    call: Reduce = op.argmax if node.op_type == "ArgMax" else op.argmin
    axis, keepdims = node.axis(0), bool(node.attr("keepdims", 1))
    if not node.attr("select_last_index", 0):
        return call(node[0], axis, keepdims)
    # the first from behind
    place = node.bb.emit(call(node.bb.emit(op.flip(node[0], axis)), axis, keepdims))
    last = ShapeExpr([node.shape(0)[axis] - 1])
    if isinstance(last.values[0], IntImm):
        return op.subtract(Constant(np.asarray(last.values[0].value, np.int64)), place)
    return op.subtract(node.bb.emit(op.shape_to_tensor(last)), place)


@convert("CumSum", "CumProd")
def cumulative(node: Node) -> Result:
    """Sums or products of what stands before each element, itself counted or not."""
    if node.known(1) is not None:
        return _cumulative(node, node.integers(1, "axis")[0])
    # an axis that only running tells: along all of them, and that one is taken
    bb, rank = node.bb, node.rank(0)
    place = bb.emit(op.reshape(op.astype(node[1], "int64"), [1]))
    before = bb.emit(op.less(place, const(0, "int64")))
    place = bb.emit(op.where(before, op.add(place, const(rank, "int64")), place))
    (axis,) = node.run_time_sizes(place)
    require_equal(bb, tir.max(tir.min(axis, tir.const(rank - 1, "int64")), 0), axis)
    found = bb.emit(_cumulative(node, 0))
    for other in range(1, rank):
        here = bb.emit(op.equal(place, const(other, "int64")))
        found = bb.emit(op.where(here, bb.emit(_cumulative(node, other)), found))
    return found


def _cumulative(node: Node, axis: int) -> RelaxExpr:
    data = node[0]
    reverse = bool(node.attr("reverse", 0))
    if reverse:
        data = op.flip(data, axis)
    call = op.cumsum if node.op_type == "CumSum" else op.cumprod
    result: RelaxExpr = call(data, axis, exclusive=bool(node.attr("exclusive", 0)))
    return op.flip(result, axis) if reverse else result


@convert("TopK")
def topk_attribute(node: Node) -> Result:
    """How many as an attribute."""
    k = int(node.required("k"))
    pair = node.bb.emit(op.topk(node[0], k, node.axis(-1), "both", True, "int64"))
    return [pair[0], pair[1]]


@convert("TopK", since=10)
def topk(node: Node) -> Result:
    k = node.numbers(1, "k", 1)[0]
    largest, axis = bool(node.attr("largest", 1)), node.axis(-1)
    if isinstance(k, int):
        pair = node.bb.emit(op.topk(node[0], k, axis, "both", largest, "int64"))
        return [pair[0], pair[1]]
    # as many as only running tells: the first of all in order
    extent = node.shape(0)[axis]
    require_equal(node.bb, tir.min(k, extent), k)
    order = node.bb.emit(op.argsort(node[0], axis, largest, "int64"))
    places = node.bb.emit(op.strided_slice(order, [axis], [0], [k]))
    return [node.bb.emit(op.gather_elements(node[0], places, axis)), places]
