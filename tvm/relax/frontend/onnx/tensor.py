"""Tensors taken apart and put together: concat, split, slice, gather, pad, create."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant, PrimValue
from tvm.relax.extents import require_equal
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.tir.expr import IntImm

from .moving import padded, tiled
from .node import Node
from .registry import Result, convert
from .shape import long, places_from_front, shape_tensor

MAX_BYTES = 2**47
LONGEST = 10**9  # what exporters write for the end of any axis is at least this


@convert("Constant")
def constant(node: Node) -> Result:
    """Forms that are no shape arithmetic; the rest was read before."""
    value = node.attr("value", node.attr("sparse_value"))
    if not isinstance(value, np.ndarray):
        raise node.invalid("value", type(value).__name__, "a tensor of numbers")
    return Constant(value)


@convert("Concat")
def concat(node: Node) -> Result:
    axis = int(node.attr("axis", 1))
    return op.concat([node[i] for i in range(len(node.inputs))], axis)


@convert("Split")
def split(node: Node) -> Result:
    """Into given lengths, else into as many equal parts as there are outputs."""
    axis = node.axis(0)
    lengths = node.attr("split")
    if lengths is None and node.has(1):
        lengths = node.numbers(1, "split", node.output_count)
    extent = node.shape(0)[axis]
    if lengths is None and not isinstance(extent, IntImm):
        count = int(node.attr("num_outputs", node.output_count))
        size = tir.floordiv(extent + (count - 1), count)
        lengths = [*[size] * (count - 1), extent - size * (count - 1)]
    if lengths is not None and any(isinstance(length, PrimExpr) for length in lengths):
        return _split_at(node, axis, lengths)
    if lengths is None:
        parts: Any = int(node.attr("num_outputs", node.output_count))
    else:
        parts = [int(end) for end in np.cumsum(lengths)[:-1]]
    if parts in (1, []):
        return [node[0]]
    whole = node.bb.emit(op.split(node[0], parts, node.written_axis(0)))
    return [whole[i] for i in range(node.output_count)]


def _split_at(node: Node, axis: int, lengths: Sequence[PrimExpr | int]) -> Result:
    """Into lengths of which only running tells some."""
    parts: list[RelaxExpr] = []
    start: PrimExpr | int = 0
    for length in lengths:
        end = start + length
        parts.append(node.bb.emit(op.strided_slice(node[0], [axis], [start], [end])))
        start = end
    return parts


@convert("Slice")
def slice_attributes(node: Node) -> Result:
    starts, ends = list(node.attr("starts")), list(node.attr("ends"))
    axes = list(node.attr("axes", range(len(starts))))
    return op.strided_slice(node[0], axes, starts, ends)


@convert("Slice", since=10)
def slice_(node: Node) -> Result:
    if any(node.has(i) and node.known(i) is None for i in (3, 4)):
        return _slice_by_values(node)
    if node.known(1) is None or node.known(2) is None:
        steps = node.integers(4, "steps") if node.has(4) else ()
        return _slice_by_values(node) if min(steps, default=1) < 0 else _computed_slice(node)
    starts, ends = node.sizes(1, "starts"), node.sizes(2, "ends")
    axes = node.integers(3, "axes") if node.has(3) else list(range(len(starts)))
    steps = node.integers(4, "steps") if node.has(4) else [1] * len(starts)
    value = node[0]
    starts = [_start(node, *given) for given in zip(axes, starts, steps)]
    ends = [_end(node, axis, end) for axis, end in zip(axes, ends)]
    for place in [i for i, step in enumerate(steps) if step == 1]:
        count = _length(starts[place], ends[place])
        if count is not None:  # a window that moves as the model runs
            value = node.bb.emit(_window(node, value, axes[place], starts[place], count))
            starts[place], ends[place] = 0, count
    if all(isinstance(s, int) and s == 0 for s in starts) and value is not node[0]:
        return value
    return op.strided_slice(value, axes, starts, ends, steps)


def _start(node: Node, axis: int, start: PrimExpr | int, step: int) -> PrimExpr | int:
    """The start of a slice; backwards from before the first element is from that element."""
    extent = node.shape(0)[axis]
    before = isinstance(extent, IntImm) and isinstance(start, int) and start < -extent.value
    return 0 if before and step < 0 else start


def _end(node: Node, axis: int, end: PrimExpr | int) -> PrimExpr | int:
    """The end of a slice; what stands for the end of any axis is this one's extent."""
    extent = node.shape(0)[axis]
    if not isinstance(end, int) or end < LONGEST or isinstance(extent, IntImm):
        return end
    if end < MAX_BYTES:
        require_equal(node.bb, tir.min(tir.const(end, "int64"), extent), extent)
    return extent


