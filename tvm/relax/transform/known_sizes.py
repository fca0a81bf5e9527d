"""A function whose sizes have become known says no more than one that was written with them.

    k = match_cast(shape([if_then_else(4 == 1, 4, 4)]), Shape([k]))
    y: (k, 8) = call_tir(repeat, (x: (4, 8),))     # x[i, j] where x has k rows, or else x[0, j]
    z: (k, 8) = add(y, y)                                      ->      z: (4, 8) = add(x, x)

Symbols of casts are the numbers that they stand for, and kernels that only copy are their operand,
or a broadcast of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.relax.expr import Call, Function, Tuple, is_call_of
from tvm.relax.op import broadcast_to
from tvm.relax.shape_math import simplify
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.relax.transform.rebuild import map_calls
from tvm.relax.transform.settle import settled
from tvm.relax.transform.tidy import tidy_inlined
from tvm.tir.expr import BufferLoad, IntImm, IterVar, Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements, substitute
from tvm.tir.op.arith import is_one
from tvm.tir.stmt import BlockRealize, BufferStore
from tvm.tir.transform.simplifier import Simplifier


def with_known_sizes(func: Function, mod: IRModule) -> Function:
    """The function, decided where its sizes decide something."""
    func = tidy_inlined(func)

    def rule(call: Call) -> RelaxExpr:
        return _without_copy(call, mod)

    new = map_calls(func, rule)
    return func if new is func else tidy_inlined(settled(func, new, mod))


def _without_copy(call: Call, mod: IRModule) -> RelaxExpr:
    """The operand of a kernel that only copies it, or a broadcast of that."""
    if not is_call_of(call, "relax.call_tir") or not isinstance(call.args[1], Tuple):
        return call
    callee, operands = call.args[0], call.args[1].fields
    kernel = mod.functions.get(callee) if isinstance(callee, GlobalVar) else None
    if not isinstance(kernel, PrimFunc) or len(operands) != 1:
        return call
    source, target = _numbers(operands[0]), _numbers(call)
    numbers = call.args[2] if len(call.args) > 2 else ShapeExpr([])
    if source is None or target is None or not isinstance(numbers, ShapeExpr):
        return call
    known = _symbols(kernel, [source, target], numbers.values)
    if known is None or not _copies(kernel, known, source):
        return call
    return operands[0] if source == target else broadcast_to(operands[0], target)


def _numbers(tensor: RelaxExpr) -> list[int] | None:
    """The extents of a tensor, where all of them are known."""
    info = tensor.struct_info_
    values = info.values if isinstance(info, TensorStructInfo) else None
    found = [extent.value for extent in values or () if isinstance(extent, IntImm)]
    return found if values is not None and len(found) == len(values) else None


def _symbols(
    kernel: PrimFunc, shapes: Sequence[Sequence[int]], numbers: Sequence[PrimExpr]
) -> dict[Var, PrimExpr] | None:
    """What the kernel's symbols are for these shapes; None where its buffers have others."""
    buffers = [kernel.buffer_map[p] for p in kernel.params if p in kernel.buffer_map]
    scalars = [param for param in kernel.params if param not in kernel.buffer_map]
    if len(buffers) != len(shapes) or len(scalars) != len(numbers):
        return None
    known: dict[Var, PrimExpr] = dict(zip(scalars, numbers))
    pairs = [pair for buffer, shape in zip(buffers, shapes) for pair in zip(buffer.shape, shape)]
    for extent, number in pairs:
        if isinstance(extent, Var):
            known.setdefault(extent, IntImm(extent.dtype, number))
    for extent, number in pairs:
        found = simplify(substitute(extent, known))
        if not isinstance(found, IntImm) or found.value != number:
            return None
    return known


def _copies(kernel: PrimFunc, known: dict[Var, PrimExpr], shape: Sequence[int]) -> bool:
    """Whether each element is what stands at its own place, or at 0 along axes of extent 1."""
    blocks = [real for real in statements(kernel.body, BlockRealize) if real.block.iter_vars]
    stores = list(statements(kernel.body, BufferStore))
    source, target = (kernel.buffer_map[p] for p in kernel.params if p in kernel.buffer_map)
    if len(blocks) != 1 or len(stores) != 1 or len(source.shape) != len(target.shape):
        return False
    store, axes = stores[0], blocks[0].block.iter_vars
    if not is_one(blocks[0].predicate) or store.buffer is not target:
        return False
    load = Simplifier().visit_expr(substitute(store.value, known))
    if not isinstance(load, BufferLoad) or load.buffer.data is not source.data:
        return False
    places = [axis.var for axis in axes if axis.iter_type == IterVar.DataPar]
    if len(places) != len(axes) or tuple(places) != tuple(store.indices):
        return False
    return all(
        index is place or (isinstance(index, IntImm) and index.value == 0 and extent == 1)
        for index, place, extent in zip(load.indices, places, shape)
    )
