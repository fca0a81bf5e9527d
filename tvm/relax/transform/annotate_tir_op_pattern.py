"""Say of each kernel how its elements depend on its operands (attribute `op_pattern`).

    B[i] = exp(A[i])                 ->   op_pattern: kElemWise
    B[i, j] = A[j]                   ->   kBroadcast
    B[i, j] = A[j, i]                ->   kInjective
    B[i] += A[i, k]                  ->   kCommReduce
    C[i, j] += A[i, k] * B[k, j]     ->   kOutEWiseFusable
    C[i] += A[i, k] * B[k]           ->   kCommReduce

    C[i] = max(C[i], A[2 * i + k])   ->   kOutEWiseFusable

A kernel with several stages is as bound as its most bound stage; a map of a reduction that is the
result (a mean, a softmax) makes it kOutEWiseFusable. A stage that reads one operand at the same
indices and broadcasts the others is element-wise: it can be computed where that operand is made.
Where the index is itself read from memory (a gather), the kernel is kOpaque. An attribute that is
already there stays.

`AnnotateFusionPattern` is what our own pipelines go by, whose kernels gather and reduce what is
computed on the way: there a gather is kInjective, a reduction whose result is only scaled (a mean)
stays kCommReduce, and a broadcast is kElemWise, which joins the product before it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.op_pattern import OpPatternKind as Kind
from tvm.tir.analysis.deep_equal import expr_deep_equal
from tvm.tir.expr import Add, BufferLoad, Call, IterVar, Mul, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements, uses_any, vars_in, walk
from tvm.tir.stmt import Block, BufferStore, For
from tvm.tir.transform.pass_form import tir_pass


@tir_pass("AnnotateTIROpPattern")
def AnnotateTIROpPattern(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Set `op_pattern` from the kernel's blocks."""
    if func.attrs.get("op_pattern") is not None:
        return func
    return func.with_attr("op_pattern", int(kernel_pattern(func)))


