"""Compute while compiling what depends on constants alone.

    add(multiply(2f, 3f), %x)    ->    add(6f, %x)

Shapes that are known fold too: `shape_of` of a tensor with known extents is a constant.
"""

from __future__ import annotations

from math import prod
from typing import Any, Final

import numpy as np

from tvm.error import TVMError
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay.backend.op_values import call_value
from tvm.relay.expr import Call, Constant, If, Let, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.traverse import post_order, transform
from tvm.relay.ty import TensorType, is_dynamic

from .function_pass import expr_pass
from .infer_type import infer_types_of, typed_module

# They have effects, or mark what lies in them.
_KEPT: Final = frozenset({
    "annotation.stop_fusion", "annotation.checkpoint", "device_copy", "on_device",
    "annotation.compiler_begin", "annotation.compiler_end",
})  # fmt: skip


# what asks for a shape: the value of a variable need not be known
_OF_SHAPES: Final = frozenset({"shape_of", "vm.shape_of", "ndarray_size"})


@expr_pass("FoldConstant", opt_level=2, needs_types=False)
def FoldConstant(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, fold_qnn: bool = False
) -> RelaxExpr:
    """The function with constants instead of what they decide."""
    if any(_lacks_shape(expr) for expr in post_order(func)):
        func = infer_types_of(func, mod)
    return _Folder(fold_qnn).run(func)


def FoldConstantExpr(expr: RelaxExpr, mod: IRModule, fold_qnn: bool = False) -> RelaxExpr:
    """An expression with constants instead of what they decide."""
    return _Folder(fold_qnn).run(infer_types_of(expr, mod))


class _Folder:
    def __init__(self, quantized: bool = False) -> None:
        self.quantized = quantized
        self.known: dict[Node, RelaxExpr] = {}

    def run(self, expr: RelaxExpr) -> RelaxExpr:
        return transform(expr, self.rule)

    def rule(self, old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(new, Call) and isinstance(new.op, Op):
            return self.call(old, new, new.op)
        if isinstance(new, TupleGetItem) and isinstance(new.tuple_value, Tuple):
            return new.tuple_value.fields[new.index]
        if isinstance(new, If) and isinstance(new.cond, Constant):
            chosen = bool(new.cond.data.numpy())
            return new.true_branch if chosen else new.false_branch
        if isinstance(new, Let) and isinstance(new.value, Constant):
            return _replaced(new.body, new.var, new.value)
        return new

    def call(self, old: RelaxExpr, new: Call, op: Op) -> RelaxExpr:
        if op.name in _KEPT or op.get_attr("TOpIsStateful"):
            return new
        if op.name in _OF_SHAPES:
            return _of_shape(old, new, op.name)
        if not new.args or not all(_is_constant(arg) for arg in new.args):
            return new
        if op.get_attr("FTVMQnnCanonicalize") is not None:
            return _plain_folded(new) if self.quantized else new
        try:
            return _as_expr(call_value(new, [_value(arg) for arg in new.args]), new)
        except TVMError:
            return new  # it fails when the program runs, or not at all


def _plain_folded(call: Call) -> RelaxExpr:
    """A quantized call of constants: written in plain operators, and folded there."""
    from tvm.relay.qnn.transform import without_quantized

    plain = without_quantized(typed_module(Function([], call)))["main"]
    assert isinstance(plain, Function), "a function stays one"
    return _Folder().run(plain.body)


def _replaced(body: RelaxExpr, var: Var, value: Constant) -> RelaxExpr:
    from tvm.relay.rewrite import substitute

    return transform(substitute(body, {var.vid: value}), _Folder().rule)


def _of_shape(old: RelaxExpr, new: Call, name: str) -> RelaxExpr:
    """The extents, or their product, of a tensor whose type says them all."""
    assert isinstance(old, Call), "the rewrite keeps the operator"
    found = getattr(old.args[0], "checked_type_", None)
    if not isinstance(found, TensorType) or is_dynamic(found):
        return new
    dtype = new.attrs["dtype"]  # type: ignore[index]
    shape = found.concrete_shape
    value = prod(shape) if name == "ndarray_size" else shape
    return Constant(np.array(value, dtype=str(dtype)), new.span)


def _lacks_shape(expr: RelaxExpr) -> bool:
    """Whether it asks for a shape that nobody has inferred."""
    if not isinstance(expr, Call) or not isinstance(expr.op, Op) or expr.op.name not in _OF_SHAPES:
        return False
    return getattr(expr.args[0], "checked_type_", None) is None


def _is_constant(expr: RelaxExpr) -> bool:
    if isinstance(expr, Tuple):
        return all(_is_constant(field) for field in expr.fields)
    return isinstance(expr, Constant)


def _value(expr: RelaxExpr) -> Any:
    if isinstance(expr, Tuple):
        return tuple(_value(field) for field in expr.fields)
    assert isinstance(expr, Constant), "seen before"
    return expr.data.numpy()


def _as_expr(value: Any, call: Call) -> RelaxExpr:
    if isinstance(value, (tuple, list)):
        return Tuple([_as_expr(field, call) for field in value], call.span)
    return Constant(np.asarray(value), call.span)


