"""Operators in another data type, with casts around them.

    nn.conv2d(%x, %w)    ->    cast(nn.conv2d(cast(%x), cast(%w), out_dtype="int32"), "float32")
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.expr import RelaxExpr
from tvm.ir.op import Op
from tvm.relay import op as R
from tvm.relay.analysis.count_layers import count_layers
from tvm.relay.expr import Call, Tuple
from tvm.relay.expr_functor import ExprMutator
from tvm.support.arguments import explained

from .infer_type import infer_types_of


class RecastMutator(ExprMutator):
    """Casts the operands and results of some operators, counting those from the last one on."""

    def __init__(
        self, dtype: str, out_dtype: str, valid_ops: Sequence[Op], valid_op_count: int,
        skip_layers: Sequence[int],
    ) -> None:  # fmt: skip
        super().__init__()
        self.dtype = dtype
        self.out_dtype = out_dtype
        self.valid_ops = list(valid_ops)
        self.valid_op_count = valid_op_count
        # layers counted from the back, as -1, by their index
        self.skip_layers = [at + valid_op_count if at < 0 else at for at in skip_layers]
        self.layer_count = 0

    def visit_call(self, call: Call) -> Any:
        taken = call.op in self.valid_ops
        if taken:
            self.layer_count += 1
        index = self.valid_op_count - self.layer_count
        args = [self.visit(arg) for arg in call.args]
        if not taken or index in self.skip_layers:
            return Call(call.op, args, call.attrs, call.type_args, call.span)
        attrs: Any = call.attrs
        if attrs is not None and "out_dtype" in attrs.keys():  # noqa: SIM118
            attrs = attrs.replaced(out_dtype=self.out_dtype)
        found: Any = call.checked_type
        made = Call(call.op, [self._cast(arg) for arg in args], attrs, call.type_args, call.span)
        return R.cast(made, str(found.dtype))

    def _cast(self, arg: RelaxExpr) -> RelaxExpr:
        if isinstance(arg, Tuple):
            return Tuple([self._cast(field) for field in arg.fields], arg.span)
        made: RelaxExpr = R.cast(arg, self.dtype)
        return made


@explained
def recast(
    expr: RelaxExpr, dtype: str, out_dtype: str, ops: Sequence[str] | None = None,
    skip_layers: Sequence[int] | None = None,
) -> RelaxExpr:  # fmt: skip
    """`expr` with the operators (convolutions, if none are named) in another type.

    `skip_layers` are left alone: 0 is the first of the operators, -1 the last.
    """
    names = ["nn.conv2d"] if ops is None else list(ops)
    valid = [Op.get(name) for name in names]
    typed = infer_types_of(expr)
    count = count_layers(typed, names)
    made = RecastMutator(dtype, out_dtype, valid, count, skip_layers or ()).visit(typed)
    return infer_types_of(made)