def _length(start: PrimExpr | int, end: PrimExpr | int) -> int | None:
    """How long a slice from a symbolic place on is, if that is a number."""
    if isinstance(start, int) or isinstance(end, int):
        return None
    count = Analyzer().simplify(end - start)
    return count.value if isinstance(count, IntImm) and count.value > 0 else None


def _window(
    node: Node, value: RelaxExpr, axis: int, start: PrimExpr | int, count: int
) -> RelaxExpr:
    place = node.bb.emit(op.shape_to_tensor(ShapeExpr([start])))
    places = op.add(place, Constant(np.arange(count, dtype=np.int64)))
    return op.take(value, node.bb.emit(places), axis, mode="clip")


def _slice_by_values(node: Node) -> RelaxExpr:
    """Axes or steps that the model computes, or bounds that it computes for steps backward."""
    rank, count = node.rank(0), node.count(1)
    given = long(node, 3) if node.has(3) else Constant(np.arange(count, dtype=np.int64))
    places = node.bb.emit(places_from_front(given, rank))

    def filled(own: RelaxExpr, i: int) -> RelaxExpr:
        if not node.has(i):
            return own
        return node.bb.emit(op.scatter_elements(own, places, long(node, i), 0))

    begin = filled(Constant(np.zeros(rank, np.int64)), 1)
    end = filled(shape_tensor(node, node[0]), 2)
    strides = filled(Constant(np.ones(rank, np.int64)), 4)
    cut = node.bb.emit(op.dynamic_strided_slice(node[0], begin, end, strides))
    sizes = [tir.Var("size", "int64") for _ in range(rank)]
    return node.bb.match_cast(cut, TensorStructInfo(sizes, node.dtype(0)))


def _computed_slice(node: Node) -> RelaxExpr:
    """Bounds that the model computes, along known axes in known steps forward."""
    rank = node.rank(0)
    count = node.count(1)
    axes = [a % rank for a in (node.integers(3, "axes") if node.has(3) else range(count))]
    steps = node.integers(4, "steps") if node.has(4) else [1] * count
    if min(steps, default=1) < 1:
        raise node.invalid("steps", steps, "steps of one and more")
    extents = shape_tensor(node, node[0])
    own = node.bb.emit(op.take(extents, Constant(np.array(axes, np.int64)), 0))
    zero, whole = Constant(np.asarray(0, np.int64)), extents

    def bound(i: int) -> RelaxExpr:
        given = node.bb.emit(op.astype(node[i], "int64"))
        counted = op.where(op.less(given, zero), op.add(given, own), given)
        return node.bb.emit(op.minimum(op.maximum(counted, zero), own))

    places = Constant(np.array(axes, np.int64))
    begin = op.scatter_elements(Constant(np.zeros(rank, np.int64)), places, bound(1), 0)
    end = op.scatter_elements(whole, places, bound(2), 0)
    strides = np.ones(rank, np.int64)
    strides[axes] = steps
    cut = op.dynamic_strided_slice(
        node[0], node.bb.emit(begin), node.bb.emit(end), Constant(strides)
    )
    sizes = [tir.Var("size", "int64") if a in axes else e for a, e in enumerate(node.shape(0))]
    return node.bb.match_cast(node.bb.emit(cut), TensorStructInfo(sizes, node.dtype(0)))


@convert("Gather")
def gather(node: Node) -> Result:
    """Negative indices count from the end."""
    axis = node.axis(0)
    return op.take(node[0], node.bb.emit(_from_front(node, 1, [axis])), axis)


@convert("GatherElements")
def gather_elements(node: Node) -> Result:
    axis = node.axis(0)
    return op.gather_elements(node[0], _from_front(node, 1, [axis]), axis)


