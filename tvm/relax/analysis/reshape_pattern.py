"""Does a TIR function only give its input another shape?"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.relax.shape_math import same_extent
from tvm.tir.buffer import Buffer
from tvm.tir.expr import BufferLoad, FloorMod, IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.op.arith import add, multiply
from tvm.tir.stmt import Block, BufferStore


def has_reshape_pattern(func: PrimFunc) -> bool:
    """True when each element goes to the place that it has in memory already.

    One block copies from the first buffer to the last, and both flattened places are equal for all
    iterations.
    """
    buffers = [func.buffer_map[p] for p in func.params if p in func.buffer_map]
    if len(buffers) < 2:
        return False
    source, target = buffers[0], buffers[-1]
    stores = [node for node in walk(func.body) if isinstance(node, BufferStore)]
    blocks = [n for n in walk(func.body) if isinstance(n, Block) and n.iter_vars]
    if len(stores) != 1 or len(blocks) > 1 or stores[0].buffer is not target:
        return False
    load = stores[0].value
    if not isinstance(load, BufferLoad) or load.buffer is not source:
        return False
    analyzer = Analyzer()
    for block in blocks:
        for iter_var in block.iter_vars:
            if iter_var.dom is not None:
                analyzer.bind(iter_var.var, iter_var.dom)
    if not _same_size(source, target, analyzer):
        return False
    place_in = _flat(_without_wrapping(load.indices, source.shape), source.shape)
    place_out = _flat(stores[0].indices, target.shape)
    return bool(analyzer.can_prove_equal(place_in, place_out))


def _without_wrapping(
    indices: Sequence[PrimExpr], shape: Sequence[PrimExpr]
) -> Sequence[PrimExpr]:
    """The indices with `q % extent` as plain q in the first one.

    If the flattened places are equal then, the place is below the number of elements, and so q is
    below the extent: wrapping around changed nothing.
    """
    if indices and isinstance(indices[0], FloorMod):
        first = indices[0]
        if same_extent(first.b, shape[0]):
            return (first.a, *indices[1:])
    return indices


def _same_size(a: Buffer, b: Buffer, analyzer: Analyzer) -> bool:
    sizes = []
    for buffer in (a, b):
        size: PrimExpr = IntImm("int64", 1)
        for extent in buffer.shape:
            size = multiply(size, extent)
        sizes.append(size)
    return bool(analyzer.can_prove_equal(*sizes))


def _flat(indices: Sequence[PrimExpr], shape: Sequence[PrimExpr]) -> PrimExpr:
    place: PrimExpr = IntImm("int64", 0)
    for index, extent in zip(indices, shape):
        place = add(multiply(place, extent), index)
    return place
