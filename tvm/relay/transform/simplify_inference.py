"""Write operators that differ between training and running as simple arithmetic.

    nn.batch_norm(%x, %gamma, %beta, %mean, %var).0
    ->
    add(multiply(%x, %scale), %shift)    scale = gamma / sqrt(var + eps)
                                         shift = beta - mean * scale

Dropout keeps everything; instance, layer and group norm and L2 normalisation become arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay import op as R
from tvm.relay.expr import Call, TupleGetItem, const
from tvm.relay.traverse import transform
from tvm.relay.ty import TensorType

from .function_pass import expr_pass


@expr_pass("SimplifyInference", opt_level=0)
def SimplifyInference(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function without operators that matter only in training."""
    return transform(func, _rule)


def _rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
    if isinstance(new, TupleGetItem) and isinstance(old, TupleGetItem) and new.index == 0:
        call, before = new.tuple_value, old.tuple_value
        if isinstance(call, Call) and isinstance(call.op, Op) and isinstance(before, Call):
            if call.op.name == "nn.batch_norm":
                return _batch_norm(call, _type(before.args[0]))
            if call.op.name == "nn.dropout":
                return call.args[0]
    if isinstance(new, Call) and isinstance(new.op, Op) and isinstance(old, Call):
        rule = _NORMS.get(new.op.name)
        if rule is not None:
            return rule(new, _type(old.args[0]))
    return new


def _type(expr: RelaxExpr) -> TensorType:
    found = expr.checked_type
    assert isinstance(found, TensorType), "the operator takes tensors"
    return found


def _along(vector: Any, axis: int, rank: int) -> Any:
    """A vector stretched along an axis of a tensor."""
    behind = rank - 1 - axis % rank
    return R.expand_dims(vector, 1, behind) if behind else vector


def _batch_norm(call: Call, found: TensorType) -> RelaxExpr:
    x, gamma, beta, mean, var = call.args
    o: Any = call.attrs
    rank = len(found.shape)
    scale: Any = R.divide(const(1.0, found.dtype), R.sqrt(
        R.add(var, const(o.epsilon, found.dtype))))  # fmt: skip
    if o.scale:
        scale = R.multiply(scale, gamma)
    shift: Any = R.multiply(R.negative(mean), scale)
    if o.center:
        shift = R.add(shift, beta)
    scaled = R.multiply(x, _along(scale, o.axis, rank))
    made: RelaxExpr = R.add(scaled, _along(shift, o.axis, rank))
    return made


def _normalised(x: Any, found: TensorType, axes: Any, eps: float) -> Any:
    mean = R.mean(x, axes, True)
    spread = R.variance(x, axes, True, with_mean=mean)
    root = R.sqrt(R.add(spread, const(eps, found.dtype)))
    return R.divide(R.subtract(x, mean), root)


def _scaled(x: Any, call: Call, axis: int, rank: int) -> RelaxExpr:
    o: Any = call.attrs
    if o.scale:
        x = R.multiply(x, _along(call.args[1], axis, rank))
    if o.center:
        x = R.add(x, _along(call.args[2], axis, rank))
    made: RelaxExpr = x
    return made


def _layer_norm(call: Call, found: TensorType) -> RelaxExpr:
    o: Any = call.attrs
    rank = len(found.shape)
    return _scaled(_normalised(call.args[0], found, o.axis, o.epsilon), call, o.axis, rank)


def _instance_norm(call: Call, found: TensorType) -> RelaxExpr:
    o: Any = call.attrs
    rank = len(found.shape)
    axes = [at for at in range(1, rank) if at != o.axis % rank]
    return _scaled(_normalised(call.args[0], found, axes, o.epsilon), call, o.axis, rank)


def _group_norm(call: Call, found: TensorType) -> RelaxExpr:
    o: Any = call.attrs
    shape, axis = found.concrete_shape, o.axis % len(found.shape)
    groups = [*shape[:axis], o.num_groups, shape[axis] // o.num_groups, *shape[axis + 1 :]]
    axes = [at for at in range(1, len(groups)) if at != axis]
    parts = R.reshape(call.args[0], groups)
    whole = R.reshape(_normalised(parts, found, axes, o.epsilon), shape)
    return _scaled(whole, call, axis, len(shape))


def _l2_normalize(call: Call, found: TensorType) -> RelaxExpr:
    o: Any = call.attrs
    x = call.args[0]
    total = R.sum(R.multiply(x, x), o.axis, True)
    made: RelaxExpr = R.divide(x, R.sqrt(R.maximum(total, const(o.eps, found.dtype))))
    return made


_NORMS: Final[dict[str, Callable[[Call, TensorType], RelaxExpr]]] = {
    "nn.layer_norm": _layer_norm,
    "nn.instance_norm": _instance_norm,
    "nn.group_norm": _group_norm,
    "nn.l2_normalize": _l2_normalize,
}
