"""Shapes: reshape, transpose, broadcast, and the shape of a value."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant, PrimValue
from tvm.relax.extents import common_extent, repeated
from tvm.relax.struct_info import ShapeExpr
from tvm.tir.expr import IntImm

from .graph import RanksDiffer
from .node import Node
from .registry import Result, convert
from .scope import Ref


@convert("Reshape")
def reshape_attribute(node: Node) -> Result:
    """The shape as an attribute."""
    return op.reshape(node[0], _resolved(node, [int(s) for s in node.attr("shape")]))


@convert("Reshape", since=5)
def reshape(node: Node) -> Result:
    """The shape as an input: 0 keeps the extent (unless `allowzero`), -1 is the rest."""
    if node.known(1) is None:
        return op.reshape(node[0], node.run_time_sizes(_computed_shape(node)))
    sizes = node.sizes(1, "shape")
    if node.attr("allowzero", 0) and any(is_zero(size) for size in sizes):
        # relax.reshape reads 0 as the extent that is there
        if any(is_zero(extent) for extent in node.shape(0)):
            nothing: RelaxExpr = op.zeros(sizes, node.dtype(0))
            return nothing
        return op.reshape(node[0], node.run_time_sizes(_computed_shape(node)))
    return op.reshape(node[0], _resolved(node, sizes))


def is_zero(size: Any) -> bool:
    """Whether an extent is known to be zero."""
    return _is(size, 0)


def is_one(size: Any) -> bool:
    """Whether an extent is known to be one."""
    return _is(size, 1)


def _is(size: Any, wanted: int) -> bool:
    number = size.value if isinstance(size, IntImm) else size
    return isinstance(number, int) and number == wanted


def _computed_shape(node: Node) -> RelaxExpr:
    """The asked shape as a tensor, with 0 and -1 replaced by what they stand for."""

    def number(value: int) -> Constant:
        return Constant(np.asarray(value, np.int64))

    bb, asked = node.bb, node[1]
    own = shape_tensor(node, node[0])
    if not node.attr("allowzero", 0):
        count, rank = node.count(1), node.rank(0)
        kept = op.strided_slice(own, [0], [0], [min(count, rank)])
        if count > rank:
            kept = op.concat([bb.emit(kept), Constant(np.ones(count - rank, np.int64))], 0)
        asked = bb.emit(op.where(op.equal(asked, number(0)), bb.emit(kept), asked))
    is_rest = bb.emit(op.equal(asked, number(-1)))
    others = op.prod(bb.emit(op.where(is_rest, number(1), asked)), [0], keepdims=True)
    total = op.prod(own, [0], keepdims=True)
    rest = op.floor_divide(bb.emit(total), op.maximum(bb.emit(others), number(1)))
    found = bb.emit(op.where(is_rest, bb.emit(rest), asked))
    fits = op.equal(bb.emit(op.prod(found, [0], keepdims=True)), total)
    fits = op.logical_and(bb.emit(fits), op.greater_equal(op.min(found, [0], True), number(0)))
    return _only_if(node, fits, found, node.count(1))


def _only_if(node: Node, fits: RelaxExpr, sizes: RelaxExpr, rank: int) -> RelaxExpr:
    """The sizes, if all of `fits` is true; else some that no tensor has: running refuses them."""
    none = Constant(np.array([-1] + [1] * (rank - 1), np.int64)) if rank else sizes
    holds = node.bb.emit(op.min(node.bb.emit(op.astype(node.bb.emit(fits), "int64")), [0], True))
    yes = node.bb.emit(op.equal(holds, Constant(np.asarray(1, np.int64))))
    return node.bb.emit(op.where(yes, sizes, none)) if rank else sizes


def shape_tensor(node: Node, value: RelaxExpr) -> RelaxExpr:
    """The shape of a value as a tensor; a constant where it is known."""
    shape = value.struct_info.shape  # type: ignore[attr-defined]
    if isinstance(shape, ShapeExpr) and all(isinstance(e, IntImm) for e in shape.values):
        return Constant(np.array([int(e) for e in shape.values], np.int64))  # type: ignore[call-overload]
    return node.bb.emit(op.shape_to_tensor(node.bb.emit(op.shape_of(value))))


def _resolved(node: Node, sizes: list[Any]) -> list[Any]:
    if node.attr("allowzero", 0):
        return sizes
    shape: list[Any] = []
    for axis, size in enumerate(sizes):
        keeps = not isinstance(size, PrimExpr) and size == 0
        shape.append(node.shape(0)[axis] if keeps else size)
    return shape


@convert("Flatten")
def flatten(node: Node) -> Result:
    """All axes before `axis` as one, all others as one."""
    axis, shape = node.axis(1), node.shape(0)

    def product(extents: tuple[PrimExpr, ...]) -> Any:
        return functools.reduce(lambda a, b: a * b, extents) if extents else 1

    return op.reshape(node[0], [product(shape[:axis]), product(shape[axis:])])


@convert("Transpose")
def transpose(node: Node) -> Result:
    axes = node.attr("perm")
    return op.permute_dims(node[0], None if axes is None else [int(a) for a in axes])


@convert("Squeeze")
def squeeze(node: Node) -> Result:
    axes = node.attr("axes")
    if axes is None and node.has(1):
        if node.known(1) is None:
            return _squeeze_computed(node)
        axes = node.integers(1, "axes")
    if axes is not None:
        return op.squeeze(node[0], [int(a) for a in axes])
    extents = node.shape(0)
    ones = [i for i, extent in enumerate(extents) if is_one(extent)]
    undecided = [i for i, extent in enumerate(extents) if not isinstance(extent, IntImm)]
    if undecided and node.reader.may_fork:
        raise _Squeezed(node, ones, undecided).fork()
    return op.squeeze(node[0], None)


class _Squeezed:
    """A tensor without some axes of one element, and without the undecided ones that have one."""

    def __init__(self, node: Node, axes: list[int], undecided: list[int]) -> None:
        self._node, self._axes, self._undecided = node, axes, undecided

    def fork(self) -> RanksDiffer:
        """With and without the first of the undecided axes."""
        node, (first, *others) = self._node, self._undecided
        branches = [_Squeezed(node, axes, others) for axes in ([*self._axes, first], self._axes)]
        return RanksDiffer(PrimValue(node.shape(0)[first] == 1), branches)

    def run(self, then: Callable[[list[Ref]], RelaxExpr]) -> RelaxExpr:
        """What `then` makes of the tensor, once each axis is decided."""
        if self._undecided:
            return self._node.reader.forked(self.fork(), then)
        axes = sorted(self._axes)
        value = self._node.bb.emit(op.squeeze(self._node[0], axes)) if axes else self._node[0]
        return then([Ref.to(value)])


def long(node: Node, i: int) -> RelaxExpr:
    """Input number `i` in int64."""
    return node[i] if node.dtype(i) == "int64" else node.bb.emit(op.astype(node[i], "int64"))


def places_from_front(axes: RelaxExpr, rank: int) -> RelaxExpr:
    """Axes that a tensor names, negative ones counted from the end."""
    zero, count = (Constant(np.asarray(n, np.int64)) for n in (0, rank))
    return op.where(op.less(axes, zero), op.add(axes, count), axes)


def _marked(node: Node, rank: int) -> RelaxExpr:
    """One for each axis that input 1 names, zero for the others."""
    places = node.bb.emit(places_from_front(long(node, 1), rank))
    ones = Constant(np.ones(node.count(1), np.int64))
    return node.bb.emit(
        op.scatter_elements(Constant(np.zeros(rank, np.int64)), places, ones, 0)
    )


def _squeeze_computed(node: Node) -> RelaxExpr:
    """Without axes that only running tells: the extents of the others, in their order."""
    rank = node.rank(0)
    marked = _marked(node, rank)
    place = Constant(np.arange(rank, dtype=np.int64))
    last = op.multiply(marked, Constant(np.asarray(rank, np.int64)))
    order = node.bb.emit(op.argsort(node.bb.emit(op.add(last, place)), 0, False, "int64"))
    kept = node.bb.emit(op.strided_slice(order, [0], [0], [rank - node.count(1)]))
    extents = node.bb.emit(op.take(shape_tensor(node, node[0]), kept, 0))
    return op.reshape(node[0], node.run_time_sizes(extents))


def _unsqueeze_computed(node: Node) -> RelaxExpr:
    """With axes of one element where only running tells."""
    own = node.rank(0)
    rank = own + node.count(1)
    if own == 0:
        return op.reshape(node[0], [1] * rank)
    marked = _marked(node, rank)
    one = Constant(np.asarray(1, np.int64))
    zero, highest = (Constant(np.asarray(n, np.int64)) for n in (0, own - 1))
    before = node.bb.emit(op.cumsum(marked, 0))
    place = op.subtract(Constant(np.arange(rank, dtype=np.int64)), before)
    inside = node.bb.emit(op.minimum(op.maximum(place, zero), highest))
    extents = op.take(shape_tensor(node, node[0]), inside, 0)
    sizes = node.bb.emit(op.where(op.equal(marked, one), one, extents))
    return op.reshape(node[0], node.run_time_sizes(sizes))


@convert("Unsqueeze")
def unsqueeze(node: Node) -> Result:
    axes = node.attr("axes")
    if axes is None and node.known(1) is None:
        return _unsqueeze_computed(node)
    if axes is None:
        axes = node.integers(1, "axes")
    return op.expand_dims(node[0], [int(a) for a in axes])


@convert("Expand")
def expand(node: Node) -> Result:
    """Broadcasting in both directions: an extent of one in the asked shape keeps the input's."""
    if node.known(1) is None:
        return _expand_computed(node)
    sizes, own = node.sizes(1, "shape"), list(node.shape(0))
    rank = max(len(sizes), len(own))
    one = IntImm("int64", 1)
    asked = [one] * (rank - len(sizes)) + [
        IntImm("int64", size) if isinstance(size, int) else size for size in sizes
    ]
    padded = [one] * (rank - len(own)) + own
    open_axes = [not isinstance(a, IntImm) or not isinstance(b, IntImm)
                 for a, b in zip(asked, padded)]  # fmt: skip
    common = [common_extent(node.bb, b, a) if is_open else b if is_one(a) else a
              for a, b, is_open in zip(asked, padded, open_axes)]  # fmt: skip
    # numbers that differ are for the operator to repeat, or to refuse
    wanted = [c if is_open else b for c, b, is_open in zip(common, padded, open_axes)]
    return op.broadcast_to(repeated(node.bb, node[0], wanted[rank - len(own) :]), common)


