"""Move factors of channels into the weights of the products around them.

    nn.conv2d(multiply(%x, %scale), %w)    ->    nn.conv2d(%x, multiply(%w, %scale))    forward
    multiply(nn.conv2d(%x, %w), %scale)    ->    nn.conv2d(%x, multiply(%w, %scale))    backward

A factor passes additions (whose other operand is scaled in return) and, above zero, ReLUs. First
it is found out where factors may go, then they are moved; constants fold afterwards.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from tvm.ir.expr import RelaxExpr
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.ir.structural import structural_equal
from tvm.ir.transform import PassContext, Sequential
from tvm.relay import op as R
from tvm.relay.expr import Call
from tvm.relay.traverse import children, post_order, transform

from .fold_constant import FoldConstant
from .function_pass import expr_pass
from .scale_axes import (
    CONVOLUTIONS,
    Message,
    along,
    axes_fit,
    channel_axes,
    is_depthwise,
    is_foldable,
    scaled_weight,
    tensor_of,
    usable,
)

_RELUS: Final = ("nn.relu", "nn.leaky_relu")
_SUMS: Final = ("add", "subtract")


def FoldScaleAxis() -> Sequential:
    """Factors moved backward, then forward, and the constants that this makes folded."""
    passes = [BackwardFoldScaleAxis(), ForwardFoldScaleAxis(), FoldConstant()]
    return Sequential(passes, name="FoldScaleAxis")


def _name(expr: RelaxExpr) -> str:
    return expr.op.name if isinstance(expr, Call) and isinstance(expr.op, Op) else ""


# --- forward: the products below say what they take, the factors above are taken ---


class _Scaled(NamedTuple):
    """An expression that lacks a factor along some axes."""

    value: RelaxExpr
    factor: Any
    axes: tuple[int, ...]


@expr_pass("ForwardFoldScaleAxis", opt_level=3)
def ForwardFoldScaleAxis(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function with factors of operands in the weights of the products that take them."""
    messages = _wanted(func)
    lacking: dict[int, _Scaled] = {}

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not (isinstance(old, Call) and isinstance(new, Call)):
            return new
        made = _forward(old, new, messages.get(id(old)), [lacking.get(id(a)) for a in old.args])
        if isinstance(made, _Scaled):
            lacking[id(old)] = made
            return made.value
        return new if made is None else made

    return transform(func, rule)


def _wanted(func: RelaxExpr) -> dict[int, Message | None]:
    """The factors that all users of an expression would take."""
    found: dict[int, Message | None] = {}

    def tell(expr: RelaxExpr, message: Message | None) -> None:
        found[id(expr)] = _both(found[id(expr)], message) if id(expr) in found else message

    for expr in reversed(list(post_order(func))):
        if isinstance(expr, Call):
            given = _asks(expr, found.get(id(expr)))
            for arg, message in zip(expr.args, given):
                tell(arg, message)
        else:
            for part in children(expr):
                tell(part, None)
    return found


def _both(a: Message | None, b: Message | None) -> Message | None:
    if a is None or b is None or a.axes != b.axes:
        return None
    return Message(a.axes, a.positive or b.positive)


def _asks(call: Call, message: Message | None) -> list[Message | None]:
    """What a call would take of its operands, if its own result may lack a factor."""
    none: list[Message | None] = [None] * len(call.args)
    name = _name(call)
    if name in CONVOLUTIONS and is_foldable(call):
        return [Message(channel_axes(call.attrs.data_layout), False), None]  # type: ignore[union-attr]
    if name == "nn.dense":
        return [Message((1,), False), None]
    if message is None:
        return none
    if name in _RELUS:
        return [Message(message.axes, True)]
    if name in _SUMS:
        left, right = tensor_of(call.args[0]), tensor_of(call.args[1])
        if axes_fit(left, right, message.axes)[0]:
            return [message, None]
        if axes_fit(right, left, message.axes)[0]:
            return [None, message]
    return none


def _forward(
    old: Call, new: Call, message: Message | None, lacking: list[_Scaled | None]
) -> _Scaled | RelaxExpr | None:
    name = _name(old)
    if name == "multiply":
        return None if message is None else _take(old, new, message)
    if not any(lacking):
        return None
    if name in _RELUS:
        assert lacking[0] is not None, "its only operand"
        return _Scaled(new, *lacking[0][1:])
    if name in _SUMS:
        at = 0 if lacking[0] is not None else 1
        return _divided(old, new, at, lacking[at])  # type: ignore[arg-type]
    data = lacking[0]
    assert data is not None, "only data lacks a factor"
    if name == "nn.dense":
        weight = R.multiply(new.args[1], data.factor)
    else:
        letters = ("O", "o") if is_depthwise(old) else ("I", "i")
        weight = scaled_weight(old, new.args[1], data.factor, *letters)
    return Call(new.op, [new.args[0], weight], new.attrs, new.type_args, new.span)


