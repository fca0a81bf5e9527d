"""Make sizes that a program reads as numbers with a kernel.

    lv = R.shape_to_tensor(R.shape([n, 4]))
        ->  lv = R.call_tir(cls.shape_to_tensor, (), R.Tensor((2,), "int64"), tir_vars=R.shape([n]))

So a graph that computes with its own sizes stays one of kernels only. A shape that is a variable
without known extents stays: only the running program knows it.
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Function, ShapeExpr, Tuple, is_call_of
from tvm.relax.struct_info import ShapeStructInfo, TensorStructInfo
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import map_calls
from tvm.tir.buffer import decl_buffer
from tvm.tir.expr import Var
from tvm.tir.function import PrimFunc
from tvm.tir.functor import substitute, vars_in
from tvm.tir.op import arith as ops
from tvm.tir.stmt import BufferStore, SeqStmt, Stmt


@relax_module_pass("LowerShapeToTensor")
def LowerShapeToTensor(mod: IRModule, ctx: PassContext) -> IRModule:
    """Replace `shape_to_tensor` of known extents, in all functions."""
    bb = BlockBuilder(mod)

    def on_call(call: Call) -> RelaxExpr:
        if not is_call_of(call, "relax.shape_to_tensor"):
            return call
        info = call.args[0].struct_info_
        if not isinstance(info, ShapeStructInfo) or info.values is None:
            return call
        return _call_of_kernel(bb, call, info.values)

    for var, func in mod.functions.items():
        if isinstance(func, Function):
            new = map_calls(func, on_call)
            if new is not func:
                bb.update_func(var, new)
    return bb.get()


def _call_of_kernel(bb: BlockBuilder, call: Call, extents: Sequence[PrimExpr]) -> Call:
    symbols = list(dict.fromkeys(v for e in extents for v in vars_in(e)))
    kernel = bb.add_func(_kernel(extents, symbols), "shape_to_tensor")
    info = TensorStructInfo((len(extents),), "int64")
    args: list[RelaxExpr] = [kernel, Tuple([])]
    if symbols:
        args.append(ShapeExpr(symbols))
    made = Call(Op.get("relax.call_tir"), args, None, [info], call.span)
    made.struct_info_ = call.struct_info_
    return made


def _kernel(extents: Sequence[PrimExpr], symbols: Sequence[Var]) -> PrimFunc:
    """out[i] = extent i, computed from its own parameters for the symbols."""
    out = decl_buffer((ops.const(len(extents), "int64"),), "int64", "out")
    handle = Var("p_out", "handle")
    numbers = {symbol: Var(symbol.name, "int64") for symbol in symbols}
    body: list[Stmt] = [
        BufferStore(out, ops.cast(substitute(extent, numbers), "int64"), [ops.const(i, "int64")])
        for i, extent in enumerate(extents)
    ]
    attrs = {"tir.noalias": True, "tir.is_scheduled": True}
    params = [handle, *numbers.values()]
    return PrimFunc(params, SeqStmt.flatten(body), None, {handle: out}, attrs)