def _from_front(node: Node, i: int, axes: list[int]) -> RelaxExpr:
    """Indices into one axis, or (..., k) into k axes, with negative ones counted from the front."""
    shape = node.shape(0)
    extents = [shape[a] for a in axes]
    indices = node[i]
    if not all(isinstance(e, IntImm) for e in extents):
        if isinstance(indices, Constant) and indices.data.numpy().min(initial=0) >= 0:
            return indices
        hint = "from_front"
        return node.bb.emit_te(_counted, indices, extents, primfunc_name_hint=hint)
    ends = np.array([int(e) for e in extents], node.dtype(i))  # type: ignore[call-overload]
    ends = ends[0] if len(axes) == 1 else ends
    if isinstance(indices, Constant):
        values = indices.data.numpy()
        return Constant(np.where(values < 0, values + ends, values).astype(values.dtype))
    zero = Constant(np.asarray(0, node.dtype(i)))
    back = op.add(indices, Constant(np.asarray(ends)))
    return node.bb.emit(op.where(op.less(indices, zero), back, indices))


def _counted(indices: te.Tensor, extents: list[PrimExpr]) -> te.Tensor:
    """Indices from the front: into one axis, or in rows into several."""

    def element(*at: Any) -> PrimExpr:
        index = indices(*at)
        end = extents[-1].astype(index.dtype)
        for k in reversed(range(len(extents) - 1)):
            end = tir.Select(at[-1].equal(k), extents[k].astype(index.dtype), end)
        return tir.Select(index < tir.const(0, index.dtype), index + end, index)

    made: te.Tensor = te.compute(indices.shape, element, name="from_front")
    return made


def _axes_of_rows(node: Node, i: int, first: int = 0) -> list[int]:
    """The axes that rows (..., k) of indices go into."""
    width = node.shape(i)[-1]
    if not isinstance(width, IntImm):
        raise node.invalid(f"input {i}", str(width), "rows of a known length")
    return list(range(first, first + width.value))


@convert("GatherND")
def gather_nd(node: Node) -> Result:
    batch = int(node.attr("batch_dims", 0))
    indices = _from_front(node, 1, _axes_of_rows(node, 1, batch))
    return op.gather_nd(node[0], indices, batch)


def _reduction(node: Node) -> str:
    """How an element and what is written there meet, as Relax calls it."""
    name = str(node.attr("reduction", "none"))
    if name not in ("none", "add", "mul", "max", "min"):
        raise node.invalid("reduction", name, "none, add, mul, max, min")
    return "update" if name == "none" else name


@convert("Scatter", "ScatterElements")
def scatter_elements(node: Node) -> Result:
    reduction = _reduction(node)
    axis = node.axis(0)
    return op.scatter_elements(node[0], _from_front(node, 1, [axis]), node[2], axis, reduction)


@convert("ScatterND")
def scatter_nd(node: Node) -> Result:
    reduction = _reduction(node)
    indices = _from_front(node, 1, _axes_of_rows(node, 1))
    return op.scatter_nd(node[0], indices, node[2], reduction)


@convert("Tile")
def tile(node: Node) -> Result:
    rank = node.info(0).ndim
    times = node.numbers(1, "repeats", rank if rank >= 0 else None)
    numbers = [count for count in times if isinstance(count, int)]
    if len(numbers) == len(times):
        return op.tile(node[0], numbers)
    return node.bb.emit_te(tiled, node[0], times, primfunc_name_hint="tile")


@convert("Pad")
def pad_attributes(node: Node) -> Result:
    pads = node.attr("pads", node.attr("paddings"))  # as the first operator set calls them
    if pads is None:
        pads = node.required("pads")
    return _pad(node, [int(p) for p in pads], float(node.attr("value", 0.0)))


