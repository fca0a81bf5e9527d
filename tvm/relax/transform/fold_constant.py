"""Compute while compiling what depends on constants only.

    lv = R.multiply(const_a, const_b)
    gv = R.add(x, lv)                      ->        gv = R.add(x, const_ab)

Operators are computed by their numpy reference, kernels by running them: natively when they are
large, by the interpreter otherwise. Shapes must be known, operators pure, results tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.expr import (
    Binding,
    BindingBlock,
    Call,
    Constant,
    DataflowVar,
    Function,
    MatchCast,
    Tuple,
    TupleGetItem,
    Var,
)
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.relax.transform.dead_code_elimination import has_effects, remove_unused_bindings
from tvm.relax.transform.kernel_runner import KernelRunner
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import (
    rebuild_seq,
    replace_operands,
    with_bindings,
    with_body,
    with_value,
)
from tvm.tir.expr import IntImm
from tvm.tir.function import PrimFunc

# A constant made from nothing (zeros, arange) is kept as a call above this size: the program would
# grow by what costs little to compute.
LARGEST_FROM_NOTHING = 1024


@relax_pass("FoldConstant")
def FoldConstant(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Fold in the order of evaluation, so that what was folded counts as constant."""
    folder = _Folder(mod)
    body = rebuild_seq(func.body, folder.block)
    if body is func.body:
        return func
    return remove_unused_bindings(with_body(func, body))


class _Folder:
    def __init__(self, mod: IRModule) -> None:
        self._mod = mod
        self._known: dict[Var, RelaxExpr] = {}
        self._runner = KernelRunner()
        # results with the tensors that they are of, which keeps these at their places
        self._made: dict[tuple[object, ...], tuple[object, RelaxExpr]] = {}

    def block(self, block: BindingBlock) -> BindingBlock:
        return with_bindings(block, [self._binding(binding) for binding in block.bindings])

    def _binding(self, binding: Binding) -> Binding:
        value = replace_operands(binding.value, self._operand)
        if isinstance(binding, MatchCast):
            return with_value(binding, value)
        if isinstance(value, Call):
            value = self._fold(value)
        is_known = isinstance(value, (Constant, Tuple)) and _is_constant(value)
        if is_known and isinstance(binding.var, DataflowVar):
            self._known[binding.var] = value
        return with_value(binding, value)

    def _operand(self, expr: RelaxExpr) -> RelaxExpr | None:
        return self._known.get(expr) if isinstance(expr, Var) else None

    def _fold(self, call: Call) -> RelaxExpr:
        info = call.struct_info_
        if not isinstance(call.op, Op) or info is None or not _static(info) or has_effects(call):
            return call
        if call.op.name == "relax.call_tir":
            result = self._fold_kernel(call, info)
        else:
            result = _fold_operator(call, info)
        return call if result is None else result

    def _fold_kernel(self, call: Call, info: StructInfo) -> RelaxExpr | None:
        var = call.args[0]
        kernel = self._mod.functions.get(var) if isinstance(var, GlobalVar) else None
        operands = call.args[1]
        if not isinstance(kernel, PrimFunc) or not isinstance(operands, Tuple):
            return None
        if len(call.args) > 2 or not all(isinstance(f, Constant) for f in operands.fields):
            return None
        if not operands.fields and _size(info) > LARGEST_FROM_NOTHING:
            return None
        tensors = [f.data for f in operands.fields if isinstance(f, Constant)]
        key = (kernel, *map(id, tensors))
        if key not in self._made:  # a weight that is used twice stays one
            infos = info.fields if isinstance(info, TupleStructInfo) else (info,)
            shapes = [_shape_and_dtype(one) for one in infos]
            outputs = self._runner.run(kernel, [one.numpy() for one in tensors], shapes)
            self._made[key] = tensors, _as_constant(outputs, info, call)
        return self._made[key][1]


def _fold_operator(call: Call, info: StructInfo) -> RelaxExpr | None:
    assert isinstance(call.op, Op), "the caller looked"
    reference = call.op.get_attr("FReference")
    if reference is None or not all(_is_constant(arg) for arg in call.args):
        return None
    if not call.args and _size(info) > LARGEST_FROM_NOTHING:
        return None
    if not any(isinstance(arg, Constant) or _holds_tensor(arg) for arg in call.args):
        return None
    result = reference(call, [_value(arg) for arg in call.args])
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    return _as_constant(outputs, info, call)


def _value(expr: RelaxExpr) -> Any:
    """A constant operand as a reference takes it: arrays, numbers, tuples of them."""
    if isinstance(expr, Constant):
        return expr.data.numpy()
    if isinstance(expr, Tuple):
        return tuple(_value(field) for field in expr.fields)
    if isinstance(expr, ShapeExpr):
        return tuple(int(extent) for extent in expr.values)  # type: ignore[call-overload]
    value = getattr(expr, "value", expr)
    return getattr(value, "value", value)


def _as_constant(outputs: Sequence[Any], info: StructInfo, call: Call) -> RelaxExpr:
    if isinstance(info, TupleStructInfo):
        return Tuple([_tensor(o, i, call) for o, i in zip(outputs, info.fields)], call.span)
    return _tensor(outputs[0], info, call)


def _tensor(array: Any, info: StructInfo, call: Call) -> Constant:
    shape, dtype = _shape_and_dtype(info)
    return Constant(array.astype(dtype, copy=False).reshape(shape), info, call.span)


def _shape_and_dtype(info: StructInfo) -> tuple[tuple[int, ...], Any]:
    assert isinstance(info, TensorStructInfo), "only tensors are folded"
    assert isinstance(info.shape, ShapeExpr), "only known shapes are folded"
    return tuple(int(extent) for extent in info.shape.values), numpy_dtype(info.dtype)  # type: ignore[call-overload]


def _static(info: StructInfo) -> bool:
    if isinstance(info, TupleStructInfo):
        return all(_static(field) for field in info.fields)
    return (
        isinstance(info, TensorStructInfo)
        and isinstance(info.shape, ShapeExpr)
        and all(isinstance(extent, IntImm) for extent in info.shape.values)
    )


def _size(info: StructInfo) -> int:
    if isinstance(info, TupleStructInfo):
        return sum(_size(field) for field in info.fields)
    total = 1
    for extent in _shape_and_dtype(info)[0]:
        total *= extent
    return total


def _is_constant(expr: RelaxExpr) -> bool:
    """Constants, tuples of them, and operands that are plain values."""
    if isinstance(expr, Tuple):
        return all(_is_constant(field) for field in expr.fields)
    if isinstance(expr, ShapeExpr):
        return all(isinstance(extent, IntImm) for extent in expr.values)
    return not isinstance(expr, (Var, Call, TupleGetItem, Function)) and (
        isinstance(expr, Constant) or not isinstance(expr.struct_info_, TensorStructInfo)
    )


def _holds_tensor(expr: RelaxExpr) -> bool:
    return isinstance(expr, Tuple) and any(isinstance(field, Constant) for field in expr.fields)
