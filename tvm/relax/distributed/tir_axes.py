"""Which dimensions of a kernel's buffers are walked by the same iterator."""

from __future__ import annotations

from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.stmt import Block, BufferStore


class AxisGroups:
    """Dimensions (buffer, dim) and iterators of blocks, in groups that belong together."""

    def __init__(self, func: PrimFunc) -> None:
        self._parent: dict[object, object] = {}
        iterators: set[Var] = set()
        uses: list[tuple[Buffer, tuple[object, ...]]] = []
        for node in walk(func.body):
            if isinstance(node, Block):
                iterators.update(it.var for it in node.iter_vars)
            elif isinstance(node, (BufferStore, BufferLoad)):
                uses.append((node.buffer, tuple(node.indices)))
        for buffer, indices in uses:
            for dim, index in enumerate(indices):
                if isinstance(index, Var) and index in iterators:
                    self._join((buffer, dim), index)

    def find(self, key: object) -> object:
        """What stands for the group of a dimension or an iterator."""
        while True:
            above = self._parent.get(key, key)
            if above is key or above == key:
                return key
            key = above

    def _join(self, a: object, b: object) -> None:
        a, b = self.find(a), self.find(b)
        if a is not b and a != b:
            self._parent[b] = a


def linked_buffer_axes(func: PrimFunc) -> list[list[tuple[int, int]]]:
    """Groups of (parameter, dimension) that iterators of blocks walk together.

    Parameters are counted among those that are buffers.
    """
    axes = AxisGroups(func)
    buffers = [func.buffer_map[p] for p in func.params if p in func.buffer_map]
    groups: dict[object, list[tuple[int, int]]] = {}
    for place, buffer in enumerate(buffers):
        for dim in range(len(buffer.shape)):
            groups.setdefault(axes.find((buffer, dim)), []).append((place, dim))
    return [found for found in groups.values() if len(found) > 1]
