"""Does a TIR function only give its input another shape?

    for i, j in grid(4, 6): B[i, j] = A[(i * 6 + j) // 12, (i * 6 + j) % 12]      A: (2, 12)

is one: each element keeps its offset in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr, Range
from tvm.relax.shape_math import same_extent
from tvm.support.arguments import explained
from tvm.tir.buffer import Buffer
from tvm.tir.expr import (
    Add,
    BufferLoad,
    FloorDiv,
    FloorMod,
    IntImm,
    IterVar,
    Mul,
    Sub,
    Var,
)
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, statements
from tvm.tir.op.arith import add, is_one, multiply
from tvm.tir.stmt import Block, BufferStore

Group = tuple[list[int], list[int]]  # axes of the source, axes of the target

# Up to this many elements the two offsets are compared one by one where algebra does not decide.
MAX_TRIED = 1 << 18


@explained
def has_reshape_pattern(func: PrimFunc) -> bool:
    """True when one block copies the first buffer to the last at equal flat offsets."""
    buffers = [func.buffer_map[p] for p in func.params if p in func.buffer_map]
    if len(buffers) < 2:
        return False
    source, target = buffers[0], buffers[-1]
    stores = list(statements(func.body, BufferStore))
    blocks = [n for n in statements(func.body, Block) if n.iter_vars]
    if len(stores) != 1 or len(blocks) != 1 or stores[0].buffer is not target:
        return False
    load = stores[0].value
    if not isinstance(load, BufferLoad) or load.buffer is not source:
        return False
    if source.dtype is not target.dtype or source.strides or target.strides:
        return False
    domains = _domains(blocks[0], stores[0])
    if domains is None or not _same_size(source, target):
        return False
    analyzer = Analyzer()
    for var, domain in domains.items():
        analyzer.bind(var, domain)
    indices = [within_domains(index, domains, analyzer) for index in load.indices]
    groups = equal_groups(source.shape, target.shape)
    if groups is not None and all(
        analyzer.can_prove_equal(
            _flat([indices[axis] for axis in axes], [source.shape[axis] for axis in axes]),
            _flat([stores[0].indices[at] for at in places], [target.shape[at] for at in places]),
        )
        for axes, places in groups
    ):
        return True
    source_offset = _flat(_without_wrapping(indices, source.shape), source.shape)
    target_offset = _flat(stores[0].indices, target.shape)
    if analyzer.can_prove_equal(source_offset, target_offset):
        return True
    return _equal_everywhere(source_offset, target_offset, domains)


def equal_groups(source: Sequence[PrimExpr], target: Sequence[PrimExpr]) -> list[Group] | None:
    """The smallest groups of neighbouring axes with equal products; None where one has none."""
    found: list[Group] = []
    i = j = 0
    while i < len(source) and j < len(target):
        sizes = _equal_runs(source[i:], target[j:])
        if sizes is None:
            return None
        few, many = sizes
        found.append(([*range(i, i + few)], [*range(j, j + many)]))
        i, j = i + few, j + many
    if not found or not all(map(is_one, (*source[i:], *target[j:]))):
        return None
    found[-1][0].extend(range(i, len(source)))
    found[-1][1].extend(range(j, len(target)))
    return found


def _equal_runs(source: Sequence[PrimExpr], target: Sequence[PrimExpr]) -> tuple[int, int] | None:
    """How many of the first extents have the same product, the fewest together."""
    same = Analyzer()
    for total in range(2, len(source) + len(target) + 1):
        for few in range(max(1, total - len(target)), min(total, len(source) + 1)):
            products = (reduce(multiply, source[:few]), reduce(multiply, target[: total - few]))
            if same.can_prove_equal(*products):
                return few, total - few
    return None


def _domains(block: Block, store: BufferStore) -> dict[Var, Range] | None:
    """The ranges of the indices if they run over the whole target, each element once."""
    axes = {iv.var: iv for iv in block.iter_vars}
    known = {iv.var: iv.dom for iv in axes.values() if iv.dom is not None and is_one(iv.dom.extent)}
    if not store.indices and len(known) == len(axes):
        return known  # one element
    if len(axes) != len(store.indices) or len(set(store.indices)) != len(axes):
        return None
    found: dict[Var, Range] = {}
    analyzer = Analyzer()
    for index, extent in zip(store.indices, store.buffer.shape):
        axis = axes.get(index) if isinstance(index, Var) else None
        if axis is None or axis.iter_type != IterVar.DataPar or axis.dom is None:
            return None
        start, count = axis.dom.min, axis.dom.extent
        if not isinstance(start, IntImm) or start.value != 0:
            return None
        if not analyzer.can_prove_equal(count, extent):
            return None
        found[axis.var] = axis.dom
    return found


def within_domains(index: PrimExpr, domains: dict[Var, Range], analyzer: Analyzer) -> PrimExpr:
    """The index, knowing that a variable of extent n is below n also where n is a symbol."""
    while True:
        simple = analyzer.simplify(index)
        index = _BelowExtent(domains).visit_expr(simple)
        if index is simple:
            return simple


class _BelowExtent(StmtExprMutator):
    """i % n is i, and i // n is 0, for i in [0, n)."""

    def __init__(self, domains: dict[Var, Range]) -> None:
        super().__init__()
        self._domains = domains

    def visit_floor_mod_(self, op: FloorMod) -> PrimExpr:
        return op.a if self._is_below(op) else super().visit_floor_mod_(op)

    def visit_floor_div_(self, op: FloorDiv) -> PrimExpr:
        zero = IntImm(op.dtype, 0)
        return zero if self._is_below(op) else super().visit_floor_div_(op)

    def _is_below(self, op: FloorMod | FloorDiv) -> bool:
        domain = self._domains.get(op.a) if isinstance(op.a, Var) else None
        return domain is not None and same_extent(domain.extent, op.b) is True


