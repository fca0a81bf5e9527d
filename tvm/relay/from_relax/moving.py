"""Operators that move elements: shapes, slices, gathering, scattering."""

from __future__ import annotations

from typing import Any

from tvm.relay import op as _op
from tvm.relay.expr import TupleGetItem, const

from .elementwise import dtype_of
from .linear import extents
from .reduction import ints
from .translate import Translator, as_number, rule


def rank_of(call: Any, at: int = 0) -> int:
    """How many axes an operand has."""
    info: Any = call.args[at].struct_info
    return int(info.ndim)


@rule("relax.reshape")
def reshape(t: Translator, call: Any, x: Any, shape: Any) -> Any:
    """The elements in another shape; one extent that is not known is what the others leave."""
    if isinstance(shape, list):
        known = [as_number(extent) for extent in shape]
        unknown = [at for at, extent in enumerate(known) if not isinstance(extent, int)]
        if len(unknown) == 1 and 0 not in known:
            return _op.reshape(x, [-1 if at in unknown else e for at, e in enumerate(known)])
    made = t.shape(shape)
    if isinstance(made, list) and 0 not in made:
        return _op.reshape(x, made)
    return _op.reshape(x, made, allowzero=True)


@rule("relax.flatten")
def flatten(t: Translator, call: Any, x: Any) -> Any:
    """One axis."""
    return _op.reshape(x, [-1])


@rule("relax.permute_dims")
def permute_dims(t: Translator, call: Any, x: Any) -> Any:
    """Axes in another order."""
    return _op.transpose(x, ints(call.attrs.axes))


@rule("relax.expand_dims")
def expand_dims(t: Translator, call: Any, x: Any) -> Any:
    """Axes of one element."""
    rank = rank_of(call) + len(call.attrs.axis)
    for axis in sorted(int(axis) % rank for axis in call.attrs.axis):
        x = _op.expand_dims(x, axis)
    return x


@rule("relax.squeeze")
def squeeze(t: Translator, call: Any, x: Any) -> Any:
    """Without axes of one element."""
    return _op.squeeze(x, ints(call.attrs.axis))


@rule("relax.broadcast_to")
def broadcast_to(t: Translator, call: Any, x: Any, shape: Any) -> Any:
    """Repeated along axes of one element."""
    return _op.broadcast_to(x, t.shape(shape))


@rule("relax.concat")
def concat(t: Translator, call: Any, parts: Any) -> Any:
    """One behind the other."""
    rank = int(call.struct_info.ndim)
    return _op.concatenate(_fields(call, parts), int(call.attrs.axis or 0) % rank)


def _fields(call: Any, parts: Any) -> Any:
    if isinstance(parts, (list, tuple)):
        return list(parts)
    info: Any = call.args[0].struct_info
    return [TupleGetItem(parts, at) for at in range(len(info.fields))]


@rule("relax.stack")
def stack(t: Translator, call: Any, parts: Any) -> Any:
    """Along a new axis."""
    rank = int(call.struct_info.ndim)
    return _op.stack(_fields(call, parts), int(call.attrs.axis or 0) % rank)


