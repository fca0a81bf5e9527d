"""Compute in a narrow float type where that pays, and keep what needs range as it is.

    nn.softmax(nn.dense(%x, %w))
    ->
    %0 = nn.dense(cast(%x, "float16"), cast(%w, "float16"), out_dtype="float16")
    nn.softmax(cast(%0, "float32"))

`mixed_precision` says what happens to which operator. Variables and constants as operands count as
narrow, as their cast costs one pass over a tensor at most. The result may be narrow; the option
`relay.ToMixedPrecision.keep_orig_output_dtype` gives it the type that it had.
"""

from __future__ import annotations

import warnings
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.node import Node
from tvm.ir.op import Op
from tvm.ir.transform import Pass, PassContext
from tvm.ir.type import TupleType, Type
from tvm.relay import op as R
from tvm.relay.expr import Call, Constant, Let, Tuple, TupleGetItem, Var
from tvm.relay.function import Function
from tvm.relay.traverse import post_order, rebuild, transform
from tvm.relay.ty import TensorType

from .function_pass import expr_pass
from .infer_type import infer_types_of
from .mixed_precision import (
    MIXED_PRECISION_ALWAYS,
    MIXED_PRECISION_FOLLOW,
    MIXED_PRECISION_NEVER,
    rule_of,
)

_KEEP: Final = "relay.ToMixedPrecision.keep_orig_output_dtype"
_LARGEST: Final = {"float16": 65504.0}  # clips beyond it stay wide


def ToMixedPrecision(mixed_precision_type: str = "float16", missing_op_mode: int = 1) -> Pass:
    """A pass: functions with products in `mixed_precision_type`.

    An operator in none of the lists is an error with `missing_op_mode` 0, and follows its operands
    otherwise: with a warning (1), silently (2). Raises ValueError for other modes.
    """
    if missing_op_mode not in (0, 1, 2):
        asked = "ToMixedPrecision: Missing op mode is either 0, 1, or 2"
        raise ValueError(message(asked, found=str(missing_op_mode), legal="0, 1, 2"))
    return _to_mixed_precision(mixed_precision_type, missing_op_mode)


@expr_pass("ToMixedPrecision", opt_level=0)
def _to_mixed_precision(
    func: RelaxExpr, mod: IRModule, ctx: PassContext, mixed_precision_type: str,
    missing_op_mode: int,
) -> RelaxExpr:  # fmt: skip
    """The function with products in `mixed_precision_type`."""
    assert isinstance(func, Function), "a pass gets functions"
    narrow = _Narrower(mixed_precision_type, missing_op_mode, func)
    body = narrow.run(func.body)
    if ctx.config.get(_KEEP, False):
        body = narrow.as_type(body, func.body.checked_type)
        return Function(
            func.params, body, func.ret_type, func.type_params, func.attrs, func.span
        )
    return Function(func.params, body, None, func.type_params, func.attrs, func.span)