@convert("Pad", since=11)
def pad(node: Node) -> Result:
    rank = node.rank(0)
    axes = [a % rank for a in node.integers(3, "axes")] if node.has(3) else list(range(rank))
    pads = node.numbers(1, "pads", 2 * len(axes))
    if node.has(3):
        whole: list[PrimExpr | int] = [0] * (2 * rank)
        for i, axis in enumerate(axes):
            whole[axis], whole[axis + rank] = pads[i], pads[i + len(axes)]
        pads = whole
    value = node.scalar(2) if node.has(2) else 0.0
    mode = node.attr("mode", "constant")
    numbers = [p for p in pads if isinstance(p, int)]
    if len(numbers) < len(pads):
        filled = node[2] if value is None else float(value)
        return padded(node.bb, node[0], pads[:rank], pads[rank:], mode, filled)
    if value is None and mode == "constant":
        return _padded_with(node, numbers, node[2])
    return _pad(node, numbers, float(value or 0.0))


def _padded_with(node: Node, pads: list[int], value: RelaxExpr) -> RelaxExpr:
    """Pads of a value that the model computes."""
    inside = node.bb.emit(op.ones(node.shape(0), "bool"))
    rank = len(pads) // 2
    width = [max(pads[i + side * rank], 0) for i in range(rank) for side in (0, 1)]
    marks = op.nn.pad(_cropped(node, inside, pads), width)
    padded = node.bb.emit(_pad(node, pads, 0.0))
    return op.where(node.bb.emit(marks), padded, node.bb.emit(op.reshape(value, ())))


def _cropped(node: Node, value: RelaxExpr, pads: list[int]) -> RelaxExpr:
    """What negative pads leave of a tensor."""
    rank = len(pads) // 2
    axes = [a for a in range(rank) if pads[a] < 0 or pads[a + rank] < 0]
    if not axes:
        return value
    begin = [max(-pads[a], 0) for a in axes]
    end = [node.shape(0)[a] - max(-pads[a + rank], 0) for a in axes]
    return node.bb.emit(op.strided_slice(value, axes, begin, end))


def _pad(node: Node, pads: list[int], value: float) -> RelaxExpr:
    """ONNX lists all pads before, then all after; pairs are wanted here."""
    rank = len(pads) // 2
    mode = node.attr("mode", "constant")
    names = {"constant": "constant", "reflect": "reflect", "edge": "replicate", "wrap": "circular"}
    if mode not in names:
        raise node.invalid("mode", mode, ", ".join(names))
    width = [max(pads[i + side * rank], 0) for i in range(rank) for side in (0, 1)]
    kept = _cropped(node, node[0], pads)
    return op.nn.pad(kept, width, names[mode], value) if any(width) else kept


@convert("ConstantOfShape")
def constant_of_shape(node: Node) -> Result:
    value = node.attr("value")
    fill = np.zeros((), np.float32) if value is None else np.asarray(value).reshape(())
    sizes: Any = node.known(0)
    sizes = node.run_time_sizes(node[0]) if sizes is None else node.sizes(0, "shape")
    count = math.prod(size for size in sizes if isinstance(size, int))
    if count * fill.itemsize >= MAX_BYTES:
        raise node.invalid("the shape", sizes, "a tensor that an address space holds")
    if all(isinstance(size, int) for size in sizes):
        return op.full(sizes, Constant(fill), str(fill.dtype))
    return op.broadcast_to(Constant(fill), sizes)


@convert("Range")
def range_(node: Node) -> Result:
    parts = [node.known(i) for i in range(3)]
    if any(part is None for part in parts):
        return _computed_range(node)
    for name, part in zip(("start", "limit", "delta"), parts):
        if part is not None and (part.size != 1 or part.dtype.kind not in "iufO"):
            found = f"{part.dtype} of shape {part.shape}"
            raise node.invalid(name, found, "one number")
    values = [part.reshape(-1)[0] for part in parts if part is not None]
    plain = [v.item() if isinstance(v, np.generic) else v for v in values]
    return op.arange(plain[0], plain[1], plain[2], node.dtype(0))


def _computed_range(node: Node) -> RelaxExpr:
    """Between bounds that the model computes: as many steps as fit, then scaled and moved."""
    start, limit, delta = (node.bb.emit(op.reshape(node[i], [1])) for i in range(3))
    span = node.bb.emit(op.astype(op.subtract(limit, start), "float64"))
    steps = op.ceil(op.divide(span, op.astype(delta, "float64")))
    least = op.maximum(steps, Constant(np.float64(0)))
    count = node.run_time_sizes(node.bb.emit(op.astype(node.bb.emit(least), "int64")))
    places = node.bb.emit(op.astype(op.arange(0, count[0], 1, "int64"), node.dtype(0)))
    return op.add(op.multiply(places, delta), start)


