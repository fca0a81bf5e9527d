"""Write composite operators in terms of simpler ones.

    y = batch_norm(x, gamma, beta, mean, var)
        ->  z = (x - mean) / sqrt(var + eps) * gamma + beta
            y = (z, mean, var)

For training, mean and variance are those of the batch, the moving ones go toward them, and layer
norms are written out, too. A shape that is computed gets extents with names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tvm.error import CheckError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import ApplyPassToFunction, Pass, PassContext, Sequential
from tvm.relax.block_builder import BlockBuilder
from tvm.relax.expr import (
    Call,
    ExternFunc,
    Function,
    MatchCast,
    Tuple,
    TupleGetItem,
    Var,
    const,
)
from tvm.relax.struct_info import ShapeExpr, ShapeStructInfo, TensorStructInfo
from tvm.relax.transform.pass_form import relax_module_pass
from tvm.relax.transform.rebuild import CallRule, rewrite_calls
from tvm.tir import expr as tir


def DecomposeOpsForInference(func_name: str | None = None) -> Pass:
    """Batch norms by their moving statistics; in functions whose name matches, or in all."""
    return _within(_Decompose(_INFERENCE), func_name)


def DecomposeOpsForTraining(func_name: str | None = None) -> Pass:
    """Batch norms by the statistics of the batch, layer norms; in functions that match, or all."""
    steps = [_Decompose(_TRAINING), _Decompose(_INFERENCE)]
    return _within(Sequential(steps, name="DecomposeOpsForTraining"), func_name)


def _within(decompose: Pass, func_name: str | None) -> Pass:
    """The pass on functions whose name begins with a match of the expression `func_name`."""
    return decompose if func_name is None else ApplyPassToFunction(decompose, func_name)


@relax_module_pass("DecomposeOps")
def _Decompose(mod: IRModule, ctx: PassContext, rules: Mapping[str, CallRule]) -> IRModule:
    functions = {
        var: rewrite_calls(func, rules, BlockBuilder(mod)) if isinstance(func, Function) else func
        for var, func in mod.functions.items()
    }
    return mod.with_functions(functions)


# --- the rules ---


def _make(name: str, *args: Any, **options: Any) -> RelaxExpr:
    made: RelaxExpr = Op.get(f"relax.{name}").get_attr("FMakeCall")(*args, **options)
    return made


def _info(expr: RelaxExpr, call: Call) -> TensorStructInfo:
    info = expr.struct_info
    if not isinstance(info, TensorStructInfo) or info.ndim == -1:
        where = None if call.span is None else str(call.span)
        raise CheckError(
            message("DecomposeOps: the number of dimensions is not known", found=f"{call}",
                    where=where, legal="data whose dimensions are known")
        )  # fmt: skip
    return info


def _along(parameter: RelaxExpr, ndim: int, axes: Sequence[int]) -> RelaxExpr:
    """A parameter in the shape in which it broadcasts along the axes."""
    if not axes:
        return parameter
    kept = {axis % ndim for axis in axes}
    return _make("expand_dims", parameter, [i for i in range(ndim) if i not in kept])


def _affine(normal: RelaxExpr, call: Call, ndim: int, axes: Sequence[int]) -> RelaxExpr:
    attrs: Any = call.attrs
    if attrs.scale:
        normal = _make("multiply", normal, _along(call.args[1], ndim, axes))
    if attrs.center:
        normal = _make("add", normal, _along(call.args[2], ndim, axes))
    return normal


def _batch_norm(bb: BlockBuilder, call: Call) -> RelaxExpr:
    data, _, _, mean, var = call.args
    attrs: Any = call.attrs
    info = _info(data, call)
    axes = [attrs.axis]
    epsilon = const(attrs.epsilon, info.dtype)
    centred = _make("subtract", data, _along(mean, info.ndim, axes))
    deviation = _make("sqrt", _make("add", _along(var, info.ndim, axes), epsilon))
    out = _affine(_make("divide", centred, deviation), call, info.ndim, axes)
    return Tuple([out, mean, var])


def _batch_norm_in_training(bb: BlockBuilder, call: Call) -> RelaxExpr:
    data, gamma, beta, *moving = call.args
    attrs: Any = call.attrs
    info = _info(data, call)
    axes = [i for i in range(info.ndim) if i != attrs.axis % info.ndim]
    batch = [bb.emit(_make("mean", data, axes)), bb.emit(_make("variance", data, axes))]
    norm = bb.emit(Call(call.op, [data, gamma, beta, *batch], attrs, (), call.span))
    kept, new = const(1 - attrs.momentum, info.dtype), const(attrs.momentum, info.dtype)
    updated = [
        _make("add", _make("multiply", kept, old), _make("multiply", new, value))
        for old, value in zip(moving, batch)
    ]
    return Tuple([TupleGetItem(norm, 0), *updated])


def _layer_norm(bb: BlockBuilder, call: Call) -> RelaxExpr:
    data = call.args[0]
    attrs: Any = call.attrs
    info = _info(data, call)
    axes = list(attrs.axes)
    epsilon = const(attrs.epsilon, info.dtype)
    centred = _make("subtract", data, _make("mean", data, axes, keepdims=True))
    variance = _make("variance", data, axes, keepdims=True)
    deviation = _make("sqrt", _make("add", variance, epsilon))
    positions = [axis % info.ndim for axis in axes]
    are_last = positions == list(range(info.ndim - len(positions), info.ndim))
    own = [] if are_last else axes  # gamma and beta broadcast along the last axes as they are
    return _affine(_make("divide", centred, deviation), call, info.ndim, own)


def _tensor_to_shape(bb: BlockBuilder, call: Call) -> RelaxExpr:
    info = call.struct_info
    if not isinstance(info, ShapeStructInfo) or info.ndim == -1:
        return call
    extents = [tir.Var("x", "int64") for _ in range(info.ndim)]
    callee = ExternFunc("vm.builtin.tensor_to_shape")
    packed = Call(Op.get("relax.call_pure_packed"), [callee, *call.args], None, [info])
    shape = bb.emit(packed)
    named = ShapeStructInfo(extents)
    bb.emit_normalized(MatchCast(Var("y", named), shape, named))
    return ShapeExpr(extents)


_INFERENCE: Mapping[str, CallRule] = {
    "relax.nn.batch_norm": _batch_norm,
    "relax.tensor_to_shape": _tensor_to_shape,
}
_TRAINING: Mapping[str, CallRule] = {
    "relax.nn.batch_norm": _batch_norm_in_training,
    "relax.nn.layer_norm": _layer_norm,
}
