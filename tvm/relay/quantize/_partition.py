"""Where quantized regions end: values that go on are kept as narrow integers.

    nn.conv2d(%x, %w)    ->    annotation.stop_fusion(annotation.cast_hint(nn.conv2d(%x, %w)))
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import register_op_attr
from tvm.relay.analysis import check_constant
from tvm.relay.expr import Call, TempExpr
from tvm.relay.forward_rewrite import realized
from tvm.relay.op.annotation import cast_hint, stop_fusion

from .config import current_qconfig, quantize_context

Args = Sequence[RelaxExpr]
Rule = Callable[[Call, Args, Any], "RelaxExpr | None"]
Decorator = Callable[[Rule], Rule]


def register_partition_function(
    op_name: str, frewrite: Rule | None = None, level: int = 10
) -> Decorator:
    """Set the rule `f(ref_call, new_args, ctx)` of an operator for regions."""
    return cast("Decorator", register_op_attr(op_name, "FQPartitionRewrite", frewrite, level))


class QPartitionExpr(TempExpr):
    """The result of a quantized region."""

    __slots__ = ("expr",)

    def __init__(self, expr: RelaxExpr) -> None:
        self._begin(None)
        self.expr = expr

    def realize(self) -> RelaxExpr:
        return stop_fusion(cast_hint(self.expr, current_qconfig().dtype_input))  # type: ignore[no-any-return]


def partition_expr_check(expr: RelaxExpr) -> tuple[bool, RelaxExpr]:
    """Whether a value comes out of a region, and the value."""
    return (True, expr.expr) if isinstance(expr, QPartitionExpr) else (False, expr)


def forward_op(ref_call: Call, args: Args) -> Call:
    """The call with other operands."""
    return Call(ref_call.op, args, ref_call.attrs, ref_call.type_args, ref_call.span)


@register_partition_function("nn.conv2d")
def conv2d_partition_function(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """A convolution begins a region; what comes out of another one is stored between.

    So does one that is to be skipped: it is computed in numbers, and stored as such.
    """
    inside, _ = partition_expr_check(new_args[1])
    assert not inside, "weights are computed from constants"
    data = realized(new_args[0])
    return QPartitionExpr(forward_op(ref_call, [data, new_args[1]]))


def identity_partition_function(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """The region of the operand goes on."""
    inside, value = partition_expr_check(new_args[0])
    return QPartitionExpr(forward_op(ref_call, [value])) if inside else None


for _name in ("clip", "nn.relu", "nn.max_pool2d"):
    register_partition_function(_name, identity_partition_function)


def add_partition_generic(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """Sums: a constant stays in the region, two regions are stored before, and others end it."""
    (left, lhs), (right, rhs) = map(partition_expr_check, new_args)
    if not left and not right:
        return None
    if left and not right and check_constant(rhs):
        return QPartitionExpr(forward_op(ref_call, [lhs, rhs]))
    made = forward_op(ref_call, [realized(arg) for arg in new_args])
    return QPartitionExpr(made) if left and right else made


def mul_partition_generic(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """Products of a value of a region, which is stored before; the left one, if both are."""
    (left, lhs), (right, rhs) = map(partition_expr_check, new_args)
    if left:
        return QPartitionExpr(forward_op(ref_call, [realized(new_args[0]), rhs]))
    if right:
        return QPartitionExpr(forward_op(ref_call, [lhs, realized(new_args[1])]))
    return None


@register_partition_function("add")
def add_partition_function(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """As `add_partition_generic`."""
    return add_partition_generic(ref_call, new_args, ctx)


@register_partition_function("multiply")
def multiply_partition_function(ref_call: Call, new_args: Args, ctx: Any) -> RelaxExpr | None:
    """As `mul_partition_generic`."""
    return mul_partition_generic(ref_call, new_args, ctx)


@register_partition_function("nn.global_avg_pool2d")
def global_avg_pool2d_partition_function(
    ref_call: Call, new_args: Args, ctx: Any
) -> RelaxExpr | None:
    """The mean is of what is stored, whether it comes out of a region or not."""
    _, value = partition_expr_check(new_args[0])
    quantize_context().stop_quantize()
    return forward_op(ref_call, [realized(QPartitionExpr(value))])