@rule("relax.split")
def split(t: Translator, call: Any, x: Any) -> Any:
    """In parts along an axis; the last one of equal parts may be shorter."""
    axis = int(call.attrs.axis) % rank_of(call)
    infos: Any = call.struct_info
    count, given = len(infos.fields), call.attrs.indices_or_sections
    if isinstance(given, (list, tuple)):
        return _items(_op.split(x, tuple(ints(given)), axis), count)
    whole = extents(call.args[0].struct_info)[axis]
    if whole is None or whole % int(given) == 0:
        return _items(_op.split(x, int(given), axis), count)
    size = -(-whole // int(given))
    return _items(_op.split(x, tuple(size * at for at in range(1, count)), axis), count)


def _items(value: Any, count: int) -> Any:
    whole = getattr(value, "tuple_value", value)
    return tuple([TupleGetItem(whole, at) for at in range(count)])


@rule("relax.tile")
def tile(t: Translator, call: Any, x: Any) -> Any:
    """Copies along axes."""
    return _op.tile(x, ints(call.attrs.repeats))


@rule("relax.repeat")
def repeat(t: Translator, call: Any, x: Any) -> Any:
    """Each element several times."""
    axis = call.attrs.axis
    if axis is None:
        x, axis = _op.reshape(x, [-1]), 0
    return _op.repeat(x, int(call.attrs.repeats), int(axis))


@rule("relax.flip")
def flip(t: Translator, call: Any, x: Any) -> Any:
    """From the end."""
    return _op.reverse(x, int(call.attrs.axis))


@rule("relax.strided_slice")
def strided_slice(t: Translator, call: Any, x: Any, axes: Any, *ends: Any) -> Any:
    """Every n-th element from a first one on."""
    count = len(axes)
    begin, end, *rest = [[as_number(v) for v in given] for given in ends]
    steps = rest[0] if rest else [1] * count
    plain = [int(as_number(axis)) for axis in axes]
    known = all(isinstance(v, int) for v in (*begin, *end, *steps))
    if known:
        return _op.strided_slice(x, begin, end, steps, axes=plain)
    rank = rank_of(call)
    shape = _op.shape_of(x, "int64")
    last = [t.extent_at(shape, at) for at in range(rank)]
    whole: list[list[Any]] = [[0] * rank, last, [1] * rank]
    for at, axis in enumerate(plain):
        for values, given in zip(whole, (begin, end, steps)):
            values[axis] = t.scalar(given[at])
    return _op.strided_slice(x, *(t.shape_tensor(values) for values in whole))


@rule("relax.dynamic_strided_slice")
def dynamic_strided_slice(t: Translator, call: Any, x: Any, *ends: Any) -> Any:
    """As above, with ends that are tensors."""
    return _op.strided_slice(x, *ends)


@rule("relax.shape_of")
def shape_of(t: Translator, call: Any, x: Any) -> Any:
    """The extents, in int64."""
    return _op.shape_of(x, "int64")


@rule("relax.shape_to_tensor")
def shape_to_tensor(t: Translator, call: Any, shape: Any) -> Any:
    """A shape as a vector."""
    return t.tensor(shape)


@rule("relax.tensor_to_shape")
def tensor_to_shape(t: Translator, call: Any, x: Any) -> Any:
    """A vector as a shape: Relay takes vectors."""
    return x if dtype_of(call, 0) == "int64" else _op.cast(x, "int64")


@rule("relax.take")
def take(t: Translator, call: Any, x: Any, indices: Any) -> Any:
    """Elements, or slices, by their indices."""
    axis = call.attrs.axis
    mode = str(call.attrs.mode)
    return _op.take(x, t.tensor(indices), axis=None if axis is None else int(axis), mode=mode)


@rule("relax.gather_elements")
def gather_elements(t: Translator, call: Any, x: Any, indices: Any) -> Any:
    """Elements by their indices along an axis."""
    return _op.gather(x, int(call.attrs.axis), indices)


def _first(call: Any, indices: Any, at: int = 1) -> Any:
    """Indices whose coordinates stand along the first axis, as Relay has them."""
    rank = rank_of(call, at)
    return indices if rank == 1 else _op.transpose(indices, [rank - 1, *range(rank - 1)])


@rule("relax.gather_nd")
def gather_nd(t: Translator, call: Any, x: Any, indices: Any) -> Any:
    """Slices by coordinates."""
    return _op.gather_nd(x, _first(call, indices), batch_dims=int(call.attrs.batch_dims))


@rule("relax.scatter_elements")
def scatter_elements(t: Translator, call: Any, x: Any, indices: Any, values: Any) -> Any:
    """A copy with elements put along an axis."""
    return _op.scatter_elements(
        x, indices, values, axis=int(call.attrs.axis), reduction=str(call.attrs.reduction)
    )


@rule("relax.scatter_nd")
def scatter_nd(t: Translator, call: Any, x: Any, indices: Any, values: Any) -> Any:
    """A copy with slices put at coordinates."""
    return _op.scatter_nd(x, _first(call, indices), values, mode=str(call.attrs.reduction))


@rule("relax.index_tensor")
def index_tensor(t: Translator, call: Any, x: Any, indices: Any) -> Any:
    """numpy's x[i, j, ...] with arrays."""
    return _op.adv_index([x, *_fields_of(indices)])


def _fields_of(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


@rule("relax.one_hot")
def one_hot(t: Translator, call: Any, indices: Any, on: Any, off: Any) -> Any:
    """One value at indices, another one elsewhere."""
    dtype = dtype_of(call)
    one, other = (t.tensor(v, dtype) for v in (on, off))
    return _op.one_hot(indices, one, other, int(call.attrs.depth), int(call.attrs.axis), dtype)


@rule("relax.tril", "relax.triu")
def triangle(t: Translator, call: Any, x: Any, k: Any) -> Any:
    """The elements on one side of a diagonal."""
    return _op.trilu(x, const(int(k), "int64"), upper=call.op.name.endswith("triu"))


@rule("relax.meshgrid")
def meshgrid(t: Translator, call: Any, parts: Any) -> Any:
    """Grids of coordinates."""
    indexing = str(call.attrs.indexing or "ij")
    infos: Any = call.struct_info
    return _items(_op.meshgrid(_fields(call, parts), indexing), len(infos.fields))


@rule("relax.slice_scatter")
def slice_scatter(
    t: Translator, call: Any, x: Any, part: Any, start: Any, end: Any, step: Any
) -> Any:
    """A copy with a slice along one axis replaced."""
    axis = int(call.attrs.axis)
    ends = [const([int(as_number(v))], "int64") for v in (start, end, step)]
    rank = rank_of(call)
    if axis % rank == 0:
        shape = _op.shape_of(x, "int64")
        rest = _op.strided_slice(shape, [1], [rank])
        zeros, ones = _op.zeros_like(rest), _op.ones_like(rest)
        begin, stop, steps = (
            _op.concatenate([a, b], 0) if rank > 1 else a for a, b in zip(ends, (zeros, rest, ones))
        )
        return _op.strided_set(x, part, begin, stop, steps)
    order = [axis % rank, *(at for at in range(rank) if at != axis % rank)]
    back = [order.index(at) for at in range(rank)]
    shape = _op.shape_of(_op.transpose(x, order), "int64")
    rest = _op.strided_slice(shape, [1], [rank])
    begin, stop, steps = (
        _op.concatenate([a, b], 0)
        for a, b in zip(ends, (_op.zeros_like(rest), rest, _op.ones_like(rest)))
    )
    made = _op.strided_set(_op.transpose(x, order), _op.transpose(part, order), begin, stop, steps)
    return _op.transpose(made, back)
