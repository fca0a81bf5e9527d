"""Tensors brought from one layout into another, by operators that have gradients themselves.

    NCHW4c -> NHWC:    (n, c, h, w, 4)  ->  (n, h, w, c, 4)  ->  (n, h, w, c * 4)
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.shape_math import product, simplify

from .declare import Expr
from .layouts import layout_parts
from .manipulate import permute_dims, reshape
from .shapes import values_of


def relayout(x: Expr, source: str, target: str) -> Expr:
    """The tensor, which has the layout `source`, in the layout `target`."""
    return x if source == target else _from_plain(_to_plain(x, source, target), target)


def _extents(x: Expr) -> Sequence[PrimExpr]:
    info = x.struct_info_ or BlockBuilder().normalize(x).struct_info
    values = values_of(info)
    assert values is not None, "a tensor of unknown shape has no other layout"
    return values


def _plain(layout: str) -> str:
    """The letters of a layout, without parts."""
    return "".join(letter for _, letter in layout_parts(layout) if letter.isupper())


def _to_plain(x: Expr, source: str, target: str) -> Expr:
    """The parts of each dimension joined, the dimensions in the order of `target`."""
    names = [letter for _, letter in layout_parts(source)]
    values = _extents(x)
    groups = [
        [i for i, name in enumerate(names) if name.upper() == letter]
        for letter in _plain(target)
    ]  # fmt: skip
    order = [i for group in groups for i in sorted(group, key=lambda i: names[i].islower())]
    moved = x if order == list(range(len(order))) else permute_dims(x, order)
    if all(len(group) == 1 for group in groups):
        return moved
    return reshape(moved, [product([values[i] for i in group]) for group in groups])


def _from_plain(x: Expr, target: str) -> Expr:
    """Dimensions, in the order of their letters in `target`, divided into parts."""
    parts = layout_parts(target)
    sizes = {letter.upper(): size for size, letter in parts if letter.islower()}
    if not sizes:
        return x
    shape: list[PrimExpr | int] = []
    names: list[str] = []
    for letter, extent in zip(_plain(target), _extents(x)):
        size = sizes.get(letter)
        shape += [extent] if size is None else [simplify(extent // size), size]
        names += [letter] if size is None else [letter, letter.lower()]
    return permute_dims(reshape(x, shape), [names.index(letter) for _, letter in parts])
