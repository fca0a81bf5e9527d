"""Reductions over axes and windows, and sorting.

A region that only adds, multiplies or takes the larger or smaller becomes Relax's own reduction;
all others, pairs with an index among them, a kernel that combines as the region says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tvm import te, tir
from tvm.error import message
from tvm.relax import op
from tvm.relax.expr import Constant, TupleGetItem
from tvm.topi.nn.pad import pad as pad_tensor

from .program import Operation
from .regions import combiner, direction, scalar_function
from .registry import convert
from .shape import extents

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter

_REDUCED = {"add": op.sum, "multiply": op.prod, "maximum": op.max, "minimum": op.min}
_COMBINED = {
    "add": op.add, "multiply": op.multiply, "maximum": op.maximum, "minimum": op.minimum,
}  # fmt: skip


def _neutral(kind: str, value: Any) -> bool:
    """Whether a start changes nothing."""
    if not isinstance(value, Constant):
        return False
    number = value.data.numpy()
    if kind in ("add", "multiply"):
        return bool(number == (0 if kind == "add" else 1))
    if np.issubdtype(number.dtype, np.integer):
        limits = np.iinfo(number.dtype)
        return bool(number == (limits.min if kind == "maximum" else limits.max))
    return bool(number == (-np.inf if kind == "maximum" else np.inf))


@convert("stablehlo.reduce")
def reduce(imp: StableHLOImporter, node: Operation, *operands: Any) -> Any:
    """All elements along axes become one."""
    half = len(operands) // 2
    tensors, starts = operands[:half], operands[half:]
    axes = node.attrs["dimensions"]
    kind = combiner(node.regions[0])
    if kind in _REDUCED and node.results[0].dtype != "bool":
        made = _REDUCED[kind](tensors[0], axes)
        return made if _neutral(kind, starts[0]) else _COMBINED[kind](made, starts[0])
    return _by_kernel(imp, node, tensors, starts, _along(axes))


@convert("stablehlo.reduce_window")
def reduce_window(imp: StableHLOImporter, node: Operation, *operands: Any) -> Any:
    """The elements in a window that moves become one."""
    half = len(operands) // 2
    rank = len(node.operands[0].shape)
    attrs = {name: _numbers(node, name, rank) for name in _WINDOW}
    if any(n != 1 for n in attrs["base_dilations"]):
        found = f"base_dilations {attrs['base_dilations']}"
        raise ValueError(message("reduce_window", found=found, legal="1 for each axis"))
    pads = np.array(node.attrs.get("padding", np.zeros((rank, 2)))).astype(int).tolist()
    pooled = _pooled(node, operands, attrs, pads)
    if pooled is not None:
        return pooled
    return _by_kernel(imp, node, operands[:half], operands[half:], _windows(attrs, pads, node))


_WINDOW = ("window_dimensions", "window_strides", "window_dilations", "base_dilations")


def _numbers(node: Operation, name: str, rank: int) -> list[int]:
    return [int(i) for i in node.attrs.get(name, [1] * rank)]


# By the axes of a tensor's space: the layout, and the pools.
_POOLS: dict[tuple[int, tuple[int, ...]], tuple[str, Any, Any]] = {
    (3, (1,)): ("NWC", op.nn.max_pool1d, op.nn.avg_pool1d),
    (3, (2,)): ("NCW", op.nn.max_pool1d, op.nn.avg_pool1d),
    (4, (1, 2)): ("NHWC", op.nn.max_pool2d, op.nn.avg_pool2d),
    (4, (2, 3)): ("NCHW", op.nn.max_pool2d, op.nn.avg_pool2d),
    (5, (1, 2, 3)): ("NDHWC", op.nn.max_pool3d, op.nn.avg_pool3d),
    (5, (2, 3, 4)): ("NCDHW", op.nn.max_pool3d, op.nn.avg_pool3d),
}


def _pooled(
    node: Operation, operands: Any, attrs: dict[str, list[int]], pads: list[list[int]]
) -> Any:
    """Windows of a picture as a pool of Relax, that layouts and rules know; None for others.

    A sum is the mean of a window, its margin counted, by the number of its elements.
    """
    kind = combiner(node.regions[0])
    is_float = node.results[0].dtype.startswith("float")
    if kind not in ("maximum", "add") or not is_float or not _neutral(kind, operands[-1]):
        return None
    sizes, rank = attrs["window_dimensions"], len(pads)
    moving = tuple(
        i for i in range(rank)
        if (sizes[i], attrs["window_strides"][i], pads[i]) != (1, 1, [0, 0])
    )  # fmt: skip
    fitting = (pool for (n, axes), pool in _POOLS.items() if n == rank and set(moving) <= {*axes})
    pool = next(fitting, None)
    # running sums have a window, too: one as long as their axis
    if pool is None or any(not 0 <= 2 * n <= sizes[i] for i in moving for n in pads[i]):
        return None
    layout, by_max, by_mean = pool
    space = [i for i, axis in enumerate(layout) if axis not in "NC"]
    size, strides, dilation = ([attrs[name][i] for i in space] for name in _WINDOW[:3])
    padding = [pads[i][side] for side in (0, 1) for i in space]
    if kind == "maximum":
        return by_max(operands[0], size, strides, padding, dilation, layout=layout)
    mean = by_mean(
        operands[0], size, strides, padding, dilation, count_include_pad=True, layout=layout
    )
    count = np.array(np.prod(size)).astype(node.results[0].dtype)
    return op.multiply(mean, Constant(count))


def _along(axes: list[int]) -> Any:
    def plan(tensors: Any, starts: Any) -> Any:
        shape = [extent for i, extent in enumerate(tensors[0].shape) if i not in axes]
        steps = [te.reduce_axis((0, tensors[0].shape[axis]), f"k{axis}") for axis in axes]

        def indices(*i: Any) -> list[Any]:
            left, taken = iter(i), iter(steps)
            return [next(taken) if n in axes else next(left) for n in range(tensors[0].ndim)]

        return tensors, shape, steps, indices

    return plan


def _windows(attrs: dict[str, list[int]], pads: list[list[int]], node: Operation) -> Any:
    def plan(tensors: Any, starts: Any) -> Any:
        low, high = ([pair[side] for pair in pads] for side in (0, 1))
        if any(low) or any(high):
            tensors = [pad_tensor(t, low, high, pad_value=s) for t, s in zip(tensors, starts)]
        sizes = attrs["window_dimensions"]
        steps = [te.reduce_axis((0, size), f"k{axis}") for axis, size in enumerate(sizes)]

        def indices(*i: Any) -> list[Any]:
            moves = zip(i, attrs["window_strides"], steps, attrs["window_dilations"])
            return [at * stride + step * wide for at, stride, step, wide in moves]

        return tensors, extents(node.results[0]), steps, indices

    return plan


def _by_kernel(
    imp: StableHLOImporter, node: Operation, tensors: Any, starts: Any, plan: Any
) -> Any:
    """A kernel whose reducer is the region; starts have to be known."""
    if not all(isinstance(start, Constant) for start in starts):
        found = "a start that is computed"
        raise ValueError(message(node.name, found=found, legal="a constant"))
    kinds = [result.dtype for result in node.results]
    values = [tir.const(s.data.numpy().item(), kind) for s, kind in zip(starts, kinds)]
    combine = scalar_function(node.regions[0])
    single = len(tensors) == 1

    def compute(*given: te.Tensor) -> Any:
        read, shape, steps, indices = plan(list(given), values)
        if single:
            reducer = te.comm_reducer(lambda a, b: combine(a, b)[0], lambda _: values[0])
            return te.compute(shape, lambda *i: reducer(read[0](*indices(*i)), axis=steps))
        reducer = te.comm_reducer(lambda a, b: combine(*a, *b), lambda *_: tuple(values))
        return te.compute(
            shape, lambda *i: reducer(tuple(t(*indices(*i)) for t in read), axis=steps)
        )

    name = node.name.partition(".")[2]
    made = imp.emit(imp.block_builder.call_te(compute, *tensors, primfunc_name_hint=name))
    return made if single else [TupleGetItem(made, i) for i in range(len(tensors))]


@convert("chlo.top_k")
def top_k(imp: StableHLOImporter, node: Operation, x: Any) -> Any:
    """The largest of the last axis, in order, and where they are."""
    dtype = node.results[1].dtype
    made = imp.emit(op.topk(x, node.attrs["k"], -1, "both", True, dtype))
    return [TupleGetItem(made, 0), TupleGetItem(made, 1)]


@convert("stablehlo.sort")
def sort(imp: StableHLOImporter, node: Operation, *operands: Any) -> Any:
    """All operands in the order of the first."""
    axis = node.attrs["dimension"] % len(node.operands[0].shape)
    down = _descending(node)
    if len(operands) == 1:
        return [op.sort(operands[0], axis, down)]
    order = imp.emit(op.argsort(operands[0], axis, down, "int64"))
    return [op.gather_elements(operand, order, axis) for operand in operands]


def _descending(node: Operation) -> bool:
    """Which way the region's last comparison of the first operand's elements goes."""
    region = node.regions[0]
    (result,) = region.results
    made = {value: one for one in region.operations[:-1] for value in one.results}
    last = made.get(result)
    if last is None or last.name != "stablehlo.compare":
        raise ValueError(message("sort", found="no comparison at the end", legal="LT or GT"))
    sides = []
    for operand in last.operands:
        todo, seen = [operand], set()
        while todo:
            value = todo.pop()
            seen |= {region.arguments.index(value)} if value in region.arguments else set()
            todo += made[value].operands if value in made else []
        sides.append(seen)
    way = direction(last)
    if sides not in ([{0}, {1}], [{1}, {0}]) or way not in ("LT", "GT", "LE", "GE"):
        legal = "a comparison of elements of the first operand"
        raise ValueError(message("sort", found=f"{way} of operands {sides}", legal=legal))
    return (way in ("GT", "GE")) == (sides[0] == {0})