def _expand_computed(node: Node) -> RelaxExpr:
    """To a shape that only running tells: the larger of both extents, as the other one is 1."""
    length = node.count(1)
    rank = max(length, node.rank(0))

    def filled(value: RelaxExpr, count: int) -> RelaxExpr:
        if count == rank:
            return value
        ones = Constant(np.ones(rank - count, np.int64))
        return node.bb.emit(op.concat([ones, value], 0))

    asked = filled(node[1], length)
    own = filled(shape_tensor(node, node[0]), node.rank(0))
    one = Constant(np.asarray(1, np.int64))
    stays = node.bb.emit(op.equal(own, one))
    fits = op.logical_or(op.equal(own, asked), node.bb.emit(op.equal(asked, one)))
    larger = op.where(stays, asked, own)
    fits = op.logical_or(stays, node.bb.emit(fits))
    sizes = node.run_time_sizes(_only_if(node, fits, node.bb.emit(larger), rank))
    return op.broadcast_to(node[0], sizes)


@convert("Shape")
def shape_of(node: Node) -> Result:
    """Reached only where the shape is not known while importing."""
    return op.shape_to_tensor(node.bb.emit(op.shape_of(node[0])))


@convert("Size")
def size_of(node: Node) -> Result:
    shape = node.bb.emit(op.shape_to_tensor(node.bb.emit(op.shape_of(node[0]))))
    size: Result = op.prod(shape, [0], keepdims=False)
    return size
