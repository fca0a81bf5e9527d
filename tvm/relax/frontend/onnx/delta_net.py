"""Linear attention over sequences behind each other, with its state as a tensor: GatedDeltaNet.

Of each value head, with S (head_v, head_k), decay g and rate b of the token:

    S = exp(g) S
    delta = b (v - S k)
    S = S + delta k
    out = scale * S q

A row of S is changed and read by itself: all rows go in parallel, each through its tokens.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tvm import te, tir
from tvm.ir.expr import PrimExpr, RelaxExpr
from tvm.relax import op
from tvm.relax.expr import Constant
from tvm.relax.extents import extents_of, require_equal
from tvm.topi.loops import load, local, loop, parallel, sequence, store

from .causal import require_starts
from .gates import narrow, wide
from .node import Node
from .registry import Result, convert

_RULES = {"linear": (False, False), "gated": (True, False), "delta": (False, True),
          "gated_delta": (True, True)}  # fmt: skip
_ACTIVATIONS = ("none", "softplus", "qwen", "sigmoid", "kda")
_SMALLEST = 1e-12  # what is added to the sum of squares of a head


@convert("com.microsoft.GatedDeltaNet")
def gated_delta_net(node: Node) -> Result:
    """(t, h_k, k), (t, h_k, k), (t, h_v, v), the state (b, h_v, v, k) -> (t, h_v, v), the state.

    Tokens may lie as (b, t / b). The third result are the first steps of each sequence: their
    decays, their keys, their deltas.
    """
    bb = node.bb
    rule = str(node.attr("update_rule", "gated_delta"))
    if rule not in _RULES:
        raise node.invalid("update_rule", rule, ", ".join(_RULES))
    for i, name, needed in zip((4, 5), ("decay", "beta"), _RULES[rule]):
        if node.has(i) != needed:
            found, legal = ("given", "left out") if node.has(i) else ("left out", "given")
            raise node.invalid(f"{name} of the rule {rule}", found, legal)
    leading = node.shape(0)[:-1] if not node.has(1) else node.shape(0)[:-2]
    query, key, value = _parts(node)
    tokens, heads, size = _shape(node, key)
    _, value_heads, wide_v = _shape(node, value)
    share = value_heads // heads
    if node.attr("qk_l2_norm", 0):
        query, key = _normed(node, query), _normed(node, key)
    decay, beta = _decay(node, tokens, value_heads, size), _beta(node, tokens, value_heads)
    state, starts = _state_and_starts(node, tokens, (value_heads, wide_v, size))
    scale = float(node.attr("scale", 0.0)) or 1 / math.sqrt(size)
    given = [query, key, value, decay, beta, state, starts]
    through = functools.partial(_through_tokens, share, scale, _RULES[rule][1])
    made = bb.emit_te(through, *given, primfunc_name_hint="gated_delta_net")
    output, final, deltas = (bb.emit(one) for one in (made[0], made[1], made[2]))
    out = op.reshape(output, (*leading, value_heads, wide_v))
    results: list[RelaxExpr] = [narrow(node, bb.emit(out)), final]
    if node.wants(2):
        results.append(_captured(node, decay, key, deltas, starts))
    return results


def _shape(node: Node, value: RelaxExpr) -> tuple[PrimExpr, int, int]:
    """How many tokens, heads, and elements of a head."""
    extents = extents_of(value)
    assert extents is not None, "the rank is known"
    heads, size = _numbers(node, extents[1:])
    return extents[0], heads, size


def _numbers(node: Node, extents: Sequence[PrimExpr]) -> list[int]:
    """Extents that kernels are made for."""
    found = [extent.value for extent in extents if isinstance(extent, tir.IntImm)]
    if len(found) < len(extents):
        shown = ", ".join(map(str, extents))
        raise node.invalid("heads and their sizes", shown, "numbers")
    return found


def _parts(node: Node) -> tuple[RelaxExpr, RelaxExpr, RelaxExpr]:
    """Query, key and value as (tokens, heads, size), in float32."""
    bb = node.bb
    if node.has(1):
        parts = []
        for i in range(3):
            flat = bb.emit(op.reshape(wide(node, i), (-1, *node.shape(i)[-2:])))
            parts.append(flat)
        queries, keys, values = _numbers(node, [node.shape(i)[-2] for i in range(3)])
        if queries != keys:
            raise node.invalid("the heads of key", keys, f"{queries}, as query has")
        if values % keys:
            raise node.invalid("the heads of value", values, f"a multiple of {keys}")
        return parts[0], parts[1], parts[2]
    if not node.has(6):
        raise node.invalid("initial_state", "left out", "given, where query holds keys and values")
    width, value_heads, wide_v, size = _numbers(node, [node.shape(0)[-1], *node.shape(6)[1:]])
    values = value_heads * wide_v
    keys = (width - values) // 2
    if keys <= 0 or 2 * keys + values != width or keys % size:
        raise node.invalid("the width of query", width, f"2 * heads * {size} + {values}")
    flat = bb.emit(op.reshape(wide(node, 0), (-1, width)))
    parts = [bb.emit(op.strided_slice(flat, [1], [begin], [end]))
             for begin, end in ((0, keys), (keys, 2 * keys), (2 * keys, width))]  # fmt: skip
    shapes = [(-1, keys // size, size)] * 2 + [(-1, value_heads, wide_v)]
    query, key, value = (bb.emit(op.reshape(p, shape)) for p, shape in zip(parts, shapes))
    return query, key, value


def _normed(node: Node, value: RelaxExpr) -> RelaxExpr:
    """Each head's elements over the root of the sum of their squares."""
    bb = node.bb
    squares = bb.emit(op.sum(bb.emit(op.multiply(value, value)), -1, keepdims=True))
    sums = bb.emit(op.add(squares, Constant(np.float32(_SMALLEST))))
    return bb.emit(op.multiply(value, bb.emit(op.rsqrt(sums))))


