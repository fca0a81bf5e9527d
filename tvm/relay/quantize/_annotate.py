"""Marks on operands that are to be integers: `simulated_quantize`, with scales still open.

    nn.conv2d(%x, %w)
    ->
    nn.conv2d(simulated_quantize(%x, %dom_scale, %clip_min, %clip_max, kind=1),
              simulated_quantize(%w, %dom_scale1, %clip_min1, %clip_max1, kind=2))
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm import topi as _topi
from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op, register_op_attr
from tvm.ir.type import Type
from tvm.relay.analysis import check_constant
from tvm.relay.expr import Call, TempExpr, Tuple, var
from tvm.relay.forward_rewrite import realized
from tvm.relay.op.declare import ELEMWISE, Expr, Relate, relay_op
from tvm.relay.op.relations import tensor
from tvm.relay.op.rounding import rounded_away
from tvm.relay.ty import IncompleteType, TensorType

from ._partition import Args, Decorator, Rule, forward_op
from .config import QAnnotateKind, current_qconfig, quantize_context

topi: Any = _topi


def _type(ctx: Relate) -> Type | None:
    for at in (1, 2, 3):
        if isinstance(ctx.types[at], IncompleteType):
            ctx.assign(at, TensorType((), "float32"))
    return tensor(ctx, 0)


def _value(data: Any, scale: Any, low: Any, high: Any) -> Any:
    scaled = topi.divide(data, scale)
    return topi.multiply(rounded_away(topi.maximum(topi.minimum(scaled, high), low)), scale)


def simulated_quantize_compute(attrs: Any, inputs: Sequence[Any], out_type: Type) -> list[Any]:
    """The value as it is after rounding to the steps of a scale and cutting."""
    assert len(inputs) == 4 and attrs.rounding == "round", "data, scale, least, greatest"
    if attrs.kind == QAnnotateKind.IDENTITY:
        return [topi.identity(inputs[0])]
    return [_value(*inputs)]


def _lower(bb: Any, *args: Any, kind: int, sign: bool, rounding: str) -> Any:
    return args[0] if kind == QAnnotateKind.IDENTITY else bb.call_te(_value, *args)


@relay_op("relay.op.annotation.simulated_quantize", "AnnotatedQuantizeAttrs",
          operands=("data", "dom_scale", "clip_min", "clip_max"), relation=_type, level=11,
          pattern=ELEMWISE, lower=_lower)  # fmt: skip
def simulated_quantize(
    data: Expr, dom_scale: Expr, clip_min: Expr, clip_max: Expr, kind: int, sign: bool = True,
    rounding: str = "round",
) -> Call:  # fmt: skip
    """The value as it is after rounding to the steps of a scale and cutting."""
    return simulated_quantize.call(
        data, dom_scale, clip_min, clip_max, kind=kind, sign=sign, rounding=rounding
    )


class QAnnotateExpr(TempExpr):
    """A value of a kind."""

    __slots__ = ("expr", "kind")

    def __init__(self, expr: RelaxExpr, kind: int) -> None:
        self._begin(None)
        self.expr = expr
        self.kind = kind

    def realize(self) -> RelaxExpr:
        return self.expr


def kind_of(expr: RelaxExpr) -> tuple[RelaxExpr, int | None]:
    """A value, and its kind if it is quantized."""
    return (expr.expr, expr.kind) if isinstance(expr, QAnnotateExpr) else (expr, None)


def register_annotate_function(
    op_name: str, frewrite: Rule | None = None, level: int = 10
) -> Decorator:
    """Set the rule `f(ref_call, new_args, ctx)` of an operator; it is asked where it may be."""

    def register(func: Rule) -> Rule:
        def guarded(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
            if not current_qconfig().guard(ref_call):
                return forward_op(ref_call, [realized(arg) for arg in new_args])
            return func(ref_call, new_args, ctx)

        op = Op.get(op_name)
        if op.has_attr("FQAnnotateRewrite") and level > 10:
            op.reset_attr("FQAnnotateRewrite")
        register_op_attr(op_name, "FQAnnotateRewrite", guarded, level)
        return guarded

    if frewrite is not None:
        register(frewrite)
    return register


def attach_simulated_quantize(
    data: RelaxExpr, kind: int, sign: bool = True, rounding: str = "round"
) -> RelaxExpr:
    """`data` with a mark; one that is there already, and one mark for one value, are kept."""
    if isinstance(data, Call) and data.op is simulated_quantize.op:
        attrs: Any = data.attrs
        if (attrs.kind, attrs.sign, attrs.rounding) == (kind, sign, rounding):
            return data
    marks = quantize_context().qnode_map
    key = (data, kind, sign, rounding)
    if key not in marks:
        open_values = (var("dom_scale"), var("clip_min"), var("clip_max"))
        marks[key] = simulated_quantize(data, *open_values, kind, sign, rounding)
    return marks[key]  # type: ignore[no-any-return]


def attach_to_shared(expr: RelaxExpr) -> RelaxExpr:
    """A quantized value with several users is marked once for all."""
    if not isinstance(expr, QAnnotateExpr):
        return expr
    return _input(attach_simulated_quantize(expr.expr, QAnnotateKind.INPUT))


def _input(expr: RelaxExpr) -> QAnnotateExpr:
    return QAnnotateExpr(expr, QAnnotateKind.INPUT)


def _activation(expr: RelaxExpr) -> QAnnotateExpr:
    return QAnnotateExpr(expr, QAnnotateKind.ACTIVATION)


def _as_input(arg: RelaxExpr) -> RelaxExpr:
    """An operand that is to be a narrow integer."""
    expr, kind = kind_of(arg)
    if kind == QAnnotateKind.INPUT:
        return expr
    return attach_simulated_quantize(expr, QAnnotateKind.INPUT)


def _product(ref_call: Call, new_args: Args) -> RelaxExpr | None:
    if quantize_context().check_to_skip(ref_call):
        return None
    data = _as_input(new_args[0])
    weight, kind = kind_of(new_args[1])
    assert kind is None, "weights are not quantized before"
    weight = attach_simulated_quantize(weight, QAnnotateKind.WEIGHT)
    return _activation(forward_op(ref_call, [data, weight]))


@register_annotate_function("nn.contrib_conv2d_NCHWc")
def conv2d_nchwc_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """As `conv2d_rewrite`."""
    return _product(ref_call, new_args)


@register_annotate_function("nn.conv2d")
def conv2d_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """Convolutions take narrow data and weights."""
    return _product(ref_call, new_args)


@register_annotate_function("nn.conv1d")
def conv1d_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """As `conv2d_rewrite`."""
    return _product(ref_call, new_args)


@register_annotate_function("nn.dense")
def dense_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """As `conv2d_rewrite`, unless dense layers are left out."""
    return None if current_qconfig().skip_dense_layer else _product(ref_call, new_args)


@register_annotate_function("nn.batch_matmul")
def batch_matmul_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """Products of batches; a constant on the right is a weight."""
    if quantize_context().check_to_skip(ref_call):
        return None
    data, (other, kind) = _as_input(new_args[0]), kind_of(new_args[1])
    if kind is None and check_constant(other):
        other = attach_simulated_quantize(other, QAnnotateKind.WEIGHT)
    else:
        other = _as_input(new_args[1])
    return _activation(forward_op(ref_call, [data, other]))


@register_annotate_function("multiply")
def multiply_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """Products where an operand is quantized; the other one becomes an integer too."""
    if quantize_context().check_to_skip(ref_call):
        return None
    kinds = [kind_of(arg)[1] for arg in new_args]
    if kinds == [None, None]:
        return None
    operands = [_other(arg) if kind is None else _as_input(arg)
                for arg, kind in zip(new_args, kinds)]  # fmt: skip
    return _activation(forward_op(ref_call, operands))


def _other(expr: RelaxExpr) -> RelaxExpr:
    """What a quantized value meets: a constant counts as a weight."""
    kind = QAnnotateKind.WEIGHT if check_constant(expr) else QAnnotateKind.INPUT
    return attach_simulated_quantize(expr, kind)


@register_annotate_function("add")
def add_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """Sums where an operand is quantized; the other one becomes an integer too.

    A sum of two narrow integers needs a bit more, so that it is marked anew where it is stored.
    """
    if quantize_context().check_to_skip(ref_call):
        return None
    (lhs, left), (rhs, right) = map(kind_of, new_args)
    if left is None and right is None:
        return None
    if left is None:
        lhs = attach_simulated_quantize(lhs, QAnnotateKind.INPUT)
        return _activation(forward_op(ref_call, [lhs, rhs]))
    if right is None:
        return _activation(forward_op(ref_call, [lhs, _other(rhs)]))
    if left == right == QAnnotateKind.ACTIVATION:
        rhs = attach_simulated_quantize(rhs, QAnnotateKind.INPUT)
    return _activation(forward_op(ref_call, [lhs, rhs]))


def identity_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """The result is of the kind of the operand."""
    if quantize_context().check_to_skip(ref_call):
        return None
    expr, kind = kind_of(new_args[0])
    return None if kind is None else QAnnotateExpr(forward_op(ref_call, [expr]), kind)


def pool2d_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """Windows of narrow values."""
    if quantize_context().check_to_skip(ref_call):
        return None
    _, kind = kind_of(new_args[0])
    return None if kind is None else _input(forward_op(ref_call, [_as_input(new_args[0])]))


def pool1d_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """As `pool2d_rewrite`."""
    return pool2d_rewrite(ref_call, new_args, ctx)


for _name in (
    "clip", "nn.relu", "strided_slice", "nn.avg_pool2d", "nn.batch_flatten", "transpose",
    "annotation.stop_fusion", "reshape", "expand_dims",
):  # fmt: skip
    register_annotate_function(_name, identity_rewrite)
register_annotate_function("nn.max_pool2d", pool2d_rewrite)
register_annotate_function("nn.max_pool1d", pool1d_rewrite)


@register_annotate_function("annotation.cast_hint")
def cast_hint_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """What is stored is narrow; numbers are stored as they are."""
    value, kind = kind_of(new_args[0])
    if kind is None:
        return value
    if quantize_context().check_to_skip(ref_call):
        return None
    return _input(forward_op(ref_call, [_as_input(new_args[0])]))


@register_annotate_function("concatenate")
def concatenate_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """Where a field is quantized, all are."""
    if quantize_context().check_to_skip(ref_call):
        return None
    whole = new_args[0]
    assert isinstance(whole, Tuple), "fields are joined one by one"
    pairs = [kind_of(field) for field in whole.fields]
    if all(kind is None for _, kind in pairs):
        return None
    fields = [
        attach_simulated_quantize(expr, QAnnotateKind.ACTIVATION) if kind is None else expr
        for expr, kind in pairs
    ]
    return _activation(forward_op(ref_call, [Tuple(fields)]))


@register_annotate_function("nn.global_avg_pool2d")
def global_avg_pool2d_rewrite(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """The mean is of numbers; what follows is not quantized."""
    if quantize_context().check_to_skip(ref_call):
        return None
    _, kind = kind_of(new_args[0])
    if kind is None:
        return None
    quantize_context().stop_quantize()
    return forward_op(ref_call, [realized(new_args[0])])
