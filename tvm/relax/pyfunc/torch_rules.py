"""How operators on tensors are said in torch: operands, options and their order.

A rule takes the torch module, the operands and the options of a call. It gives the result, whose
data type the caller sets right, or None where torch has no form of what is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

from tvm.relax.py_tensors import is_torch

Rule: TypeAlias = Callable[[Any, list[Any], dict[str, Any]], Any]
Options: TypeAlias = Mapping[str, Any]


def numbers(value: Any) -> Any:
    """Attributes as plain numbers."""
    if isinstance(value, (list, tuple)) or type(value).__name__ == "Array":
        return [numbers(one) for one in value]
    return getattr(value, "value", value)


def axis_of(options: Options, key: str = "axis") -> Any:
    return numbers(options.get(key))


def dtype_of(library: Any, options: Options, key: str = "dtype") -> Any:
    """The data type of an option; None where it says nothing."""
    return getattr(library, str(options.get(key)), None)


def _shape(given: Any) -> tuple[int, ...]:
    return tuple(int(extent) for extent in given)


def _long(library: Any, indices: Any) -> Any:
    return indices.to(library.int64)


# --- elementwise ---


def _divide(library: Any, args: list[Any], options: Options) -> Any:
    if not all(is_torch(arg) and arg.is_floating_point() for arg in args):
        return None
    return library.div(*args)


def _astype(library: Any, args: list[Any], options: Options) -> Any:
    kind = dtype_of(library, options)
    return None if kind is None else args[0].to(kind)


def _clip(library: Any, args: list[Any], options: Options) -> Any:
    return library.clamp(args[0], min=args[1], max=args[2])


def _ewise_fma(library: Any, args: list[Any], options: Options) -> Any:
    a, b, c = args
    return library.addcmul(c, a, b)


def _masked_fill(library: Any, args: list[Any], options: Options) -> Any:
    return library.masked_fill(*args)


def _along(values: Any, rank: int, axis: int) -> Any:
    """One number, or a vector along an axis, in single precision."""
    shape = [1] * rank
    if values.dim():
        shape[axis] = -1
    return values.float().reshape(shape)


def _quantize(library: Any, args: list[Any], options: Options) -> Any:
    """round(x / scale) + zero point, within the bounds of the type."""
    x, scale, zero = args
    kind, axis = dtype_of(library, options, "out_dtype"), axis_of(options)
    if kind is None or kind.is_floating_point:
        return None
    limits = library.iinfo(kind)
    scaled = library.round(x.float() / _along(scale, x.dim(), axis))
    moved = scaled + _along(zero, x.dim(), axis)
    return library.clamp(moved, limits.min, limits.max).to(kind)


def _dequantize(library: Any, args: list[Any], options: Options) -> Any:
    x, scale, zero = args
    axis = axis_of(options)
    moved = x.float() - _along(zero, x.dim(), axis)
    return moved * _along(scale, x.dim(), axis)


# --- reductions and scans ---


def _reduce(word: str, **fixed: Any) -> Rule:
    def call(library: Any, args: list[Any], options: Options) -> Any:
        (x,) = args
        dims = axis_of(options)
        every = list(range(x.dim()))
        keep = bool(options.get("keepdims", False))
        over = every if dims is None else dims
        return getattr(library, word)(x, dim=over, keepdim=keep, **fixed)

    return call


def _prod(library: Any, args: list[Any], options: Options) -> Any:
    """Axis by axis, the last one first: torch takes one at a time."""
    (x,) = args
    dims = axis_of(options)
    keep = bool(options.get("keepdims", False))
    for axis in sorted((a % x.dim() for a in range(x.dim()) if dims is None), reverse=True) or (
        sorted((a % x.dim() for a in dims or ()), reverse=True)
    ):
        x = library.prod(x, dim=axis, keepdim=keep)
    return x


def _extreme_index(word: str) -> Rule:
    """Where the largest or smallest element is, the first one of equals."""

    def call(library: Any, args: list[Any], options: Options) -> Any:
        (x,) = args
        axis, keep = axis_of(options), bool(options.get("keepdims", False))
        if axis is None:
            found = getattr(library, word)(x)
            return found.reshape([1] * x.dim()) if keep else found
        return getattr(library, word)(x, dim=axis, keepdim=keep)

    return call


def _scan(word: str, neutral: int) -> Rule:
    def call(library: Any, args: list[Any], options: Options) -> Any:
        x, axis = args[0], axis_of(options)
        if axis is None:
            x, axis = x.reshape(-1), 0
        kind = dtype_of(library, options) or x.dtype
        total = getattr(library, word)(x, dim=axis, dtype=kind)
        if not numbers(options.get("exclusive", False)):
            return total
        first = library.full_like(total.narrow(axis, 0, 1), neutral)
        return library.cat([first, total.narrow(axis, 0, total.shape[axis] - 1)], dim=axis)

    return call


# --- products ---


def _einsum(library: Any, args: list[Any], options: Options) -> Any:
    return library.einsum(str(options["subscripts"]), *args[0])


def _linear(library: Any, args: list[Any], options: Options) -> Any:
    return library.nn.functional.linear(*args)


# --- the same elements in another shape or order ---


def _permute(library: Any, args: list[Any], options: Options) -> Any:
    axes = axis_of(options, "axes")
    return library.permute(args[0], axes or list(range(args[0].dim()))[::-1])


def _reshape(library: Any, args: list[Any], options: Options) -> Any:
    return library.reshape(args[0], _shape(args[1]))


def _broadcast_to(library: Any, args: list[Any], options: Options) -> Any:
    return library.broadcast_to(args[0], _shape(args[1]))


def _flatten(library: Any, args: list[Any], options: Options) -> Any:
    return library.flatten(args[0])


def _concat(library: Any, args: list[Any], options: Options) -> Any:
    axis = axis_of(options)
    if axis is None:
        return library.cat([one.reshape(-1) for one in args[0]])
    return library.cat(list(args[0]), dim=int(axis))


def _stack(library: Any, args: list[Any], options: Options) -> Any:
    return library.stack(list(args[0]), dim=int(axis_of(options) or 0))


def _split(library: Any, args: list[Any], options: Options) -> Any:
    pieces = axis_of(options, "indices_or_sections")
    axis = int(axis_of(options))
    if isinstance(pieces, int):
        length = -(-args[0].shape[axis] // pieces)
        return tuple(library.split(args[0], length, dim=axis))
    return tuple(library.tensor_split(args[0], pieces, dim=axis))


def _expand_dims(library: Any, args: list[Any], options: Options) -> Any:
    x = args[0]
    axes = axis_of(options)
    rank = x.dim() + len(axes)
    for axis in sorted(a % rank for a in axes):
        x = library.unsqueeze(x, axis)
    return x


def _squeeze(library: Any, args: list[Any], options: Options) -> Any:
    axes = axis_of(options)
    return library.squeeze(args[0]) if axes is None else library.squeeze(args[0], dim=tuple(axes))


def _flip(library: Any, args: list[Any], options: Options) -> Any:
    return library.flip(args[0], dims=[int(axis_of(options))])


def _roll(library: Any, args: list[Any], options: Options) -> Any:
    return library.roll(args[0], axis_of(options, "shift"), axis_of(options))


def _rot90(library: Any, args: list[Any], options: Options) -> Any:
    return library.rot90(args[0], axis_of(options, "k"), axis_of(options, "axes"))


def _repeat(library: Any, args: list[Any], options: Options) -> Any:
    return library.repeat_interleave(args[0], axis_of(options, "repeats"), dim=axis_of(options))


def _tile(library: Any, args: list[Any], options: Options) -> Any:
    counts = axis_of(options, "repeats")
    return library.tile(args[0], tuple(counts) if isinstance(counts, list) else (counts,))


def _meshgrid(library: Any, args: list[Any], options: Options) -> Any:
    return tuple(library.meshgrid(*args[0], indexing=str(options.get("indexing") or "ij")))


def _layout_transform(library: Any, args: list[Any], options: Options) -> Any:
    """Indices of the old layout in the flat new one; what no element goes to is padding."""
    from tvm.relax.op.manipulate import layout_indices
    from tvm.relax.struct_info import const_int

    x, index_map, pad = args[0], options["index_map"], numbers(options.get("pad_value"))
    shape = [const_int(extent) or 0 for extent in index_map.map_shape(tuple(x.shape))]
    if pad is None:
        pad = 0
    made = library.full(shape, pad, dtype=x.dtype)
    axes_of = layout_indices(index_map, tuple(x.shape))
    made[tuple(library.from_numpy(index.copy()) for index in axes_of)] = x
    return made


# --- new tensors ---


def _arange(library: Any, args: list[Any], options: Options) -> Any:
    return library.arange(*args, dtype=dtype_of(library, options))


def _filled(word: str) -> Rule:
    """`zeros` and `ones`, of a shape or like another tensor."""

    def call(library: Any, args: list[Any], options: Options) -> Any:
        given = args[0] if is_torch(args[0]) else _shape(args[0])
        return getattr(library, word)(given, dtype=dtype_of(library, options))

    return call


def _full(library: Any, args: list[Any], options: Options) -> Any:
    value = args[1]
    kind = dtype_of(library, options) or value.dtype
    return library.full(_shape(args[0]), value.item(), dtype=kind)


def _full_like(library: Any, args: list[Any], options: Options) -> Any:
    return library.full_like(args[0], args[1].item(), dtype=dtype_of(library, options))


def _shifted_eye(library: Any, n: int, m: int, k: int, dtype: Any) -> Any:
    wide = library.eye(n + abs(k), m + abs(k), dtype=dtype)
    return wide[k:, :m][:n] if k >= 0 else wide[:n, -k:]


def _eye(library: Any, args: list[Any], options: Options) -> Any:
    n, m, k = (int(arg) for arg in args)
    return _shifted_eye(library, n, m, k, dtype_of(library, options))


def _eye_like(library: Any, args: list[Any], options: Options) -> Any:
    n, m = args[0].shape
    kind = dtype_of(library, options) or args[0].dtype
    return _shifted_eye(library, n, m, int(args[1]), kind)


def _hamming_window(library: Any, args: list[Any], options: Options) -> Any:
    size, periodic, alpha, beta = args
    kind = dtype_of(library, options)
    return library.hamming_window(int(size), bool(periodic), alpha, beta, dtype=kind)


def _triangle(word: str) -> Rule:
    def call(library: Any, args: list[Any], options: Options) -> Any:
        k = args[1] if len(args) > 1 else options.get("k", 0)
        return getattr(library, word)(args[0], int(numbers(k)))

    return call


# --- order ---


def _sort(library: Any, args: list[Any], options: Options) -> Any:
    descending = bool(numbers(options.get("descending", False)))
    return library.sort(args[0], dim=axis_of(options), descending=descending, stable=True).values


def _argsort(library: Any, args: list[Any], options: Options) -> Any:
    descending = bool(numbers(options.get("descending", False)))
    return library.argsort(args[0], dim=axis_of(options), descending=descending, stable=True)


def _topk(library: Any, args: list[Any], options: Options) -> Any:
    """A stable sort, cut off: `torch.topk` takes any of equal elements."""
    x, k, axis = args[0], int(axis_of(options, "k")), int(axis_of(options))
    largest = bool(numbers(options.get("largest", True)))
    values, indices = library.sort(x, dim=axis, descending=largest, stable=True)
    count = k if k > 0 else x.shape[axis]
    values, indices = values.narrow(axis, 0, count), indices.narrow(axis, 0, count)
    indices = indices.to(dtype_of(library, options) or indices.dtype)
    wanted = str(options.get("ret_type", "both"))
    return {"both": (values, indices), "values": values, "indices": indices}[wanted]


def _unique(library: Any, args: list[Any], options: Options) -> Any:
    """Torch does not say where values were found first, and always sorts."""
    x, _, index, inverse, counts, *rest = args
    axis = rest[0] if rest else None
    if index or (axis is not None and int(axis) < 0):
        return None
    return library.unique(
        x, sorted=True, return_inverse=bool(inverse), return_counts=bool(counts),
        dim=None if axis is None else int(axis),
    )  # fmt: skip


def _bucketize(library: Any, args: list[Any], options: Options) -> Any:
    narrow, right = (bool(numbers(options.get(key, False))) for key in ("out_int32", "right"))
    return library.bucketize(args[0], args[1], out_int32=narrow, right=right)


def _multinomial(library: Any, args: list[Any], options: Options) -> Any:
    """The first index whose running sum is above the sample."""
    prob, sample, rows = args
    total = library.cumsum(prob, 1)[_long(library, rows)[:, 0]].contiguous()
    found = library.searchsorted(total, sample.to(prob.dtype), right=True)
    return library.clamp(found, max=prob.shape[1] - 1)


# --- elements by their indices ---


def _take(library: Any, args: list[Any], options: Options) -> Any:
    x, indices = args
    axis, mode = axis_of(options), str(options.get("mode", "fast"))
    if axis is None:
        x, axis = x.reshape(-1), 0
    axis %= x.dim()
    extent = x.shape[axis]
    indices = _long(library, indices) if is_torch(indices) else library.tensor(int(indices))
    if mode == "nan":
        return None
    if mode == "clip":
        indices = library.clamp(indices, 0, extent - 1)
    elif mode == "wrap":
        indices = library.remainder(indices, extent)
    else:
        indices = library.where(indices < 0, indices + extent, indices)
    found = library.index_select(x, axis, indices.reshape(-1))
    return found.reshape([*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :]])


def _from_front(library: Any, indices: Any, extent: int) -> Any:
    indices = _long(library, indices)
    return library.where(indices < 0, indices + extent, indices)


def _gather_elements(library: Any, args: list[Any], options: Options) -> Any:
    x, indices = args
    axis = int(axis_of(options))
    return library.gather(x, axis, _from_front(library, indices, x.shape[axis]))


def _gather_nd(library: Any, args: list[Any], options: Options) -> Any:
    x, indices = args[0], _long(library, args[1])
    lead = int(axis_of(options, "batch_dims") or 0)
    width = indices.dim() - 1
    at = []
    for i in range(lead):  # the same index of the batch for each index within it
        shape = [1] * width
        shape[i] = -1
        at.append(library.arange(x.shape[i]).reshape(shape))
    where = (*at, *indices.unbind(-1))
    return x[where]


def _index_tensor(library: Any, args: list[Any], options: Options) -> Any:
    return args[0][tuple(_long(library, index) for index in args[1])]


def _index_put(library: Any, args: list[Any], options: Options) -> Any:
    x, indices, values = args
    where = tuple(index if index.dtype == library.bool else _long(library, index)
                  for index in (indices if isinstance(indices, tuple) else (indices,)))  # fmt: skip
    add = bool(numbers(options.get("accumulate", False)))
    return library.index_put(x, where, values.to(x.dtype), accumulate=add)


def _nonzero(library: Any, args: list[Any], options: Options) -> Any:
    return library.nonzero(args[0]).T.contiguous()


def _one_hot(library: Any, args: list[Any], options: Options) -> Any:
    indices, on, off = args
    depth = int(axis_of(options, "depth"))
    indices = _long(library, indices)
    inside = (indices >= 0) & (indices < depth)
    held = library.nn.functional.one_hot(library.where(inside, indices, 0), depth).bool()
    held = library.movedim(held & inside[..., None], -1, int(axis_of(options)))
    return library.where(held, on, off)


_SCATTERS: Final = {"mul": "prod", "max": "amax", "min": "amin", "mean": "mean"}


def _scatter_elements(library: Any, args: list[Any], options: Options) -> Any:
    x, indices, updates = args
    axis, how = int(axis_of(options)), str(options.get("reduction", "update"))
    indices = _from_front(library, indices, x.shape[axis])
    if how == "update":
        return library.scatter(x, axis, indices, updates)
    if how == "add":
        return library.scatter_add(x, axis, indices, updates)
    return library.scatter_reduce(x, axis, indices, updates, _SCATTERS[how], include_self=True)


def _scatter_nd(library: Any, args: list[Any], options: Options) -> Any:
    """`updates` at elements whose coordinates are along the last axis."""
    x, indices, updates = args[0], _long(library, args[1]), args[2]
    at, how = indices.unbind(-1), str(options.get("reduction", "update"))
    if how in ("update", "add"):
        return library.index_put(x, at, updates, accumulate=how == "add")
    depth = indices.shape[-1]
    row = library.zeros(indices.shape[:-1], dtype=library.int64)
    for axis, index in enumerate(at):
        row = row * x.shape[axis] + _from_front(library, index, x.shape[axis])
    count = 1
    for extent in x.shape[:depth]:
        count *= extent
    flat, new = x.reshape(count, -1), updates.reshape(row.numel(), -1)
    wide = row.reshape(-1, 1).expand(new.shape)
    found = library.scatter_reduce(flat, 0, wide, new, _SCATTERS[how], include_self=True)
    return found.reshape(x.shape)


def _slice_scatter(library: Any, args: list[Any], options: Options) -> Any:
    x, part, start, end, step = args
    axis = int(axis_of(options))
    return library.slice_scatter(x, part, axis, int(start), int(end), int(step))


def _sliced(library: Any, x: Any, axes: Any, begin: Any, end: Any, strides: Any) -> Any:
    """Slices with steps in both directions; torch itself has only those that go forwards."""
    for axis, first, last, step in zip(axes, begin, end, strides):
        indices = range(x.shape[axis])[slice(first, last, step)]
        if step > 0:
            x = library.narrow(x, axis, indices.start if len(indices) else 0,
                               indices[-1] - indices[0] + 1 if len(indices) else 0)  # fmt: skip
            x = x[(slice(None),) * (axis % x.dim()) + (slice(None, None, step),)]
        else:
            x = library.index_select(x, axis, library.tensor(list(indices), dtype=library.int64))
    return x


def _strided_slice(library: Any, args: list[Any], options: Options) -> Any:
    x, axes, begin, end, *rest = args
    strides = rest[0] if rest else [1] * len(axes)
    given = [[int(one) for one in part] for part in (axes, begin, end, strides)]
    return _sliced(library, x, *given)


def _dynamic_strided_slice(library: Any, args: list[Any], options: Options) -> Any:
    x, *bounds = args
    given = [[int(one) for one in part] for part in bounds]
    return _sliced(library, x, range(x.dim()), *given)


RULES: Final[dict[str, Rule]] = {
    "arange": _arange,
    "argmax": _extreme_index("argmax"),
    "argmin": _extreme_index("argmin"),
    "argsort": _argsort,
    "astype": _astype,
    "broadcast_to": _broadcast_to,
    "bucketize": _bucketize,
    "clip": _clip,
    "concat": _concat,
    "cumprod": _scan("cumprod", 1),
    "cumsum": _scan("cumsum", 0),
    "dequantize": _dequantize,
    "divide": _divide,
    "dynamic_strided_slice": _dynamic_strided_slice,
    "einsum": _einsum,
    "ewise_fma": _ewise_fma,
    "expand_dims": _expand_dims,
    "eye": _eye,
    "eye_like": _eye_like,
    "flatten": _flatten,
    "flip": _flip,
    "full": _full,
    "full_like": _full_like,
    "gather_elements": _gather_elements,
    "gather_nd": _gather_nd,
    "hamming_window": _hamming_window,
    "index_put": _index_put,
    "index_tensor": _index_tensor,
    "layout_transform": _layout_transform,
    "linear": _linear,
    "masked_fill": _masked_fill,
    "max": _reduce("amax"),
    "mean": _reduce("mean"),
    "meshgrid": _meshgrid,
    "min": _reduce("amin"),
    "multinomial_from_uniform": _multinomial,
    "nonzero": _nonzero,
    "one_hot": _one_hot,
    "ones": _filled("ones"),
    "ones_like": _filled("ones_like"),
    "permute_dims": _permute,
    "prod": _prod,
    "quantize": _quantize,
    "repeat": _repeat,
    "reshape": _reshape,
    "roll": _roll,
    "rot90": _rot90,
    "scatter_elements": _scatter_elements,
    "scatter_nd": _scatter_nd,
    "slice_scatter": _slice_scatter,
    "sort": _sort,
    "split": _split,
    "squeeze": _squeeze,
    "stack": _stack,
    "std": _reduce("std", correction=0),
    "strided_slice": _strided_slice,
    "sum": _reduce("sum"),
    "take": _take,
    "tile": _tile,
    "topk": _topk,
    "tril": _triangle("tril"),
    "triu": _triangle("triu"),
    "unique": _unique,
    "variance": _reduce("var", correction=0),
    "zeros": _filled("zeros"),
    "zeros_like": _filled("zeros_like"),
}
