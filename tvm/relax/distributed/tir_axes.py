"""Which dimensions of a kernel's buffers are walked by the same iterator.

    B[i, j, k] = A[i, j * 128 + k]        A's dimension 1 is cut with B's 1: j is its outer part
    B[i, j] = A[i, j // 128, j % 128]     A's dimension 1 is cut with B's 1 as well

A piece of such a dimension holds the same pieces of the others, and the indices stay as they are.
"""

from __future__ import annotations

from collections.abc import Mapping

from tvm.arith import Analyzer
from tvm.arith.iter_affine_map import normalize_to_iter_sum
from tvm.arith.iter_map_nodes import IterSplitExpr
from tvm.ir.expr import PrimExpr, Range
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, IntImm, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import vars_in, walk
from tvm.tir.stmt import Block, BufferStore


class AxisGroups:
    """Dimensions (buffer, dim) and iterators of blocks, in groups that belong together."""

    def __init__(self, func: PrimFunc) -> None:
        self._parent: dict[object, object] = {}
        domains: dict[Var, Range] = {}
        uses: list[tuple[Buffer, tuple[PrimExpr, ...]]] = []
        for node in walk(func.body):
            if isinstance(node, Block):
                domains.update({it.var: it.dom for it in node.iter_vars if it.dom is not None})
            elif isinstance(node, (BufferStore, BufferLoad)):
                uses.append((node.buffer, tuple(node.indices)))
        analyzer = Analyzer()
        for var, domain in domains.items():
            analyzer.bind(var, domain)
        self._others: list[tuple[Buffer, int, PrimExpr]] = []
        for buffer, indices in uses:
            for dim, index in enumerate(indices):
                walked_by = _walked_by(index, buffer.shape[dim], domains, analyzer)
                if walked_by is None:
                    self._others.append((buffer, dim, index))
                else:
                    self._join((buffer, dim), walked_by)

    def find(self, key: object) -> object:
        """What stands for the group of a dimension or an iterator."""
        while True:
            above = self._parent.get(key, key)
            if above is key or above == key:
                return key
            key = above

    def other_index(self, keys: Mapping[object, object]) -> tuple[Buffer, int, PrimExpr] | None:
        """A use of a dimension of these groups whose index is no iterator."""
        return next((use for use in self._others if self.find(use[:2]) in keys), None)

    def _join(self, a: object, b: object) -> None:
        a, b = self.find(a), self.find(b)
        if a is not b and a != b:
            self._parent[b] = a


def _walked_by(
    index: PrimExpr, extent: PrimExpr, domains: Mapping[Var, Range], analyzer: Analyzer
) -> Var | None:
    """The iterator whose pieces are those of the dimension."""
    if isinstance(index, Var):
        return index if index in domains else None
    index = analyzer.simplify(index)
    if isinstance(index, Var):
        return index if index in domains else None
    used = {n: domains[n] for n in vars_in(index) if n in domains}
    whole = _number(extent)
    if not used or whole is None or any(isinstance(n, BufferLoad) for n in walk(index)):
        return None
    parts = normalize_to_iter_sum(index, used)
    if not parts.args or not isinstance(parts.base, IntImm) or parts.base.value != 0:
        return None
    outer, *inner = parts.args
    numbers = _numbers(outer)
    source = outer.source.source
    if numbers is None or not isinstance(source, Var) or source not in domains:
        return None
    lower, count, scale = numbers
    if count * scale != whole or lower * count != _number(outer.source.extent):
        return None
    rest = [_numbers(part) for part in inner]
    if any(one is None for one in rest):
        return None
    reach = sum((one[1] - 1) * one[2] for one in rest if one is not None)
    return source if reach < scale else None


def _numbers(part: IterSplitExpr) -> tuple[int, int, int] | None:
    found = [_number(one) for one in (part.lower_factor, part.extent, part.scale)]
    if any(one is None or one < 0 for one in found):
        return None
    lower, extent, scale = (one or 0 for one in found)
    return lower, extent, scale


def _number(expr: PrimExpr) -> int | None:
    return int(expr.value) if isinstance(expr, IntImm) else None


def linked_buffer_axes(func: PrimFunc) -> list[list[tuple[int, int]]]:
    """Groups of (parameter, dimension) that iterators of blocks walk together.

    Parameters are counted among those that are buffers.
    """
    axes = AxisGroups(func)
    buffers = [func.buffer_map[p] for p in func.params if p in func.buffer_map]
    groups: dict[object, list[tuple[int, int]]] = {}
    for index, buffer in enumerate(buffers):
        for dim in range(len(buffer.shape)):
            groups.setdefault(axes.find((buffer, dim)), []).append((index, dim))
    return [found for found in groups.values() if len(found) > 1]
