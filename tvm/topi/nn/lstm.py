"""A long short-term memory layer (S. Hochreiter and J. Schmidhuber, 1997), step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm import te, tir
from tvm.error import ShapeError, message
from tvm.ir.expr import PrimExpr
from tvm.support.arguments import explained
from tvm.topi.common import check_same, compute, extents
from tvm.topi.reshaping import stack
from tvm.topi.utils import get_const_int

Activation = Callable[[PrimExpr], PrimExpr]


class _Layer:
    """The weights of a layer, and how one gate reads them."""

    def __init__(
        self, Wi: te.Tensor, Wh: te.Tensor, Bi: te.Tensor | None, Bh: te.Tensor | None,
        proj: te.Tensor | None, peepholes: dict[str, te.Tensor | None], layout: str,
    ) -> None:  # fmt: skip
        if sorted(layout) != sorted("IFGO"):
            raise ShapeError(
                message("lstm", found=f"weight_layout {layout!r}", legal="an order of I, F, G, O")
            )
        self.Wi, self.Wh, self.Bi, self.Bh, self.proj = Wi, Wh, Bi, Bh, proj
        self.peepholes, self.layout = peepholes, layout
        self.hidden = get_const_int(extents(Wh, "gh", "lstm")[0]) // 4

    def sums(self, x: Callable[[Any, Any], PrimExpr], inputs: Any, h: te.Tensor) -> te.Tensor:
        """Wi x + Wh h + biases for all gates of one step.   (b, 4 h)"""
        batch = h.shape[0]
        ki = te.reduce_axis((0, inputs), name="ki2h")
        kh = te.reduce_axis((0, h.shape[1]), name="kh2h")
        shape = (batch, 4 * self.hidden)
        from_x = compute(shape, lambda b, g: te.sum(x(b, ki) * self.Wi(g, ki), axis=ki), "i2h")
        from_h = compute(shape, lambda b, g: te.sum(h(b, kh) * self.Wh(g, kh), axis=kh), "h2h")

        def element(b: Any, g: Any) -> PrimExpr:
            total = from_x(b, g) + from_h(b, g)
            for bias in (self.Bi, self.Bh):
                total = total if bias is None else total + bias(g)
            return total

        return compute(shape, element, "gates")

    def gate(
        self, name: str, gates: te.Tensor, c: te.Tensor, act: Activation
    ) -> Callable[[Any, Any], PrimExpr]:
        """One gate; a peephole lets it see the cell state."""
        offset = self.layout.index(name) * self.hidden
        peephole = self.peepholes.get(name)

        def element(b: Any, j: Any) -> PrimExpr:
            value: PrimExpr = gates(b, offset + j)
            return act(value if peephole is None else value + peephole(b, j) * c(b, j))

        return element


@explained
def lstm(
    Xs: te.Tensor,
    Wi: te.Tensor,
    Wh: te.Tensor,
    Bi: te.Tensor | None = None,
    Bh: te.Tensor | None = None,
    h_init: te.Tensor | None = None,
    c_init: te.Tensor | None = None,
    proj: te.Tensor | None = None,
    p_i: te.Tensor | None = None,
    p_f: te.Tensor | None = None,
    p_o: te.Tensor | None = None,
    f_act: Activation = tir.sigmoid,
    g_act: Activation = tir.tanh,
    h_act: Activation = tir.tanh,
    reverse: bool = False,
    weight_layout: str = "IFGO",
) -> tuple[te.Tensor, te.Tensor]:
    """All hidden states and all cell states.   (t, b, i), (4 h, i), (4 h, h) -> (t, b, h) twice"""
    layer = _Layer(Wi, Wh, Bi, Bh, proj, {"I": p_i, "F": p_f, "O": p_o}, weight_layout)
    steps, batch, inputs = extents(Xs, "tbi", "lstm")
    gates = 4 * layer.hidden
    for weight, rows, columns in (
        (Wi, gates, inputs), (Wh, gates, layer.hidden if proj is None else proj.shape[0])
    ):  # fmt: skip
        own_rows, own_columns = extents(weight, "gk", "lstm")
        check_same("lstm", f"rows of {weight.name}", own_rows, rows)
        check_same("lstm", f"columns of {weight.name}", own_columns, columns)
    count, dtype = get_const_int(steps), Xs.dtype
    out = layer.hidden if proj is None else proj.shape[0]
    zero = tir.const(0, dtype)
    h = h_init if h_init is not None else compute((batch, out), lambda b, j: zero, "h_init")
    c = (
        c_init
        if c_init is not None
        else compute((batch, layer.hidden), lambda b, j: zero, "c_init")
    )
    hidden, cells = [], []
    for t in range(count):
        h, c = _step(layer, Xs, count - 1 - t if reverse else t, inputs, h, c, f_act, g_act, h_act)
        hidden.append(h)
        cells.append(c)
    return stack(hidden, 0), stack(cells, 0)


def _step(
    layer: _Layer, Xs: te.Tensor, t: int, inputs: Any, h: te.Tensor, c: te.Tensor,
    f_act: Activation, g_act: Activation, h_act: Activation,
) -> tuple[te.Tensor, te.Tensor]:  # fmt: skip
    """The next hidden and cell state."""
    gates = layer.sums(lambda b, k: Xs(t, b, k), inputs, h)
    keep, take = layer.gate("F", gates, c, f_act), layer.gate("I", gates, c, f_act)
    new = layer.gate("G", gates, c, g_act)
    shape = (h.shape[0], layer.hidden)
    cell = compute(shape, lambda b, j: keep(b, j) * c(b, j) + take(b, j) * new(b, j), "next_c")
    show = layer.gate("O", gates, cell, f_act)
    state = compute(shape, lambda b, j: show(b, j) * h_act(cell(b, j)), "next_h")
    if layer.proj is None:
        return state, cell
    proj, k = layer.proj, te.reduce_axis((0, layer.hidden), name="kproj")
    wide = (h.shape[0], proj.shape[0])
    return compute(wide, lambda b, j: te.sum(state(b, k) * proj(j, k), axis=k), "proj_h"), cell
