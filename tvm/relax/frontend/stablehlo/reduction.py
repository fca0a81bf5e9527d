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

from .program import Operation, Region, Value
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
    """All operands in the order of the first; or of several, where elements of one are equal."""
    axis = node.attrs["dimension"] % len(node.operands[0].shape)
    keys = _Comparison(node.regions[0]).keys()
    if len(operands) == 1:
        return [op.sort(operands[0], axis, keys[0][1])]
    # sorts are stable: the key that decides last comes first
    order: Any = None
    for place, down in reversed(keys):
        key = operands[place] if order is None else op.gather_elements(operands[place], order, axis)
        found = imp.emit(op.argsort(imp.emit(key), axis, down, "int64"))
        order = found if order is None else imp.emit(op.gather_elements(order, found, axis))
    return [op.gather_elements(operand, order, axis) for operand in operands]


class _Comparison:
    """What the region of a sort compares: a < b, or a < b | (a == b & the next key decides)."""

    def __init__(self, region: Region) -> None:
        self._region = region
        self._made = {value: one for one in region.operations[:-1] for value in one.results}

    def keys(self) -> list[tuple[int, bool]]:
        """The operands that decide, and whether each goes down; the first one first."""
        (value,) = self._region.results
        found: list[tuple[int, bool]] = []
        while True:
            last = self._made.get(value)
            if last is None or last.name not in ("stablehlo.compare", "stablehlo.or"):
                found_last = "no comparison at the end"
                raise ValueError(message("sort", found=found_last, legal="LT or GT"))
            if last.name == "stablehlo.compare":
                return [*found, self._key(last)]
            value = self._next(last, found)

    def _next(self, either: Operation, found: list[tuple[int, bool]]) -> Value:
        """Of `key decides | (key is equal & rest)` the rest; the key is found."""
        sides = [self._made.get(value) for value in either.operands]
        names = [one.name if one is not None else "" for one in sides]
        if sorted(names) != ["stablehlo.and", "stablehlo.compare"]:
            raise ValueError(message("sort", found=f"or of {names}", legal="a comparison, and"))
        first, both = sides if names[0] == "stablehlo.compare" else sides[::-1]
        assert first is not None and both is not None, "their names are known"
        found.append(self._key(first))
        for i, value in enumerate(both.operands):
            equal = self._made.get(value)
            if equal is None or equal.name != "stablehlo.compare" or direction(equal) != "EQ":
                continue
            if self._operand(equal)[0] == found[-1][0]:
                return both.operands[1 - i]
        raise ValueError(message("sort", found="no equality beside the next key", legal="EQ"))

    def _key(self, compared: Operation) -> tuple[int, bool]:
        place, forward = self._operand(compared)
        way = direction(compared)
        if way not in ("LT", "GT", "LE", "GE"):
            raise ValueError(message("sort", found=way, legal="LT or GT"))
        return place, (way in ("GT", "GE")) == forward

    def _operand(self, compared: Operation) -> tuple[int, bool]:
        """Which operand's two elements are compared, and whether in their order."""
        sides = []
        for operand in compared.operands:
            todo, seen = [operand], set()
            while todo:
                value = todo.pop()
                known = self._region.arguments
                seen |= {known.index(value)} if value in known else set()
                todo += self._made[value].operands if value in self._made else []
            sides.append(sorted(seen))
        if [len(side) for side in sides] == [1, 1]:
            a, b = sides[0][0], sides[1][0]
            if a // 2 == b // 2 and a != b:
                return a // 2, a < b
        legal = "a comparison of elements of one operand"
        raise ValueError(message("sort", found=f"a comparison of operands {sides}", legal=legal))