def _decay(node: Node, tokens: PrimExpr, heads: int, size: int) -> RelaxExpr:
    """exp(g), (tokens, heads, 1 or size); ones of a rule without."""
    bb, name = node.bb, str(node.attr("gate_activation", "none"))
    if name not in _ACTIVATIONS:
        raise node.invalid("gate_activation", name, ", ".join(_ACTIVATIONS))
    if not node.has(4):
        return bb.emit(op.ones((tokens, heads, 1), "float32"))
    # of each head, or of each element: as many axes as the values have, or one less
    apart = node.rank(4) == (node.rank(2) if node.has(2) else node.rank(0) + 1)
    decay = bb.emit(op.reshape(wide(node, 4), (tokens, heads, size if apart else 1)))
    if name != "none":
        rate = bb.emit(op.reshape(bb.emit(op.exp(_given(node, 7, "a_log"))), (heads, 1)))
        bias = bb.emit(op.reshape(_given(node, 8, "dt_bias"), (heads, -1)))
        decay = bb.emit(op.add(decay, bias))
        if name in ("softplus", "qwen"):
            grown = bb.emit(op.nn.softplus(decay, 1.0, 20.0))
            decay = bb.emit(op.negative(bb.emit(op.multiply(rate, grown))))
        else:
            bound = Constant(np.float32(node.attr("gate_lower_bound", -5.0)))
            gate = bb.emit(op.sigmoid(bb.emit(op.multiply(rate, decay))))
            decay = bb.emit(op.multiply(bound, gate))
    return bb.emit(op.exp(decay))


def _given(node: Node, i: int, name: str) -> RelaxExpr:
    if not node.has(i):
        raise node.invalid(name, "left out", "given, where the decay has an activation")
    return wide(node, i)


def _beta(node: Node, tokens: PrimExpr, heads: int) -> RelaxExpr:
    """How much of a delta comes in, (tokens, heads)."""
    bb, name = node.bb, str(node.attr("beta_activation", "none"))
    if name not in ("none", "sigmoid"):
        raise node.invalid("beta_activation", name, "none, sigmoid")
    if not node.has(5):
        return bb.emit(op.ones((tokens, heads), "float32"))
    beta = bb.emit(op.reshape(wide(node, 5), (tokens, heads)))
    return bb.emit(op.sigmoid(beta)) if name == "sigmoid" else beta


def _state_and_starts(
    node: Node, tokens: PrimExpr, shape: tuple[int, int, int]
) -> tuple[RelaxExpr, RelaxExpr]:
    """The state before, (batch, heads, v, k), and where sequences begin and end, (batch + 1,)."""
    bb = node.bb
    packed = node.rank(0) == (3 if node.has(1) else 2)
    if node.has(6):
        batch = node.shape(6)[0]
    elif node.has(3):
        batch = node.shape(3)[0] - 1
    elif packed:
        raise node.invalid("initial_state", "left out", "given, or cu_seqlens")
    else:
        batch = node.shape(0)[0]
    state = wide(node, 6) if node.has(6) else bb.emit(op.zeros((batch, *shape), "float32"))
    if node.has(3):
        require_starts(node, 3, tokens)
        require_equal(bb, node.shape(3)[0], batch + 1)
        return state, bb.emit(op.astype(node[3], "int64"))
    length = tir.floordiv(tokens, batch)
    starts = bb.emit_te(
        lambda length, batch: te.compute((batch + 1,), lambda b: b * length, name="starts"),
        length, batch, primfunc_name_hint="starts",
    )  # fmt: skip
    return state, starts


