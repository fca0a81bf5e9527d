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
from tvm.ir.span import span_scope
from tvm.ir.transform import PassContext
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowBlock,
    Function,
    MatchCast,
    Tuple,
    TupleGetItem,
    Var,
    VarBinding,
)
from tvm.relax.struct_info import TensorStructInfo
from tvm.relax.transform.dead_code_elimination import remove_unused_bindings
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import rebuild_seq, with_body


@relax_module_pass("BatchNormAsScale")
def BatchNormAsScale(mod: IRModule, ctx: PassContext) -> IRModule:
    """Rewrite in all functions; a norm that asks for the statistics of the batch stays one."""
    functions = {
        var: _decompose(func, mod) if isinstance(func, Function) else func
        for var, func in mod.functions.items()
    }
    return mod.with_functions(functions)


def _decompose(func: Function, mod: IRModule) -> Function:
    body = rebuild_seq(func.body, _Decomposer(func, mod).block)
    return func if body is func.body else remove_unused_bindings(with_body(func, body))


class _Decomposer:
    def __init__(self, func: Function, mod: IRModule) -> None:
        self._bb = BlockBuilder(mod)
        self._bb.begin_scope(func.params)
        self._parts: dict[Var, Tuple] = {}

    def block(self, block: BindingBlock) -> BindingBlock:
        if not any(self._is_ours(binding.value) for binding in block.bindings):
            return block
        if isinstance(block, DataflowBlock):
            self._bb.begin_dataflow_block()
        else:
            self._bb.begin_binding_block()
        for binding in block.bindings:
            self._binding(binding)
        return type(block)(self._bb.end_block().bindings, block.span)

    def _is_ours(self, value: RelaxExpr) -> bool:
        if not _is_batch_norm(value):
            return False
        return not getattr(getattr(value, "attrs", None), "training", False)

    def _binding(self, binding: Binding) -> None:
        value = binding.value
        if isinstance(value, TupleGetItem) and value.tuple_value in self._parts:
            parts = self._parts[value.tuple_value]  # type: ignore[index]
            new = parts.fields[value.index]
            self._bb.emit_normalized(VarBinding(binding.var, new, binding.span))
            return
        if self._is_ours(value) and not isinstance(binding, MatchCast):
            assert isinstance(value, Call), "a batch norm is a call"
            with span_scope(binding.span or value.span):
                parts = self._batch_norm(value)
            self._parts[binding.var] = parts
            self._bb.emit_normalized(VarBinding(binding.var, parts, binding.span))
            return
        self._bb.emit_normalized(binding)

    def _emit(self, name: str, *args: RelaxExpr) -> RelaxExpr:
        return self._bb.emit(Call(Op.get(name), args))

    def _batch_norm(self, call: Call) -> Tuple:
        data, gamma, beta, mean, var = call.args
        attrs = call.attrs
        info = data.struct_info
        assert isinstance(info, TensorStructInfo), "a batch norm is of a tensor"
        channel = int(getattr(attrs, "axis", 1)) % info.ndim
        epsilon = Constant(np.asarray(getattr(attrs, "epsilon", 1e-5), str(info.dtype)))
        deviation = self._emit("relax.sqrt", self._emit("relax.add", var, epsilon))
        if getattr(attrs, "scale", True):
            scale = self._emit("relax.divide", gamma, deviation)
        else:
            one = Constant(np.asarray(1.0, str(info.dtype)))
            scale = self._emit("relax.divide", one, deviation)
        moved = self._emit("relax.multiply", mean, scale)
        if getattr(attrs, "center", True):
            shift = self._emit("relax.subtract", beta, moved)
        else:
            shift = self._emit("relax.negative", moved)
        scaled = self._emit("relax.multiply", data, self._along(scale, channel, info.ndim))
        result = self._emit("relax.add", scaled, self._along(shift, channel, info.ndim))
        packed = self._bb.normalize(Tuple([result, mean, var]))
        assert isinstance(packed, Tuple), "a tuple of leaves is normal"
        return packed

    def _along(self, vector: RelaxExpr, axis: int, ndim: int) -> RelaxExpr:
        """A vector in the shape in which it is broadcast along one axis."""
        from tvm.relax.op.manipulate import expand_dims

        others = [i for i in range(ndim) if i != axis]
        return self._bb.emit(expand_dims(vector, others)) if others else vector


def _is_batch_norm(value: RelaxExpr) -> bool:
    if not isinstance(value, Call) or not isinstance(value.op, Op):
        return False
    return value.op.name == "relax.nn.batch_norm"
