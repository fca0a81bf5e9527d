"""Write batch norms as a multiply and an add.

    z = batch_norm(x, gamma, beta, mean, var)[0]
        ->  scale = gamma / sqrt(var + eps); z = x * scale + (beta - mean * scale)

What depends on parameters only folds away when they are constants: one multiply and one add remain.
"""

from __future__ import annotations

import numpy as np

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Call,
    Constant,
    Function,
    Tuple,
)
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import rewrite_calls


@relax_pass("BatchNormAsScale")
def BatchNormAsScale(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Rewrite in all functions; a norm that asks for the statistics of the batch stays one."""
    rules = {"relax.nn.batch_norm": _scaled}
    new = rewrite_calls(func, rules, BlockBuilder(mod), takes_fields=True)
    return func if new is func else remove_unused_bindings(new)


def _scaled(bb: BlockBuilder, call: Call) -> RelaxExpr:
    if getattr(call.attrs, "training", False):
        return call

    def emit(name: str, *args: RelaxExpr) -> RelaxExpr:
        return bb.emit(Call(Op.get(name), args))

    data, gamma, beta, mean, var = call.args
    attrs = call.attrs
    info = data.struct_info
    assert isinstance(info, TensorStructInfo), "a batch norm is of a tensor"
    channel = int(getattr(attrs, "axis", 1)) % info.ndim
    epsilon = Constant(np.asarray(getattr(attrs, "epsilon", 1e-5), str(info.dtype)))
    deviation = emit("relax.sqrt", emit("relax.add", var, epsilon))
    if getattr(attrs, "scale", True):
        scale = emit("relax.divide", gamma, deviation)
    else:
        one = Constant(np.asarray(1.0, str(info.dtype)))
        scale = emit("relax.divide", one, deviation)
    moved = emit("relax.multiply", mean, scale)
    if getattr(attrs, "center", True):
        shift = emit("relax.subtract", beta, moved)
    else:
        shift = emit("relax.negative", moved)
    scaled = emit("relax.multiply", data, _along(bb, scale, channel, info.ndim))
    result = emit("relax.add", scaled, _along(bb, shift, channel, info.ndim))
    return Tuple([result, mean, var])


def _along(bb: BlockBuilder, vector: RelaxExpr, axis: int, ndim: int) -> RelaxExpr:
    """A vector in the shape in which it is broadcast along one axis."""
    from tvm.relax.op.manipulate import expand_dims

    others = [i for i in range(ndim) if i != axis]
    return bb.emit(expand_dims(vector, others)) if others else vector