@tir_pass("AnnotateFusionPattern")
def AnnotateFusionPattern(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Set `op_pattern` as the kernels of our own schedules can fuse."""
    if func.attrs.get("op_pattern") is not None:
        return func
    return func.with_attr("op_pattern", int(_fusion_pattern(func)))


def kernel_pattern(func: PrimFunc) -> Kind:
    """The pattern of a whole kernel: that of its most bound stage."""
    blocks = [n for n in statements(func.body, Block) if n.name_hint != "root"]
    if not blocks:
        return Kind.kOpaque
    results = set(func.buffer_map.values())
    pattern = Kind.kElemWise
    for block in blocks:
        stage = Kind.kOpaque if _gathers(block) else _block_pattern(block)
        if stage == Kind.kOutEWiseFusable and not _reuses_operands(block):
            stage = Kind.kCommReduce
        is_result = any(region.buffer in results for region in block.writes)
        if pattern == Kind.kCommReduce and stage <= Kind.kInjective and is_result:
            stage = Kind.kOutEWiseFusable
        pattern = max(pattern, stage)
    return pattern


def _fusion_pattern(func: PrimFunc) -> Kind:
    blocks = [n for n in statements(func.body, Block) if n.iter_vars]
    if not blocks:
        return Kind.kOpaque
    pattern = Kind.kElemWise
    left = 0  # the axes that a reduction leaves
    for block in blocks:
        stage = _block_pattern(block)
        axes = sum(iv.iter_type == IterVar.DataPar for iv in block.iter_vars)
        if pattern == Kind.kCommReduce and stage <= Kind.kInjective and axes > left:
            # a map that spreads a reduction again (a softmax); what it leaves (a mean) is still one
            pattern = Kind.kOutEWiseFusable
        pattern = max(pattern, stage)
        left = axes if stage == Kind.kCommReduce else left
    return Kind.kElemWise if pattern == Kind.kBroadcast else pattern


def _gathers(block: Block) -> bool:
    """Whether some index is read from memory; of a reduction, whose kind is told apart, not."""
    if any(iv.iter_type == IterVar.CommReduce for iv in block.iter_vars):
        return False
    loads = [n for n in walk(block.body) if isinstance(n, BufferLoad)]
    return any(isinstance(n, BufferLoad) for load in loads for i in load.indices for n in walk(i))


def _block_pattern(block: Block) -> Kind:
    nodes = list(walk(block.body))
    stores = [n for n in nodes if isinstance(n, BufferStore)]
    if not stores or any(isinstance(n, (Block, For)) for n in nodes):
        return Kind.kOpaque
    if any(isinstance(n, Call) and n.op is not None and _is_opaque(n) for n in nodes):
        return Kind.kOpaque
    store = stores[0]
    kinds = {iv.iter_type for iv in block.iter_vars}
    loads = [n for n in nodes if isinstance(n, BufferLoad)]
    if kinds <= {IterVar.DataPar} and len(stores) == 1:
        return _map_pattern(store, loads)
    reduces = kinds <= {IterVar.DataPar, IterVar.CommReduce} and block.init is not None
    # a sum and a sum of squares, say, reduce side by side
    if reduces and all(_same(other.indices, store.indices) for other in stores[1:]):
        return _reduction_pattern(block, store, loads)
    return Kind.kOpaque


def _is_opaque(call: Call) -> bool:
    get_attr = getattr(call.op, "get_attr", None)
    return get_attr is None or int(get_attr("TCallEffectKind") or 0) > 1


def _map_pattern(store: BufferStore, loads: list[BufferLoad]) -> Kind:
    """Element-wise, broadcast or injective, by how the indices of loads relate to the store's."""
    outputs = [index for index in store.indices if isinstance(index, Var)]
    same_indices, pattern = False, Kind.kElemWise
    for load in loads:
        if _same(load.indices, store.indices):
            same_indices = True
        elif _is_broadcast(load, store):
            pattern = max(pattern, Kind.kBroadcast)
        elif len(outputs) == len(store.indices) and set(vars_in(*load.indices)) <= set(outputs):
            pattern = max(pattern, Kind.kInjective)
        else:
            return Kind.kOpaque
    return Kind.kElemWise if same_indices and pattern == Kind.kBroadcast else pattern


def _same(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> bool:
    return len(a) == len(b) and all(x is y or expr_deep_equal(x, y) for x, y in zip(a, b))


def _is_broadcast(load: BufferLoad, store: BufferStore) -> bool:
    """The load uses some of the output's indices in their order, and zeros where it has one."""
    position = 0
    for index, extent in zip(load.indices, load.buffer.shape):
        if getattr(extent, "value", None) == 1 and getattr(index, "value", None) == 0:
            continue
        while position < len(store.indices) and store.indices[position] is not index:
            position += 1
        if position == len(store.indices):
            return False
    return True


def _reduction_pattern(block: Block, store: BufferStore, loads: list[BufferLoad]) -> Kind:
    """A multiply-accumulate over two operands and a window are anchors; others only reduce."""
    if _is_multiply_add(store):
        return Kind.kOutEWiseFusable
    return Kind.kOutEWiseFusable if _reads_windows(block, loads) else Kind.kCommReduce


def _reads_windows(block: Block, loads: Sequence[BufferLoad]) -> bool:
    """Whether an element is read for several results, so that the block is a kernel of its own."""
    axes = {iv.var for iv in block.iter_vars if iv.iter_type == IterVar.CommReduce}
    indices = [index for load in loads for index in load.indices]
    return any(index not in axes and uses_any(index, axes) for index in indices)


def _reuses_operands(block: Block) -> bool:
    """Whether each of two operands is read for several results: not so where one is a vector."""
    stores = [n for n in walk(block.body) if isinstance(n, BufferStore)]
    loads = [n for n in walk(block.body) if isinstance(n, BufferLoad)]
    outputs = set(vars_in(*stores[0].indices))
    operands = [load for load in loads if load.buffer is not stores[0].buffer]
    reused = [bool(outputs - set(vars_in(*load.indices))) for load in operands]
    return _reads_windows(block, loads) or reused == [True, True]


def _is_multiply_add(store: BufferStore) -> bool:
    """`C += A * B`, with or without casts."""
    value = store.value
    if not isinstance(value, Add):
        return False
    product = value.b if isinstance(value.a, BufferLoad) else value.a
    sources = {
        n.buffer
        for n in walk(product)
        if isinstance(n, BufferLoad) and n.buffer is not store.buffer
    }
    return len(sources) >= 2 and any(isinstance(n, Mul) for n in walk(product))