def _captured(
    node: Node, decay: RelaxExpr, key: RelaxExpr, deltas: RelaxExpr, starts: RelaxExpr
) -> RelaxExpr:
    """The first tokens' decays, then their keys, then their deltas, a row for each sequence."""
    bb, capacity = node.bb, int(node.attr("state_update_capacity", 0))
    if not 1 <= capacity <= 8 or not node.has(9):
        raise node.invalid("state_update_capacity", capacity, "from 1 to 8, with capture_count")
    extents = extents_of(starts)
    assert extents is not None, "the rank is known"
    require_equal(bb, node.shape(9)[0] + 1, extents[0])
    counts = node[9]
    if node.has(10):
        active = op.not_equal(op.reshape(node[10], (1,)), Constant(np.zeros((), "int32")))
        counts = bb.emit(op.multiply(counts, op.astype(active, "int32")))

    def compute(value: te.Tensor, starts: te.Tensor, counts: te.Tensor) -> Any:
        heads, size = value.shape[1], value.shape[2]

        def element(b: Any, i: Any) -> PrimExpr:
            slot, head = tir.floordiv(i, heads * size), tir.floormod(tir.floordiv(i, size), heads)
            counted = tir.all(slot < counts(b), slot < starts(b + 1) - starts(b))
            at = tir.max(tir.min(starts(b) + slot, value.shape[0] - 1), 0)
            read = value(at, head, tir.floormod(i, size))
            return tir.if_then_else(counted, read, tir.const(0, value.dtype))

        return te.compute((counts.shape[0], capacity * heads * size), element, name="captured")

    parts = [bb.emit_te(compute, value, starts, counts, primfunc_name_hint="captured")
             for value in (decay, key, deltas)]  # fmt: skip
    return bb.emit(op.concat(parts, 1))


def _through_tokens(
    share: int, scale: float, delta: bool, query: te.Tensor, key: te.Tensor, value: te.Tensor,
    decay: te.Tensor, beta: te.Tensor, state: te.Tensor, starts: te.Tensor,
) -> list[te.Tensor]:  # fmt: skip
    """The output and the deltas, (tokens, heads, v), and the state afterwards between them."""
    heads, wide_v, size = (int(n) for n in state.shape[1:])  # type: ignore[call-overload]
    apart = int(decay.shape[2]) > 1  # type: ignore[call-overload]
    shape = value.shape

    def run(ins: list[tir.Buffer], outs: list[tir.Buffer]) -> tir.Stmt:
        q, k, v, g, rate, before, ends = ins
        out, after, deltas = outs

        def row(number: PrimExpr) -> tir.Stmt:
            b = tir.floordiv(number, heads * wide_v)
            h, i = tir.floormod(tir.floordiv(number, wide_v), heads), tir.floormod(number, wide_v)
            at, own = (b, h, i), tir.floordiv(h, share)

            def step(n: PrimExpr, held: tir.Buffer) -> tir.Stmt:
                t = load(ends, b) + n

                def fade(j: PrimExpr) -> tir.Stmt:
                    faded = load(after, *at, j) * load(g, t, h, j if apart else 0)
                    known = load(held, 0) + faded * load(k, t, own, j)
                    return sequence(store(held, known, 0), store(after, faded, *at, j))

                def learn(j: PrimExpr) -> tir.Stmt:
                    new = load(after, *at, j) + load(held, 1) * load(k, t, own, j)
                    read = load(held, 2) + new * load(q, t, own, j)
                    return sequence(store(held, read, 2), store(after, new, *at, j))

                gap = load(v, t, h, i) - load(held, 0) if delta else load(v, t, h, i)
                return sequence(
                    store(held, 0.0, 0), loop(size, fade, "j"),
                    store(held, load(rate, t, h) * gap, 1),
                    store(held, 0.0, 2), loop(size, learn, "j"),
                    store(deltas, load(held, 1), t, h, i),
                    store(out, load(held, 2) * tir.const(scale, "float32"), t, h, i),
                )  # fmt: skip

            def tokens(held: tir.Buffer) -> tir.Stmt:
                count = load(ends, b + 1) - load(ends, b)
                return sequence(
                    loop(size, lambda j: store(after, load(before, *at, j), *at, j), "j"),
                    loop(count, lambda n: step(n, held), "n"),
                )

            return local("float32", tokens, 3, "held")

        return parallel(state.shape[0] * heads * wide_v, row)

    made: list[te.Tensor] = te.extern(
        [shape, state.shape, shape], [query, key, value, decay, beta, state, starts], run,
        dtype=["float32"] * 3, name="gated_delta_net",
    )  # fmt: skip
    return made