@convert("OneHot")
def one_hot(node: Node) -> Result:
    depth = node.numbers(1, "depth", 1)[0]
    values = node.optional(2)
    if not isinstance(values, Constant) or not isinstance(depth, int):
        return _one_hot_of_sizes(node, depth)
    dtype = str(values.data.dtype)
    off, on = (PrimValue(tir.const(v.item(), dtype)) for v in values.data.numpy())
    places = node[0]
    if not node.dtype(0).startswith("int"):
        places = node.bb.emit(op.astype(places, "int64"))
    width = Constant(np.asarray(depth, str(places.struct_info.dtype)))  # type: ignore[attr-defined]
    low = Constant(np.asarray(0, width.data.numpy().dtype))
    places = node.bb.emit(op.where(op.less(places, low), op.add(places, width), places))
    return op.one_hot(places, on, off, depth, int(node.attr("axis", -1)))


def _one_hot_of_sizes(node: Node, depth: PrimExpr | int) -> RelaxExpr:
    """With a depth, or values, that only running tells."""
    rank = node.rank(0) + 1
    axis = int(node.attr("axis", -1)) % rank

    def compute(places: te.Tensor, values: te.Tensor) -> Any:
        shape = [*places.shape[:axis], depth, *places.shape[axis:]]

        def element(*at: Any) -> Any:
            wanted = places(*at[:axis], *at[axis + 1 :]).astype("int64")
            counted = tir.Select(wanted < 0, wanted + depth, wanted)
            here = tir.EQ(counted, at[axis].astype("int64"))
            return tir.Select(here, values(1), values(0))

        return te.compute(shape, element, name="one_hot")

    return node.bb.emit_te(compute, node[0], node[2], primfunc_name_hint="one_hot")


@convert("Trilu")
def trilu(node: Node) -> Result:
    k = node.numbers(1, "k", 1)[0] if node.has(1) else 0
    upper = bool(node.attr("upper", 1))
    if isinstance(k, int):
        result: Result = op.triu(node[0], k) if upper else op.tril(node[0], k)
        return result

    def compute(x: te.Tensor, k: PrimExpr) -> Any:
        def element(*at: Any) -> Any:
            kept = at[-1] >= at[-2] + k if upper else at[-1] <= at[-2] + k
            return tir.if_then_else(kept, x(*at), tir.const(0, x.dtype))

        return te.compute(x.shape, element, name="triangle")

    return node.bb.emit_te(compute, node[0], k, primfunc_name_hint="triangle")


@convert("DepthToSpace")
def depth_to_space(node: Node) -> Result:
    """(n, c * b * b, h, w) -> (n, c, h * b, w * b), by column (CRD) or by row (DCR) of channels."""
    block = int(node.attr("blocksize"))
    n, c, h, w = node.shape(0)
    channels = c // (block * block)
    if node.attr("mode", "DCR") == "DCR":
        parts = op.reshape(node[0], [n, block, block, channels, h, w])
        moved = op.permute_dims(parts, [0, 3, 4, 1, 5, 2])
    else:
        parts = op.reshape(node[0], [n, channels, block, block, h, w])
        moved = op.permute_dims(parts, [0, 1, 4, 2, 5, 3])
    return op.reshape(moved, [n, channels, h * block, w * block])


@convert("SpaceToDepth")
def space_to_depth(node: Node) -> Result:
    """(n, c, h * b, w * b) -> (n, c * b * b, h, w), by column (CRD) or by row (DCR) of channels."""
    block = int(node.attr("blocksize"))
    n, c, h, w = node.shape(0)
    parts = op.reshape(node[0], [n, c, h // block, block, w // block, block])
    by_row = node.attr("mode", "DCR") == "DCR"
    moved = op.permute_dims(parts, [0, 3, 5, 1, 2, 4] if by_row else [0, 1, 3, 5, 2, 4])
    return op.reshape(moved, [n, c * block * block, h // block, w // block])
