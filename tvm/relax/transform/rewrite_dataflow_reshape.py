"""Turn kernels that only give a tensor another shape back into `relax.reshape`.

    lv = R.call_tir(cls.reshape, (x,), ...)      ->      lv = R.reshape(x, (n, 4))

A reshape costs nothing where the result may share the operand's memory; both backends of the graph
make it a view. A kernel qualifies when its only block copies the element with the same number in
row-major order (`relax.analysis.has_reshape_pattern`), or when it is the kernel of a reshape whose
sizes cannot be compared before the program runs; for a view that is done then. Operands that it
does not read go. Only values of dataflow blocks that stay within their block are rewritten, and
that no call overwrites while the other is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import mul

from tvm import te, topi
from tvm.arith import Analyzer
from tvm.ir.expr import GlobalVar, PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext
from tvm.relax.analysis.reshape_pattern import equal_groups, has_reshape_pattern
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    DataflowBlock,
    DataflowVar,
    Function,
    SeqExpr,
    Tuple,
    Var,
    is_call_of,
)
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.relax.transform.inplace_results import Memory, overwritten, shared
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import (
    rebuild_seq,
    vars_needed,
    with_bindings,
    with_body,
    with_inner,
    with_value,
)
from tvm.tir.expr import BufferLoad, IntImm
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.op.arith import floormod, is_zero


@relax_pass("RewriteDataflowReshape")
def RewriteDataflowReshape(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Rewrite every call_tir of a reshaping kernel whose result stays within its block."""
    known: dict[GlobalVar, int | None] = {}

    def on_call(call: Call) -> Call:
        if not is_call_of(call, "relax.call_tir"):
            return call
        var, operands = call.args[0], call.args[1]
        if not isinstance(var, GlobalVar) or not isinstance(operands, Tuple):
            return call
        kernel = mod.functions.get(var)
        info = call.struct_info_
        if not isinstance(kernel, PrimFunc) or not isinstance(info, TensorStructInfo):
            return call
        if not isinstance(info.shape, ShapeExpr):
            return call
        if var not in known:
            known[var] = _copied_operand(kernel, len(operands.fields))
        index = known[var]
        if index is None:
            return call
        source = operands.fields[index]
        new = Call(Op.get("relax.reshape"), (source, info.shape), None, None, call.span)
        new.struct_info_ = info
        return new

    def on_seq(seq: SeqExpr) -> SeqExpr:
        return rebuild_seq(seq, on_block)

    def on_block(block: BindingBlock) -> BindingBlock:
        new = [with_inner(binding, on_seq) for binding in block.bindings]
        if isinstance(block, DataflowBlock):
            for i, binding in enumerate(new):
                value = binding.value
                # what others see may not share memory with an operand
                if isinstance(value, Call) and isinstance(binding.var, DataflowVar):
                    made = on_call(value)
                    if made is not value and not _is_overwritten(new, i, made.args[0]):
                        new[i] = with_value(binding, made)
        return with_bindings(block, new)

    return with_body(func, on_seq(func.body))


def _is_overwritten(bindings: Sequence[Binding], index: int, source: RelaxExpr) -> bool:
    """Whether a view of `source` would see other values than a copy.

    That is where a later call overwrites one of the two, and the other is still used.
    """
    writers = [i for i in range(index + 1, len(bindings)) if overwritten(bindings[i].value)]
    if not writers:
        return False
    memory = Memory()
    for binding in bindings:
        memory.bind(binding.var, shared(binding.value))
    view = bindings[index].var
    origin = memory.of(source) if isinstance(source, Var) else frozenset[Var]()
    lasting = not origin or not origin <= {binding.var for binding in bindings}
    results = [binding.var for binding in bindings if not isinstance(binding.var, DataflowVar)]
    for i in writers:
        changed = memory.of_all(overwritten(bindings[i].value))
        read = [var for binding in bindings[i + 1 :] for var in vars_needed(binding.value)]
        used = memory.of_all([*read, *results])
        if view in changed and (lasting or origin & used):
            return True
        if origin & changed and view in used:
            return True
    return False


def _copied_operand(kernel: PrimFunc, operands: int) -> int | None:
    """The only operand that a kernel reads, if its result is that one in another shape."""
    buffers = [kernel.buffer_map.get(param) for param in kernel.params]
    read = {load.buffer for load in walk(kernel.body) if isinstance(load, BufferLoad)}
    indices = [i for i, buffer in enumerate(buffers[:operands]) if buffer in read]
    if len(indices) != 1 or len(buffers) <= operands:
        return None
    index = indices[0]
    params = (kernel.params[index], kernel.params[operands], *kernel.params[operands + 1 :])
    buffer_map = {p: kernel.buffer_map[p] for p in params if p in kernel.buffer_map}
    alone = PrimFunc(params, kernel.body, kernel.ret_type, buffer_map, kernel.attrs, kernel.span)
    return index if has_reshape_pattern(alone) or has_reshape_form(alone) else None


def has_reshape_form(kernel: PrimFunc) -> bool:
    """Whether a kernel is the one of `reshape`, whose sizes cannot be compared before it runs.

    Taken as a view, the sizes are compared then. What surely has several times the elements is
    the operand repeated, for which the kernel is the same.
    """
    source, *_, target = [kernel.buffer_map[p] for p in kernel.params if p in kernel.buffer_map]
    if all(isinstance(e, IntImm) for e in (*source.shape, *target.shape)):
        return False
    if _repeats(source.shape, target.shape):
        return False
    given = te.placeholder(source.shape, source.dtype, source.name)
    tensors = [given, topi.reshape(given, target.shape)]
    made = te.create_prim_func(tensors, index_dtype_override="int64")
    same = {made.params[0]: source, made.params[1]: target}
    plain = PrimFunc(made.params, kernel.body, kernel.ret_type, same)
    return structural_equal(plain, PrimFunc(made.params, made.body, made.ret_type, made.buffer_map))


def _repeats(part: Sequence[PrimExpr], whole: Sequence[PrimExpr]) -> bool:
    """Whether one shape surely has several times the elements of another."""
    one = IntImm("int64", 1)
    few, many = (reduce(mul, shape, one) for shape in (part, whole))
    if is_zero(few):
        return False  # of nothing there are no multiples, and views are compared as they run
    if equal_groups(part, whole) is not None:
        return False
    return Analyzer().can_prove_equal(floormod(many, few), 0)