def _without_wrapping(
    indices: Sequence[PrimExpr], shape: Sequence[PrimExpr]
) -> Sequence[PrimExpr]:
    """The indices with `q % extent` as plain q in the first one.

    If the flat offsets are equal then, the offset is below the number of elements, and so q is
    below the extent: wrapping around changed nothing.
    """
    if indices and isinstance(indices[0], FloorMod):
        first = indices[0]
        if same_extent(first.b, shape[0]):
            return (first.a, *indices[1:])
    return indices


def _same_size(a: Buffer, b: Buffer) -> bool:
    sizes = []
    for buffer in (a, b):
        size: PrimExpr = IntImm("int64", 1)
        for extent in buffer.shape:
            size = multiply(size, extent)
        sizes.append(size)
    return bool(Analyzer().can_prove_equal(*sizes))


def _flat(indices: Sequence[PrimExpr], shape: Sequence[PrimExpr]) -> PrimExpr:
    offset: PrimExpr = IntImm("int64", 0)
    for index, extent in zip(indices, shape):
        offset = add(multiply(offset, extent), index)
    return offset


def _equal_everywhere(a: PrimExpr, b: PrimExpr, domains: dict[Var, Range]) -> bool:
    """Compare two expressions at all values of their variables, if these are not too many."""
    extents = [d.extent.value for d in domains.values() if isinstance(d.extent, IntImm)]
    if len(extents) != len(domains):
        return False
    total = 1
    for extent in extents:
        total *= extent
    if total > MAX_TRIED:
        return False
    import numpy as np  # Relax loads without numpy

    axes = np.ogrid[tuple(slice(extent) for extent in extents)]
    values = dict(zip(domains, axes))
    left, right = _evaluate(a, values), _evaluate(b, values)
    return left is not None and right is not None and bool(np.all(left == right))


def _evaluate(expr: PrimExpr, values: dict[Var, Any]) -> Any:
    """The expression on arrays; None where it is more than integer arithmetic."""
    if isinstance(expr, IntImm):
        return expr.value
    if isinstance(expr, Var):
        return values.get(expr)
    if not isinstance(expr, (Add, Sub, Mul, FloorDiv, FloorMod)):
        return None
    a, b = _evaluate(expr.a, values), _evaluate(expr.b, values)
    if a is None or b is None:
        return None
    if isinstance(expr, Add):
        return a + b
    if isinstance(expr, Sub):
        return a - b
    if isinstance(expr, Mul):
        return a * b
    return a // b if isinstance(expr, FloorDiv) else a % b
