"""Turn tensors that no plan covers into storage of their own with the tensor in it.

    x = R.builtin.alloc_tensor(R.shape([16, 32]), "float32", 0)
        ->
    storage = R.memory.alloc_storage(R.shape([2048]), 0, "global", "float32")
    x = R.memory.alloc_tensor(storage, 0, R.shape([16, 32]), "float32")
"""

from __future__ import annotations

from collections.abc import Sequence

from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    DataflowVar,
    DataTypeImm,
    Function,
    Var,
    VarBinding,
    is_call_of,
)
from tvm.relax.op.memory.memory import alloc_storage, alloc_tensor
from tvm.relax.struct_info import ShapeExpr
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import map_bindings, with_value
from tvm.support.dtype import DataType
from tvm.tir.op import arith as ops


@relax_pass("LowerAllocTensor")
def LowerAllocTensor(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """No `builtin.alloc_tensor` with a written-out shape is left."""
    bb = BlockBuilder()

    def on_binding(binding: Binding) -> Sequence[Binding]:
        call = binding.value
        if not is_call_of(call, "relax.builtin.alloc_tensor"):
            return (binding,)
        shape, dtype, device, scope = call.args
        if not isinstance(shape, ShapeExpr) or not isinstance(dtype, DataTypeImm):
            return (binding,)
        size = ShapeExpr([tensor_bytes(shape.values, dtype.value)])
        value = bb.normalize(alloc_storage(size, device, scope, "uint8"))
        kind = DataflowVar if isinstance(binding.var, DataflowVar) else Var
        storage = kind("storage", value.struct_info_)
        tensor = bb.normalize(alloc_tensor(storage, 0, shape, dtype))
        value.span = tensor.span = call.span
        return (VarBinding(storage, value, binding.span), with_value(binding, tensor))

    return map_bindings(func, on_binding)


def tensor_bytes(extents: Sequence[PrimExpr], dtype: DataType) -> PrimExpr:
    """The size of a tensor in bytes."""
    total: PrimExpr = ops.const(dtype.itemsize, "int64")
    for extent in extents:
        total = ops.multiply(total, extent)
    return total