class _Narrower:
    def __init__(self, dtype: str, missing_op_mode: int, root: Function) -> None:
        self.dtype = dtype
        self.mode = missing_op_mode
        self.casts: dict[tuple[int, str], RelaxExpr] = {}
        self.vars: dict[Node, Var] = {}
        self._kept: list[RelaxExpr] = []
        self.values = {
            let.value: let.var for let in post_order(root) if isinstance(let, Let)
        }  # what a let binds is narrow before its variable is met

    def run(self, body: RelaxExpr) -> RelaxExpr:
        """`body` with narrow calls."""
        return transform(body, self.rule)

    def rule(self, old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if isinstance(old, Var):
            return self.vars.get(old.vid, old)
        if isinstance(old, Call):
            assert isinstance(new, Call), "a call stays one until here"
            new = self._call(old, new)
        elif isinstance(old, Let):
            assert isinstance(new, Let), "a let stays one"
            var = self.vars.get(old.var.vid, old.var)
            new = Let(var, new.value, new.body, new.span)
            new.checked_type_ = new.body.checked_type_
            return new
        elif isinstance(new, (Tuple, TupleGetItem)) and new is not old:
            new.checked_type_ = _part_type(new)
        elif isinstance(new, Function) and new is not old:
            new = Function(new.params, new.body, None, new.type_params, new.attrs, new.span)
            new.checked_type_ = infer_types_of(new).checked_type
        elif new is not old:
            new = infer_types_of(new)
        if old in self.values:
            self._bound(self.values[old], new)
        return new

    def _bound(self, var: Var, value: RelaxExpr) -> None:
        """A variable takes the type of its new value."""
        found = value.checked_type_
        if found == var.checked_type_:
            return
        made = Var(var.name_hint, found, var.span)
        made.checked_type_ = found
        self.vars[var.vid] = made

    def _call(self, old: Call, new: Call) -> RelaxExpr:
        if not isinstance(old.op, Op):
            return self._function_call(old, new)
        kind, sums, result = self._policy(old)
        if kind == MIXED_PRECISION_FOLLOW:
            kind = MIXED_PRECISION_ALWAYS if all(map(self._fits, new.args)) else (
                MIXED_PRECISION_NEVER
            )
        want = self.dtype if kind == MIXED_PRECISION_ALWAYS else "float32"
        args = [self.as_dtype(arg, want) for arg in new.args]
        if kind != MIXED_PRECISION_ALWAYS:
            made = rebuild(new, (new.op, *args))
            if made is old:
                return old
            made.checked_type_ = _call_type(made)  # type: ignore[arg-type]
            return made
        narrow = Call(new.op, args, _narrow_attrs(old.attrs, sums), None, new.span)
        narrow.checked_type_ = _call_type(narrow)
        return self.as_dtype(narrow, result) if sums != result else narrow

    def _function_call(self, old: Call, new: Call) -> RelaxExpr:
        """A call of a function gives it what its parameters are; its result may be narrow."""
        found: Any = new.op.checked_type_
        wanted = [arg.checked_type_ for arg in old.args]
        args = [self.as_type(arg, want) for arg, want in zip(new.args, wanted)]
        made = rebuild(new, (new.op, *args))
        if made is not old:
            made.checked_type_ = getattr(found, "ret_type", old.checked_type_)
        return made

    def _policy(self, call: Call) -> tuple[int, str, str]:
        assert isinstance(call.op, Op), "functions were told apart"
        rule = rule_of(call.op)
        if rule is None:
            self._missing(call.op.name)
            return MIXED_PRECISION_FOLLOW, self.dtype, self.dtype
        kind, sums, result = rule(call, self.dtype)
        bound = _LARGEST.get(self.dtype)
        if call.op.name == "clip" and bound is not None:
            attrs: Any = call.attrs
            if attrs.a_min < -bound or attrs.a_max > bound:
                kind = MIXED_PRECISION_NEVER
        return int(kind), str(sums), str(result)

    def _missing(self, name: str) -> None:
        found = message(
            f"ToMixedPrecision: what is to happen to {name}?", found="no rule",
            legal="tvm.relay.op.register_mixed_precision_conversion sets one; missing_op_mode=2",
        )  # fmt: skip
        if self.mode == 0:
            raise TVMError(found)
        if self.mode == 1:
            warnings.warn(found, stacklevel=2)

    def _fits(self, arg: RelaxExpr) -> bool:
        """Whether an operand is narrow, or becomes so at the price of a cast of its own."""
        if isinstance(arg, (Var, Constant)):
            return True
        found: Any = arg.checked_type_
        return all(dtype in (self.dtype,) or not _is_float(dtype) for dtype in _dtypes(found))

    def as_dtype(self, expr: RelaxExpr, dtype: str) -> RelaxExpr:
        """An expression with its floats in a type; each is cast once, and back to what it was."""
        found: Any = expr.checked_type_
        if isinstance(found, TensorType):
            if not _is_float(str(found.dtype)) or str(found.dtype) == dtype:
                return expr
            return self._cast(expr, found, dtype)
        if not isinstance(found, TupleType):
            return expr
        if all(not _is_float(d) or d == dtype for d in _dtypes(found)):
            return expr
        fields = [self.as_dtype(_field(expr, at), dtype) for at in range(len(found.fields))]
        made = Tuple(fields, expr.span)
        made.checked_type_ = _part_type(made)
        return made

    def _cast(self, expr: RelaxExpr, found: TensorType, dtype: str) -> RelaxExpr:
        known = self.casts.get((id(expr), dtype))
        if known is None:
            made: Any = R.cast(expr, dtype)
            made.checked_type_ = TensorType(found.shape, dtype)
            self._kept += [expr, made]
            self.casts[id(made), str(found.dtype)] = expr
            known = self.casts[id(expr), dtype] = made
        return known

    def as_type(self, expr: RelaxExpr, found: Type | None) -> RelaxExpr:
        """The result in the type that it had."""
        if isinstance(expr, Let):
            made = Let(expr.var, expr.value, self.as_type(expr.body, found), expr.span)
            made.checked_type_ = found
            return made
        if isinstance(found, TensorType):
            return self.as_dtype(expr, str(found.dtype))
        if not isinstance(found, TupleType) or expr.checked_type_ == found:
            return expr
        parts = [
            expr.fields[at] if isinstance(expr, Tuple) else _field(expr, at)
            for at in range(len(found.fields))
        ]
        return Tuple([self.as_type(p, t) for p, t in zip(parts, found.fields)], expr.span)


def _field(expr: RelaxExpr, at: int) -> TupleGetItem:
    made = TupleGetItem(expr, at)
    made.checked_type_ = _part_type(made)
    return made


def _part_type(expr: Tuple | TupleGetItem) -> Type:
    if isinstance(expr, Tuple):
        return TupleType([field.checked_type_ for field in expr.fields])
    found: Any = expr.tuple_value.checked_type_
    part: Type = found.fields[expr.index]
    return part


def _call_type(call: Call) -> Type:
    """The type of a call whose operands have types; what they are made of is not looked at."""
    args = [
        arg if isinstance(arg, Constant) else Var("operand", arg.checked_type_)
        for arg in call.args
    ]
    found: Any = infer_types_of(Call(call.op, args, call.attrs))
    made: Type = found.checked_type
    return made


def _narrow_attrs(attrs: Any, sums: str) -> Any:
    """Attributes of a narrow call: results that were floats are sums in the given type."""
    names = () if attrs is None else attrs.keys()
    name = "out_dtype" if "out_dtype" in names else "dtype" if "shape" in names else ""
    if name not in names:
        return attrs
    now = str(getattr(attrs, name))
    if now in ("", "void") or _is_float(now):
        return attrs.replaced(**{name: sums})
    return attrs


def _is_float(dtype: str) -> bool:
    return dtype.startswith(("float", "bfloat"))


def _dtypes(found: Any) -> list[str]:
    if isinstance(found, TensorType):
        return [str(found.dtype)]
    return [dtype for field in getattr(found, "fields", ()) for dtype in _dtypes(field)]
