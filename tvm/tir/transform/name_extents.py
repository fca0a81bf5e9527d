"""Extents of parameters that are computed get names of their own.

    def f(x: handle, y: handle, w: int64):                 def f(x: handle, y: handle, w: int64):
        X = match_buffer(x, ((w - 1) // 4 + 1,))    ->         X = match_buffer(x, (n,))
        Y = match_buffer(y, ((w - 1) // 4 + 5,))               Y = match_buffer(y, (n + 4,))

The buffer itself says how long it is. What is computed from `n` has one step less to be proven in
every question that a schedule asks, and one division less when it runs.
"""

from __future__ import annotations

from tvm.arith import Analyzer
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir.analysis import expr_deep_equal
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, vars_in
from tvm.tir.op import arith as ops

from .pass_form import tir_pass

_COMPUTED = (e.FloorDiv, e.FloorMod, e.Div, e.Mod, e.Min, e.Max)


@tir_pass("tir.NameExtents")
def NameExtents(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Parameters have extents that are names, or sums of names and numbers, where that is so."""
    shapes = [func.buffer_map[p].shape for p in func.params if p in func.buffer_map]
    names = _Names({extent for shape in shapes for extent in shape if isinstance(extent, e.Var)})
    for shape in shapes:
        for extent in shape:
            names.add(extent)
    if not names.known:
        return func
    buffers = {param: names.visit_buffer_def(b) for param, b in func.buffer_map.items()}
    body = names.visit_stmt(func.body)
    return PrimFunc(func.params, body, func.ret_type, buffers, func.attrs, func.span)


class _Names(StmtExprMutator):
    """Replaces computed parts of extents by what is known once the extents have names."""

    def __init__(self, bound: set[e.Var]) -> None:
        super().__init__()
        self.known: list[tuple[PrimExpr, PrimExpr]] = []
        self._bound = bound
        self._analyzer = Analyzer()
        self._analyzer.rewriter.keeps_nan = True  # numbers chosen by comparisons are rewritten, too

    def add(self, extent: PrimExpr) -> None:
        """Name an extent that is a number and a part computed from what no buffer tells."""
        part, offset = self.visit_expr(extent), 0
        while isinstance(part, (e.Add, e.Sub)) and isinstance(part.b, e.IntImm):
            offset += part.b.value if isinstance(part, e.Add) else -part.b.value
            part = part.a
        used = set(vars_in(part))
        if isinstance(part, _COMPUTED) and not used <= self._bound:
            name = e.SizeVar(f"n{len(self.known)}", extent.dtype)
            value = ops.subtract(name, e.IntImm(extent.dtype, offset)) if offset else name
            self.known.append((part, value))
            self._bound.add(name)

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        if isinstance(expr, _COMPUTED):
            for part, value in self.known:
                if type(part) is type(expr) and expr_deep_equal(part, expr):
                    return value
        new = super().visit_expr(expr)
        if new is not expr and self._depth == 0 and expr.dtype.is_int:
            return self._analyzer.simplify(new)
        return new
