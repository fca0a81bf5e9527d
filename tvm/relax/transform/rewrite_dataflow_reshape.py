"""Turn kernels that only give a tensor another shape back into `relax.reshape`.

    lv = R.call_tir(cls.reshape, (x,), ...)      ->      lv = R.reshape(x, (n, 4))

A reshape costs nothing where the result may share the operand's memory; both backends of the graph
make it a view. A kernel qualifies when its only block copies the element with the same number in
row-major order, which the analyzer proves.
"""

from __future__ import annotations

from tvm.arith.analyzer import Analyzer
from tvm.ir.expr import GlobalVar, PrimExpr, Range, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.expr import Call, Function, Tuple
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import map_calls
from tvm.tir.buffer import Buffer
from tvm.tir.expr import INT64, BufferLoad, IntImm, IterVar
from tvm.tir.function import PrimFunc
from tvm.tir.functor import walk
from tvm.tir.op.arith import multiply
from tvm.tir.stmt import Block, BufferStore


@relax_pass("RewriteDataflowReshape")
def RewriteDataflowReshape(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Rewrite every call_tir of a reshaping kernel."""
    known: dict[GlobalVar, bool] = {}

    def on_call(call: Call) -> RelaxExpr:
        if not isinstance(call.op, Op) or call.op.name != "relax.call_tir" or len(call.args) > 2:
            return call
        var, operands = call.args[0], call.args[1]
        if not isinstance(var, GlobalVar) or not isinstance(operands, Tuple):
            return call
        kernel = mod.functions.get(var)
        info = call.struct_info_
        if not isinstance(kernel, PrimFunc) or not isinstance(info, TensorStructInfo):
            return call
        if len(operands.fields) != 1 or not isinstance(info.shape, ShapeExpr):
            return call
        if var not in known:
            known[var] = is_reshape(kernel)
        if not known[var]:
            return call
        new = Call(Op.get("relax.reshape"), (operands.fields[0], info.shape), None, None, call.span)
        new.struct_info_ = info
        return new

    return map_calls(func, on_call)


def is_reshape(kernel: PrimFunc) -> bool:
    """Whether the kernel copies its one operand into its one result in row-major order."""
    buffers = [kernel.buffer_map[p] for p in kernel.params if p in kernel.buffer_map]
    if len(buffers) != 2 or buffers[0].dtype is not buffers[1].dtype:
        return False
    blocks = [n for n in walk(kernel.body) if isinstance(n, Block) and n.iter_vars]
    if len(blocks) != 1 or not isinstance(blocks[0].body, BufferStore):
        return False
    block, store = blocks[0], blocks[0].body
    load = store.value
    if store.buffer is not buffers[1] or not isinstance(load, BufferLoad):
        return False
    if load.buffer is not buffers[0] or any(b.strides for b in buffers):
        return False
    analyzer = Analyzer()
    if not analyzer.can_prove_equal(_size(buffers[0]), _size(buffers[1])):
        return False
    for iv in block.iter_vars:
        if iv.iter_type != IterVar.DataPar or iv.dom is None:
            return False
        analyzer.bind(iv.var, Range.from_min_extent(iv.dom.min, iv.dom.extent))
    source = buffers[0].offset_of(load.indices)
    target = buffers[1].offset_of(store.indices)
    return analyzer.can_prove_equal(source[0], target[0])


def _size(buffer: Buffer) -> PrimExpr:
    total: PrimExpr = IntImm(INT64, 1)
    for extent in buffer.shape:
        total = multiply(total, extent)
    return total
