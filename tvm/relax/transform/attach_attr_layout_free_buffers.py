"""TIR functions say which of their buffers hold weights, whose layout may be chosen freely.

    def main(x, w):  # num_input: 1
        y = call_tir(cls.matmul, (x, w))     ->    y = call_tir(cls.matmul1, (x, w))

where `matmul1` is `matmul` with the attribute `layout_free_buffers: [1]`. Weights are constants and
the parameters after the first `num_input`. Functions that nobody calls any more are removed.
"""

from __future__ import annotations

from tvm.ir.expr import GlobalVar, RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext, Sequential, declare_module_pass
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import Call, Constant, Function, Tuple, Var
from tvm.relax.transform.dead_code_elimination import DeadCodeElimination
from tvm.relax.transform.rebuild import map_calls
from tvm.tir.function import PrimFunc
from tvm.tir.renew_defs import renew_defs


def AttachAttrLayoutFreeBuffers() -> Sequential:
    """Every call of a TIR function with weights is one of a function that knows of them."""
    return Sequential([_attach(), DeadCodeElimination()], name="AttachAttrLayoutFreeBuffers")


@declare_module_pass("_AttachAttrLayoutFreeBuffers")
def _attach(mod: IRModule, ctx: PassContext) -> IRModule:
    bb = BlockBuilder(mod)
    for var, func in mod.functions_items():
        if isinstance(func, Function):
            new = _with_marked_calls(func, mod, bb)
            if new is not func:
                bb.update_func(var, new)
    return bb.get()


def _with_marked_calls(func: Function, mod: IRModule, bb: BlockBuilder) -> Function:
    count = func.attrs.get("num_input")
    weights = set(func.params[int(str(count)) :]) if count is not None else set()

    def marked(call: Call) -> RelaxExpr:
        if not isinstance(call.op, Op) or call.op.name != "relax.call_tir":
            return call
        callee, operands = call.args[0], call.args[1]
        assert isinstance(operands, Tuple), "call_tir has a tuple of operands"
        free = [i for i, arg in enumerate(operands.fields) if _is_weight(arg, weights)]
        kernel = mod[callee] if isinstance(callee, GlobalVar) else None
        if not free or not isinstance(kernel, PrimFunc):
            return call
        if _indices(kernel) == free:
            return call
        assert isinstance(callee, GlobalVar), "its function was found"
        own = renew_defs(kernel).with_attr("layout_free_buffers", free)
        target = bb.add_func(own.without_attr("global_symbol"), callee.name_hint)
        new = Call(call.op, [target, *call.args[1:]], call.attrs, call.sinfo_args, call.span)
        new.struct_info_ = call.struct_info_
        return new

    return map_calls(func, marked)


def _is_weight(arg: RelaxExpr, weights: set[Var]) -> bool:
    return isinstance(arg, Constant) or (isinstance(arg, Var) and arg in weights)


def _indices(kernel: PrimFunc) -> list[int] | None:
    found = kernel.attrs.get("layout_free_buffers")
    if found is None:
        return None
    return [int(str(index)) for index in found]  # type: ignore[attr-defined]
