"""Compute in a narrow float type where that pays, and keep what needs range as it is.

    nn.dense(%x, %w)    ->    cast(nn.dense(cast(%x), cast(%w)), "float32")

Each operator is one of three: ALWAYS narrow (products), FOLLOW (narrow if an operand is), NEVER.
"""

from __future__ import annotations

from typing import Any, Final

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.transform import PassContext
from tvm.relay import op as R
from tvm.relay.expr import Call, Tuple, TupleGetItem
from tvm.relay.function import Function
from tvm.relay.traverse import transform
from tvm.relay.ty import TensorType

from .function_pass import expr_pass

ALWAYS: Final = 0
FOLLOW: Final = 1
NEVER: Final = 2

_ALWAYS: Final = frozenset({
    "nn.conv1d", "nn.conv2d", "nn.conv3d", "nn.conv1d_transpose", "nn.conv2d_transpose",
    "nn.conv3d_transpose", "nn.dense", "nn.matmul", "nn.batch_matmul",
})  # fmt: skip
_FOLLOW: Final = frozenset({
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "nn.relu", "nn.bias_add",
    "reshape", "transpose", "squeeze", "expand_dims", "concatenate", "stack", "split",
    "strided_slice", "nn.max_pool2d", "nn.max_pool1d", "nn.max_pool3d", "nn.batch_flatten",
    "nn.pad", "nn.leaky_relu", "nn.prelu", "clip", "tanh", "sigmoid", "negative", "abs", "where",
    "broadcast_to", "take", "tile", "repeat", "nn.dropout", "nn.avg_pool2d", "copy", "reverse",
    "nn.global_max_pool2d", "nn.adaptive_max_pool2d", "layout_transform", "zeros_like",
    "ones_like", "image.resize2d", "nn.upsampling",
})  # fmt: skip


def policy(call: Call, dtype: str) -> int:
    """What mixed precision does with a call; a rule that hangs on the operator goes first."""
    assert isinstance(call.op, Op), "calls of operators are asked for"
    rule = call.op.get_attr("FTVMMixedPrecisionConversionType")
    if rule is not None:
        return int(rule(call, dtype)[0])
    name = call.op.name
    return ALWAYS if name in _ALWAYS else FOLLOW if name in _FOLLOW else NEVER


@expr_pass("ToMixedPrecision", opt_level=0)
def ToMixedPrecision(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, mixed_precision_type: str = "float16",
    missing_op_mode: int = 1,
) -> RelaxExpr:  # fmt: skip
    """The function with products in `mixed_precision_type`; its result has the type it had."""
    assert isinstance(func, Function), "a pass gets functions"
    narrow = _Narrower(mixed_precision_type)
    body = transform(func.body, narrow.rule)
    body = narrow.as_type(body, func.body.checked_type)
    return Function(func.params, body, func.ret_type, func.type_params, func.attrs, func.span)


class _Narrower:
    def __init__(self, dtype: str) -> None:
        self.dtype = dtype
        self.narrow: set[int] = set()  # expressions of the new program that are narrow
        self.casts: dict[tuple[int, str], RelaxExpr] = {}
        self._kept: list[RelaxExpr] = []

    def cast(self, expr: RelaxExpr, dtype: str) -> RelaxExpr:
        key = (id(expr), dtype)
        if key not in self.casts:
            self.casts[key] = R.cast(expr, dtype)
            self._kept.append(expr)
            if dtype == self.dtype:
                self.narrow.add(id(self.casts[key]))
        return self.casts[key]

    def operand(self, new: RelaxExpr, old: RelaxExpr, want: bool) -> RelaxExpr:
        """An operand in the wanted width; only 32-bit floats change theirs."""
        if isinstance(new, Tuple) and isinstance(old, Tuple):
            pairs = zip(new.fields, old.fields)
            return Tuple([self.operand(a, b, want) for a, b in pairs], new.span)
        found = old.checked_type
        if not isinstance(found, TensorType) or str(found.dtype) != "float32":
            return new
        if want is (id(new) in self.narrow):
            return new
        if not want and (id(new) in self.narrow):
            return self.cast(new, "float32")
        return self.cast(new, self.dtype)

    def rule(self, old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(new, TupleGetItem) and id(new.tuple_value) in self.narrow:
            self._mark(new)
        if not (isinstance(new, Call) and isinstance(old, Call)):
            return new
        if not isinstance(new.op, Op):
            return self._call(new, old, False)
        chosen = policy(old, self.dtype)
        if chosen == FOLLOW:
            chosen = ALWAYS if self._has_narrow(new, old) else NEVER
        return self._call(new, old, chosen == ALWAYS)

    def _has_narrow(self, new: Call, old: Call) -> bool:
        def narrow(expr: RelaxExpr) -> bool:
            if isinstance(expr, Tuple):
                return any(narrow(field) for field in expr.fields)
            return id(expr) in self.narrow

        return any(narrow(arg) for arg in new.args)

    def _call(self, new: Call, old: Call, want: bool) -> RelaxExpr:
        args = [self.operand(a, b, want) for a, b in zip(new.args, old.args)]
        attrs: Any = new.attrs
        if want and attrs is not None and getattr(attrs, "out_dtype", "") == "float32":
            attrs = attrs.replaced(out_dtype=self.dtype)
        made = Call(new.op, args, attrs, new.type_args, new.span)
        if want and _is_float(old.checked_type):
            self._mark(made)
        return made

    def _mark(self, expr: RelaxExpr) -> None:
        self.narrow.add(id(expr))
        self._kept.append(expr)

    def as_type(self, expr: RelaxExpr, found: Any) -> RelaxExpr:
        """The result in the type that it had."""
        if isinstance(expr, Tuple):
            pairs = zip(expr.fields, found.fields)
            return Tuple([self.as_type(field, t) for field, t in pairs], expr.span)
        if id(expr) not in self.narrow:
            return expr
        if isinstance(found, TensorType):
            return self.cast(expr, str(found.dtype))
        fields = [TupleGetItem(expr, at) for at in range(len(found.fields))]
        return Tuple([self.cast(f, str(t.dtype)) for f, t in zip(fields, found.fields)])


def _is_float(found: Any) -> bool:
    if isinstance(found, TensorType):
        return str(found.dtype) == "float32"
    return any(_is_float(field) for field in getattr(found, "fields", ()))
