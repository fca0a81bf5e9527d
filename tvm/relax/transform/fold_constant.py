"""Compute while compiling what depends on constants only.

    lv = R.multiply(const_a, const_b)
    gv = R.add(x, lv)                      ->        gv = R.add(x, const_ab)

Operators are computed by their numpy reference, kernels by running them: natively when they are
large, by the interpreter otherwise. Shapes must be known, operators pure, results tensors. A
constant stands at all its uses, also in other blocks, and its binding goes, as all that is unused.
What a later call overwrites is computed each time.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any, Final

import numpy as np

from tvm.ir.expr import GlobalVar, RelaxExpr, StructInfo
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relax.expr import (
    Binding,
    Call,
    Constant,
    Function,
    If,
    MatchCast,
    SeqExpr,
    Tuple,
    TupleGetItem,
    Var,
    const,
)
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.relax.struct_info import ShapeExpr, TensorStructInfo, TupleStructInfo
from tvm.relax.transform.dead_code_elimination import has_effects, remove_unused_bindings
from tvm.relax.transform.inplace_results import overwritten_in
from tvm.relax.transform.kernel_runner import KernelRunner
from tvm.relax.transform.pass_form import relax_pass
from tvm.relax.transform.rebuild import (
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
# What is made of constants and larger than they are is kept as a call above this size: a few
# numbers may ask for more memory than there is.
LARGEST_GROWN_BYTES = 1 << 28


@relax_pass("FoldConstant")
def FoldConstant(func: Function, mod: IRModule, ctx: PassContext) -> Function:
    """Fold in the order of evaluation, so that what was folded counts as constant."""
    body = _Folder(mod, overwritten_in(func)).seq(func.body)
    return remove_unused_bindings(with_body(func, body))


class _Folder:
    def __init__(self, mod: IRModule, changing: Container[Var]) -> None:
        self._mod = mod
        self._changing = changing
        self._constants: dict[RelaxExpr, RelaxExpr] = {}
        self._others: dict[RelaxExpr, RelaxExpr] = {}  # known tuples and shapes
        self._runner = KernelRunner()
        # results; each entry keeps its tensors alive, so the ids in its key stay valid
        self._made: dict[tuple[object, ...], tuple[object, RelaxExpr]] = {}

    def seq(self, seq: SeqExpr) -> SeqExpr:
        """The sequence with constants at their uses, in branches and local functions too."""
        blocks = [
            with_bindings(block, [self._binding(binding) for binding in block.bindings])
            for block in seq.blocks
        ]
        body = replace_operands(seq.body, self._constants.get)
        if body is seq.body and all(a is b for a, b in zip(blocks, seq.blocks)):
            return seq
        return SeqExpr(blocks, body, seq.span)

    def _binding(self, binding: Binding) -> Binding:
        value = binding.value
        if isinstance(value, If):
            return with_value(binding, self._branches(value))
        if isinstance(value, Function):
            return with_value(binding, with_body(value, self.seq(value.body)))
        value = replace_operands(value, self._constants.get)
        if isinstance(binding, MatchCast) or binding.var in self._changing:
            return with_value(binding, value)
        if isinstance(value, TupleGetItem):
            value = self._item(value)
        elif isinstance(value, Call):
            value = self._call(value)
        if isinstance(value, Constant):
            self._constants[binding.var] = value
        elif isinstance(value, (Tuple, ShapeExpr)):
            self._others[binding.var] = value
        return with_value(binding, value)

    def _branches(self, value: If) -> If:
        cond = replace_operands(value.cond, self._constants.get)
        parts = (cond, self.seq(value.true_branch), self.seq(value.false_branch))
        if all(a is b for a, b in zip(parts, (value.cond, value.true_branch, value.false_branch))):
            return value
        return If(*parts, value.span)

    def _item(self, item: TupleGetItem) -> RelaxExpr:
        known = self._others.get(item.tuple_value)
        if isinstance(known, Tuple) and isinstance(known.fields[item.index], Constant):
            return known.fields[item.index]
        return item

    def _call(self, call: Call) -> RelaxExpr:
        """The call folded; where it stays, with the shapes themselves as its operands."""
        known = replace_operands(call, self._others.get)
        if known is not call:
            known.struct_info_ = call.struct_info_
        assert isinstance(known, Call), "a call stays one"
        folded = self._fold(known)
        if folded is not known:
            return folded
        shapes = [self._others.get(arg) for arg in call.args]
        if not isinstance(call.op, Op) or not any(isinstance(one, ShapeExpr) for one in shapes):
            return call
        args = [one if isinstance(one, ShapeExpr) else arg for one, arg in zip(shapes, call.args)]
        return Call(call.op, args, call.attrs, call.sinfo_args, call.span)

    def _fold(self, call: Call) -> RelaxExpr:
        info = call.struct_info_
        if isinstance(call.op, Op) and call.op.name in _SHAPES:
            return _SHAPES[call.op.name](call)
        if not isinstance(call.op, Op) or info is None or not _static(info) or has_effects(call):
            return call
        if _nbytes(info) > max(LARGEST_GROWN_BYTES, sum(_held_bytes(arg) for arg in call.args)):
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
    from_nothing = not any(isinstance(a, Constant) or _holds_tensor(a) for a in call.args)
    if from_nothing and _size(info) > LARGEST_FROM_NOTHING:
        return None
    result = reference(call, [_value(arg) for arg in call.args])
    outputs = list(result) if isinstance(result, (list, tuple)) else [result]
    return _as_constant(outputs, info, call)


def _shape_to_tensor(call: Call) -> RelaxExpr:
    shape = call.args[0]
    if not isinstance(shape, ShapeExpr) or not _is_constant(shape):
        return call
    return const(np.array(_value(shape), "int64"), "int64")


def _tensor_to_shape(call: Call) -> RelaxExpr:
    tensor = call.args[0]
    if not isinstance(tensor, Constant):
        return call
    return ShapeExpr([IntImm("int64", int(extent)) for extent in tensor.data.numpy()], call.span)


# Operators whose operand or result is a shape.
_SHAPES: Final = {
    "relax.shape_to_tensor": _shape_to_tensor, "relax.tensor_to_shape": _tensor_to_shape,
}  # fmt: skip


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
    """Whether all extents are numbers, and numpy knows the type: users' types it does not."""
    if isinstance(info, TupleStructInfo):
        return all(_static(field) for field in info.fields)
    return (
        isinstance(info, TensorStructInfo)
        and not info.dtype.is_custom
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


def _nbytes(info: StructInfo) -> int:
    if isinstance(info, TupleStructInfo):
        return sum(_nbytes(field) for field in info.fields)
    assert isinstance(info, TensorStructInfo), "only tensors are folded"
    return _size(info) * info.dtype.itemsize


def _held_bytes(operand: RelaxExpr) -> int:
    """The bytes of constants in an operand."""
    if isinstance(operand, Tuple):
        return sum(_held_bytes(field) for field in operand.fields)
    return operand.data.nbytes if isinstance(operand, Constant) else 0


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
