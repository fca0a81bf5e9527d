"""Say of each kernel how its elements depend on its operands (attribute `op_pattern`).

    B[i] = exp(A[i])                 ->   op_pattern: kElemWise
    B[i, j] = A[j]                   ->   kBroadcast
    B[i, j] = A[j, i]                ->   kInjective
    B[i] += A[i, k]                  ->   kCommReduce
    C[i, j] += A[i, k] * B[k, j]     ->   kOutEWiseFusable

A kernel with several stages is as bound as its most bound stage. An attribute that is already there
stays.
"""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.op_pattern import OpPatternKind as Kind
from tvm.tir.expr import Add, BufferLoad, Call, IterVar, Mul, ProducerLoad, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.stmt import Block, BufferStore, For, SeqStmt, Stmt
from tvm.tir.transform.pass_form import tir_pass


@tir_pass("AnnotateTIROpPattern")
def AnnotateTIROpPattern(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Set `op_pattern` from the kernel's blocks."""
    if func.attrs.get("op_pattern") is not None:
        return func
    return func.with_attr("op_pattern", int(kernel_pattern(func)))


def kernel_pattern(func: PrimFunc) -> Kind:
    """The pattern of a whole kernel."""
    blocks = [n for n in walk(func.body) if isinstance(n, Block) and n.iter_vars]
    if not blocks:
        return Kind.kOpaque
    outputs = {buffer for buffer in func.buffer_map.values()}
    patterns = [_block_pattern(block) for block in blocks]
    strongest = max(patterns)
    if strongest <= Kind.kInjective or strongest == Kind.kOpaque:
        return strongest
    heavy = [p for p in patterns if p > Kind.kInjective]
    if len(heavy) > 1:
        # several reductions (a softmax): what follows may not be folded into one of them
        return Kind.kOpaque
    last = [b for b in blocks if b.writes and b.writes[0].buffer in outputs]
    if last and _block_pattern(last[-1]) <= Kind.kInjective and strongest == Kind.kCommReduce:
        # a reduction with a map after it (a mean): the result can still take part as a reduction
        return Kind.kCommReduce if _same_extents(blocks, patterns, last[-1]) else Kind.kOpaque
    return strongest


def _same_extents(blocks: list[Block], patterns: list[Kind], last: Block) -> bool:
    """The map after a reduction runs over what the reduction leaves."""
    reduction = blocks[patterns.index(Kind.kCommReduce)]
    spatial = [iv for iv in reduction.iter_vars if iv.iter_type == IterVar.DataPar]
    return len(spatial) == len(last.iter_vars)


def _stores(stmt: Stmt) -> list[BufferStore]:
    return [n for n in walk(stmt) if isinstance(n, BufferStore)]


def _block_pattern(block: Block) -> Kind:
    stores = _stores(block.body)
    if len(stores) != 1 or any(isinstance(n, (Block, For, SeqStmt)) for n in walk(block.body)):
        return Kind.kOpaque
    store = stores[0]
    kinds = {iv.iter_type for iv in block.iter_vars}
    loads = [n for n in walk(store.value) if isinstance(n, (BufferLoad, ProducerLoad))]
    if any(isinstance(n, Call) and n.op is not None and _is_opaque(n) for n in walk(store.value)):
        return Kind.kOpaque
    if kinds <= {IterVar.DataPar}:
        return _map_pattern(store, [n for n in loads if isinstance(n, BufferLoad)])
    if kinds <= {IterVar.DataPar, IterVar.CommReduce} and block.init is not None:
        return _reduction_pattern(store)
    return Kind.kOpaque


def _is_opaque(call: Call) -> bool:
    get_attr = getattr(call.op, "get_attr", None)
    return get_attr is None or int(get_attr("TCallEffectKind") or 0) > 1


def _map_pattern(store: BufferStore, loads: list[BufferLoad]) -> Kind:
    """Element-wise, broadcast or injective, by how the indices of loads relate to the store's."""
    outputs = [index for index in store.indices if isinstance(index, Var)]
    if len(outputs) != len(store.indices):
        return Kind.kInjective
    pattern = Kind.kElemWise
    for load in loads:
        if len(load.indices) == len(outputs) and all(
            a is b for a, b in zip(load.indices, outputs)
        ):
            continue
        if _is_subsequence(list(load.indices), outputs):
            pattern = max(pattern, Kind.kBroadcast)
        else:
            pattern = max(pattern, Kind.kInjective)
    if not loads:
        # made from nothing (full, arange): it can be computed anywhere
        return Kind.kElemWise
    return pattern


def _is_subsequence(indices: list[object], outputs: list[Var]) -> bool:
    """The load uses some of the output's indices in their order, and literal zeros."""
    position = 0
    for index in indices:
        if isinstance(index, Var):
            while position < len(outputs) and outputs[position] is not index:
                position += 1
            if position == len(outputs):
                return False
            position += 1
        elif getattr(index, "value", None) != 0:
            return False
    return True


def _reduction_pattern(store: BufferStore) -> Kind:
    """A multiply-accumulate over two operands is an anchor kernel; other reductions are not."""
    value = store.value
    if isinstance(value, Add):
        product = value.b if isinstance(value.a, BufferLoad) else value.a
        sources = {
            n.buffer
            for n in walk(product)
            if isinstance(n, BufferLoad) and n.buffer is not store.buffer
        }
        if isinstance(product, Mul) and len(sources) >= 2:
            return Kind.kOutEWiseFusable
        if len(sources) >= 2:
            casts = [n for n in walk(product) if isinstance(n, Mul)]
            return Kind.kOutEWiseFusable if casts else Kind.kCommReduce
    return Kind.kCommReduce
