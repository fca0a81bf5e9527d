"""Causal depthwise convolutions whose first taps read what earlier calls left: CausalConvWithState.

A tap reads the state where it reaches before the first position. The state afterwards is the last
(taps - 1) * dilation positions, those of the state before included.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.extents import require_equal

from .gates import narrow, silu, wide
from .node import Node
from .registry import Result, convert

# what other devices' variants of the operator are told by
_PLAIN = {
    "ndim": 1, "state_channels_last": -1, "state_window": 0, "state_length": 0,
    "state_update_capacity": 0, "input_channel_offset": 0, "input_channels": 0,
}  # fmt: skip


def _activated(node: Node, value: RelaxExpr) -> RelaxExpr:
    """The activation of a value of float32, in the type of the input."""
    name = str(node.attr("activation", "none"))
    if name not in ("none", "silu", "swish"):
        raise node.invalid("activation", name, "none, silu, swish")
    return narrow(node, value if name == "none" else node.bb.emit(silu(node, value)))


def _dilation(node: Node) -> int:
    dilation = int(node.attr("dilation", 1))
    if dilation < 1:
        raise node.invalid("dilation", dilation, "at least 1")
    return dilation


@convert("com.microsoft.CausalConvWithState")
def causal_conv_with_state(node: Node) -> Result:
    """(b, c, t), (c, 1, k), (c,), (b, c, s) -> (b, c, t), (b, c, s); t first with `channels_last`.

    Channels that come last may be several axes.
    """
    for name, legal in _PLAIN.items():
        if int(node.attr(name, legal)) != legal:
            raise node.invalid(name, node.attr(name), str(legal))
    bb, shape, dilation = node.bb, node.shape(0), _dilation(node)
    weight = node.shape(1)
    reach = (weight[2] - 1) * dilation

    last = bool(node.attr("channels_last", 0))
    x, state = wide(node, 0), wide(node, 3) if node.has(3) else None
    if last:
        x = _channels_first(node, x)
        state = None if state is None else _channels_first(node, state)
    length = shape[1] if last else shape[2]
    if state is None:
        state = bb.emit(op.zeros((shape[0], weight[0], reach), "float32"))
    else:
        require_equal(bb, node.shape(3)[1 if last else 2], reach)
    joined = bb.emit(op.concat([state, x], 2))
    value = bb.emit(
        op.nn.conv1d(joined, wide(node, 1), dilation=dilation, groups=_channels(node, weight[0]))
    )
    if node.has(2):
        value = bb.emit(op.add(value, op.reshape(wide(node, 2), (1, -1, 1))))
    found = [_activated(node, value)]
    if node.wants(1):
        kept = op.strided_slice(joined, [2], [length], [length + reach])
        found.append(narrow(node, bb.emit(kept)))
    if last:
        sizes = [shape, (shape[0], reach, *shape[2:])]
        found = [op.reshape(op.permute_dims(bb.emit(one), [0, 2, 1]), size)
                 for one, size in zip(found, sizes)]  # fmt: skip
    return [bb.emit(one) for one in found]


def _channels(node: Node, count: Any) -> int:
    if not isinstance(count, tir.IntImm):
        raise node.invalid("the channels of the weight", str(count), "a number")
    return int(count.value)


def _channels_first(node: Node, value: RelaxExpr) -> RelaxExpr:
    """(b, t, ...) -> (b, c, t)"""
    shape = value.struct_info.shape.values  # type: ignore[attr-defined]
    count = node.shape(1)[0]
    flat = node.bb.emit(op.reshape(value, (*shape[:2], count)))
    return node.bb.emit(op.permute_dims(flat, [0, 2, 1]))


@convert("com.microsoft.VarlenCausalConvWithState")
def varlen_causal_conv_with_state(node: Node) -> Result:
    """Of sequences behind each other, (tokens, c); where each begins and ends, (b + 1,).

    The third result is the first tokens of each sequence, as many as are asked for, then zeros.
    """
    if node.has(6) or node.has(7):
        raise node.invalid("kernel_delta, previous_mask", "given", "left out")
    capacity = int(node.attr("state_update_capacity", 0))
    if not 0 <= capacity <= 8 or bool(capacity) != node.has(5):
        raise node.invalid("state_update_capacity", capacity,
                           "from 1 to 8 with capture_count, 0 without")  # fmt: skip
    bb, dilation = node.bb, _dilation(node)
    require_starts(node, 2, node.shape(0)[0])
    require_equal(bb, node.shape(2)[0], node.shape(4)[0] + 1)
    if capacity:
        require_equal(bb, node.shape(5)[0], node.shape(4)[0])
    taps = node.shape(1)[2]
    reach = (taps - 1) * dilation
    given = [wide(node, 0), wide(node, 1), node[2], wide(node, 4)]

    def conv(x: te.Tensor, weight: te.Tensor, starts: te.Tensor, state: te.Tensor) -> Any:
        of = sequences(starts, x.shape[0])
        tap = te.reduce_axis((0, taps), "tap")

        def element(t: Any, c: Any) -> Any:
            back = (taps - 1 - tap) * dilation
            place = t - starts(of(t)) - back  # in its sequence
            before = tir.max(tir.min(place + reach, reach - 1), 0)
            read = tir.if_then_else(
                place >= 0, x(tir.max(t - back, 0), c), state(of(t), c, before)
            )
            return te.sum(weight(c, 0, tap) * read, axis=[tap])

        return te.compute(x.shape, element, name="conv")

    value = bb.emit_te(conv, *given, primfunc_name_hint="varlen_causal_conv")
    if node.has(3):
        value = bb.emit(op.add(value, wide(node, 3)))
    found = [_activated(node, value)]

    def final(x: te.Tensor, starts: te.Tensor, state: te.Tensor) -> Any:
        def element(b: Any, c: Any, i: Any) -> PrimExpr:
            place = starts(b + 1) - reach + i
            before = place - starts(b) + reach
            return tir.if_then_else(
                place >= starts(b), x(tir.max(place, 0), c),
                state(b, c, tir.max(tir.min(before, reach - 1), 0)),
            )

        return te.compute(state.shape, element, name="final_state")

    found.append(bb.emit_te(final, node[0], node[2], node[4], primfunc_name_hint="final_state"))
    if capacity:
        found.append(bb.emit_te(
            lambda x, starts, counts: te.compute(
                (counts.shape[0], capacity, x.shape[1]),
                lambda b, i, c: tir.if_then_else(
                    tir.all(i < counts(b), i < starts(b + 1) - starts(b)),
                    x(tir.max(tir.min(starts(b) + i, x.shape[0] - 1), 0), c),
                    tir.const(0, x.dtype),
                ),
                name="state_update",
            ),
            node[0], node[2], node[5], primfunc_name_hint="state_update",
        ))  # fmt: skip
    return found


def require_starts(node: Node, i: int, tokens: PrimExpr) -> None:
    """The input says where sequences begin: from 0 up to all tokens, checked as it runs."""

    def compute(starts: te.Tensor, tokens: Any) -> te.Tensor:
        last = starts.shape[0] - 1
        b = te.reduce_axis((0, last), "b")
        ends = tir.all(starts(0) == 0, starts(last) == tokens)

        def element() -> Any:
            return te.min(tir.all(ends, starts(b) < starts(b + 1)).astype("int32"), axis=[b])

        made: te.Tensor = te.compute((), element, name="starts")
        return made

    bb = node.bb
    every = bb.emit_te(compute, node[i], tokens, primfunc_name_hint="starts")
    text = f"ONNX {node.op_type} {node.name!r}: where sequences begin does not rise from 0 to all"
    text = text.replace("{", "{{").replace("}", "}}")
    bb.emit(op.assert_op(op.not_equal(every, Constant(np.zeros((), "int32"))), format=text))


def sequences(starts: te.Tensor, tokens: PrimExpr) -> te.Tensor:
    """In which sequence each token is: after how many starts, less one; (b + 1,) -> (tokens,)."""
    b = te.reduce_axis((0, starts.shape[0]), "b")
    behind: te.Tensor = te.compute(
        (tokens,),
        lambda t: te.sum((starts(b).astype("int64") <= t).astype("int64"), axis=[b]),
        name="behind",
    )
    of: te.Tensor = te.compute((tokens,), lambda t: behind(t) - 1, name="of")
    return of
