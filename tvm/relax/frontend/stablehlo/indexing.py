"""Parts of tensors whose indices are computed: windows, gathers and scatters.

An index over several axes becomes one number, the offset in the flat tensor.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from tvm.error import message
from tvm.relax import op
from tvm.relax.expr import Constant

from .elementwise import constant
from .program import Operation
from .regions import combiner, gives_second
from .registry import convert
from .shape import extents

if TYPE_CHECKING:
    from .stablehlo_translator import StableHLOImporter


def _strides(shape: list[int]) -> list[int]:
    return [prod(shape[i + 1 :]) for i in range(len(shape))]


def _line(shape: list[int], axes: list[int], steps: list[int]) -> np.ndarray[Any, Any]:
    """For each element of a tensor: the sum of its indices along `axes`, each times its step."""
    total = np.zeros([1] * len(shape), "int64")
    for axis, step in zip(axes, steps):
        sizes = [extent if i == axis else 1 for i, extent in enumerate(shape)]
        total = total + np.arange(shape[axis]).reshape(sizes) * step
    return total


def _limited(x: Any, high: int) -> Any:
    limit = constant(max(high, 0), "int64")
    return op.minimum(op.maximum(op.astype(x, "int64"), constant(0, "int64")), limit)


def _flat_start(imp: StableHLOImporter, starts: Any, shape: list[int], sizes: list[int]) -> Any:
    """Where a window begins; one that would reach over the end begins earlier."""
    total: Any = constant(0, "int64")
    for start, extent, size, step in zip(starts, shape, sizes, _strides(shape)):
        part = op.multiply(_limited(start, extent - size), constant(step, "int64"))
        total = imp.emit(op.add(total, part))
    return total


@convert("stablehlo.dynamic_slice")
def dynamic_slice(imp: StableHLOImporter, node: Operation, x: Any, *starts: Any) -> Any:
    shape, sizes = extents(node.operands[0]), list(node.attrs["slice_sizes"])
    begin = _flat_start(imp, starts, shape, sizes)
    within = Constant(_line(sizes, list(range(len(sizes))), _strides(shape)).reshape(-1))
    flat = op.reshape(x, [prod(shape)])
    return op.reshape(op.take(flat, op.add(begin, within), 0), sizes)


@convert("stablehlo.dynamic_update_slice")
def dynamic_update_slice(
    imp: StableHLOImporter, node: Operation, x: Any, update: Any, *starts: Any
) -> Any:
    shape, sizes = extents(node.operands[0]), extents(node.operands[1])
    begin = _flat_start(imp, starts, shape, sizes)
    within = Constant(_line(sizes, list(range(len(sizes))), _strides(shape)).reshape(-1))
    flat, part = op.reshape(x, [prod(shape)]), op.reshape(update, [prod(sizes)])
    return op.reshape(op.scatter_elements(flat, op.add(begin, within), part, 0), shape)


def _vectors(
    imp: StableHLOImporter, node: Operation, indices: Any, axis: int, count: int
) -> list[Any]:
    """The parts of the index vectors that lie along an axis, each a tensor of the others."""
    shape = extents(node.operands[1])
    wide = imp.emit(op.astype(indices, "int64"))
    if axis == len(shape):
        return [wide]
    return [op.squeeze(op.strided_slice(wide, [axis], [i], [i + 1]), [axis]) for i in range(count)]


def _spread(x: Any, batch: list[int], result: list[int], axes: list[int]) -> Any:
    """A tensor over batch axes, reshaped so that they are the axes `axes` of a result."""
    sizes = [1] * len(result)
    for axis, extent in zip(axes, batch):
        sizes[axis] = extent
    return op.reshape(x, sizes)


@convert("stablehlo.gather")
def gather(imp: StableHLOImporter, node: Operation, x: Any, indices: Any) -> Any:
    """Windows of a tensor, one for each index vector; windows over the end begin earlier."""
    n, sizes = node.attrs["dimension_numbers"], [int(i) for i in node.attrs["slice_sizes"]]
    shape, result = extents(node.operands[0]), extents(node.results[0])
    batching = n.get("operand_batching_dims", [])
    dropped = {*n["collapsed_slice_dims"], *batching}
    kept = [axis for axis in range(len(shape)) if axis not in dropped]
    window = n["offset_dims"]
    batch_axes = [i for i in range(len(result)) if i not in window]
    axis = n["index_vector_dim"]
    batch = [extent for i, extent in enumerate(extents(node.operands[1])) if i != axis]
    steps = _strides(shape)
    total: Any = Constant(_line(result, window, [steps[i] for i in kept]))
    vectors = _vectors(imp, node, indices, axis, len(n["start_index_map"]))
    for to, vector in zip(n["start_index_map"], vectors):
        part = _spread(_limited(vector, shape[to] - sizes[to]), batch, result, batch_axes)
        total = imp.emit(op.add(total, op.multiply(part, constant(steps[to], "int64"))))
    total = imp.emit(op.add(total, Constant(_of_batches(n, "start_indices", batching, batch_axes,
                                                        result, steps))))  # fmt: skip
    flat = op.reshape(op.broadcast_to(total, result), [prod(result)])
    return op.reshape(op.take(op.reshape(x, [prod(shape)]), flat, 0), result)


def _of_batches(
    n: Any, side: str, batching: list[int], batch_axes: list[int], result: list[int],
    steps: list[int],
) -> np.ndarray[Any, Any]:
    """What the axes that data and indices have in common add to the flat offset."""
    vector = n["index_vector_dim"]
    shared = n.get(f"{side}_batching_dims", [])
    axes = [batch_axes[i - (i > vector)] for i in shared]
    return _line(result, axes, [steps[i] for i in batching])


_REDUCTIONS = {"add": "add", "multiply": "mul", "maximum": "max", "minimum": "min"}


@convert("stablehlo.scatter")
def scatter(imp: StableHLOImporter, node: Operation, *operands: Any) -> Any:
    """Elements of updates are written, or combined, where index vectors say; others are dropped."""
    if len(operands) != 3:
        raise ValueError(message("scatter", found=f"{len(operands) // 2} tensors", legal="one"))
    x, indices, updates = operands
    region, dtype = node.regions[0], node.results[0].dtype
    kind = "update" if gives_second(region) else _REDUCTIONS.get(combiner(region) or "")
    if kind is None:
        legal = f"a region that gives the update, or {', '.join(_REDUCTIONS)}"
        raise ValueError(message("scatter", found="another region", legal=legal))
    shape, count = extents(node.operands[0]), extents(node.operands[2])
    offsets = _scatter_offsets(imp, node, indices, shape, count)
    spare = Constant(np.zeros(1, "bool")) if dtype == "bool" else constant([0], dtype)
    flat = imp.emit(op.concat([op.reshape(x, [prod(shape)]), spare], 0))
    source = op.reshape(updates, [prod(count)])
    done = imp.emit(op.scatter_elements(flat, offsets, source, 0, kind))
    return op.reshape(op.strided_slice(done, [0], [0], [prod(shape)]), shape)


def _scatter_offsets(
    imp: StableHLOImporter, node: Operation, indices: Any, shape: list[int], count: list[int]
) -> Any:
    """For each update its offset in the flat tensor; out of bounds, that of the spare element."""
    n = node.attrs["scatter_dimension_numbers"]
    batching = n.get("input_batching_dims", [])
    dropped = {*n["inserted_window_dims"], *batching}
    kept = [axis for axis in range(len(shape)) if axis not in dropped]
    window = dict(zip(kept, n["update_window_dims"]))
    batch_axes = [i for i in range(len(count)) if i not in n["update_window_dims"]]
    axis = n["index_vector_dim"]
    batch = [extent for i, extent in enumerate(extents(node.operands[1])) if i != axis]
    targets = n["scattered_dims_to_operand_dims"]
    starts = dict(zip(targets, _vectors(imp, node, indices, axis, len(targets))))
    steps = _strides(shape)
    total: Any = Constant(_of_batches(n, "scatter_indices", batching, batch_axes, count, steps))
    inside: Any = None
    for i, step in enumerate(steps):
        at: Any = Constant(_line(count, [window[i]], [1])) if i in window else constant(0, "int64")
        if i in starts:
            at = imp.emit(op.add(_spread(starts[i], batch, count, batch_axes), at))
            fits = op.logical_and(
                op.greater_equal(at, constant(0, "int64")),
                op.less(at, constant(shape[i], "int64")),
            )
            inside = imp.emit(fits if inside is None else op.logical_and(inside, fits))
        total = imp.emit(op.add(total, op.multiply(at, constant(step, "int64"))))
    if inside is not None:
        total = op.where(inside, total, constant(prod(shape), "int64"))
    return imp.emit(op.reshape(op.broadcast_to(total, count), [prod(count)]))