def _take(old: Call, new: Call, message: Message) -> _Scaled | None:
    for at in (0, 1):
        value, other = tensor_of(old.args[at]), tensor_of(old.args[1 - at])
        fits, factor = axes_fit(value, other, message.axes, new.args[1 - at])
        if fits and usable(factor, message):
            return _Scaled(new.args[at], factor, message.axes)
    return None


def _divided(old: Call, new: Call, at: int, lacking: _Scaled) -> _Scaled:
    args = list(new.args)
    wide = along(lacking.factor, tensor_of(old.args[at]).shape, lacking.axes)
    args[1 - at] = R.divide(args[1 - at], wide)
    made = Call(new.op, args, new.attrs, new.type_args, new.span)
    return _Scaled(made, lacking.factor, lacking.axes)


# --- backward: the products above say what they take, the factors below go up to them ---


@expr_pass("BackwardFoldScaleAxis", opt_level=3)
def BackwardFoldScaleAxis(func: RelaxExpr, mod: IRModule, ctx: PassContext) -> RelaxExpr:
    """The function with factors of results in the weights of the products that give them."""
    offers = _offers(func)
    moved: dict[int, Any] = {}  # a call, and the factor that its result gets
    gone: dict[int, int] = {}  # a multiplication, and which operand it is now
    for expr in reversed(list(post_order(func))):
        if isinstance(expr, Call):
            _plan(expr, offers, moved, gone)

    def rule(old: RelaxExpr, new: RelaxExpr) -> RelaxExpr:
        if not isinstance(new, Call):
            return new
        if id(old) in gone:
            return new.args[gone[id(old)]]
        if id(old) not in moved:
            return new
        return _backward(old, new, offers, moved[id(old)])  # type: ignore[arg-type]

    return transform(func, rule)


def _offers(func: RelaxExpr) -> dict[int, Message]:
    """The factors that expressions with one user could take into themselves."""
    order = list(post_order(func))
    users: dict[int, int] = {}
    for expr in order:
        for part in children(expr):
            users[id(part)] = users.get(id(part), 0) + 1
    found: dict[int, Message] = {}
    for expr in order:
        if isinstance(expr, Call) and users.get(id(expr)) == 1:
            message = _offer(expr, [found.get(id(arg)) for arg in expr.args])
            if message is not None:
                found[id(expr)] = message
    return found


def _offer(call: Call, given: list[Message | None]) -> Message | None:
    name = _name(call)
    if name in CONVOLUTIONS and is_foldable(call):
        o: Any = call.attrs
        return Message(channel_axes(o.out_layout or o.data_layout), False)
    if name == "nn.dense":
        return Message((1,), False)
    if name in _RELUS and given[0] is not None:
        return Message(given[0].axes, True)
    if name == "nn.bias_add" and given[0] is not None:
        rank = len(tensor_of(call).shape)
        axis: Any = call.attrs.axis  # type: ignore[union-attr]
        return given[0] if given[0].axes == (int(axis) % rank,) else None
    return _sum_offer(call, given) if name in _SUMS else None


def _sum_offer(call: Call, given: list[Message | None]) -> Message | None:
    left, right = tensor_of(call.args[0]), tensor_of(call.args[1])
    first, second = given
    if first is not None and second is not None:
        same = first.axes == second.axes and structural_equal(left.shape, right.shape)
        return Message(first.axes, first.positive or second.positive) if same else None
    if first is not None:
        return first if axes_fit(left, right, first.axes)[0] else None
    if second is not None:
        return second if axes_fit(right, left, second.axes)[0] else None
    return None


def _plan(
    call: Call, offers: dict[int, Message], moved: dict[int, Any], gone: dict[int, int]
) -> None:
    """Say where a factor that reaches `call` goes on to."""
    if id(call) in moved:
        for arg in call.args:
            if id(arg) in offers and _name(call) not in (*CONVOLUTIONS, "nn.dense"):
                moved[id(arg)] = moved[id(call)]
        return
    if _name(call) != "multiply":
        return
    for at in (0, 1):
        message = offers.get(id(call.args[at]))
        if message is None:
            continue
        value, other = tensor_of(call.args[at]), tensor_of(call.args[1 - at])
        fits, factor = axes_fit(value, other, message.axes, call.args[1 - at])
        if fits and usable(factor, message):
            moved[id(call.args[at])], gone[id(call)] = factor, at
            return


def _backward(old: Call, new: Call, offers: dict[int, Message], factor: Any) -> RelaxExpr:
    """A call with a factor in its operands, which its result had."""
    name, args = _name(old), list(new.args)
    if name in CONVOLUTIONS:
        args[1] = scaled_weight(old, args[1], factor, "O", "o")
    elif name == "nn.dense":
        args[1] = R.multiply(args[1], along(factor, tensor_of(old.args[1]).shape, (0,)))
    elif name == "nn.bias_add":
        args[1] = R.multiply(args[1], factor)
    elif name in _SUMS:
        for at in (0, 1):
            if id(old.args[at]) not in offers:
                wide = along(factor, tensor_of(old).shape, offers[id(old)].axes)
                args[at] = R.multiply(args[at], wide)
    return Call(new.op, args, new.attrs, new.type_args, new.span)
