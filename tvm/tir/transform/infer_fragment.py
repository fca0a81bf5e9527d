"""Fragments of tensor cores say their shape, and those that are moved their layout.

    F = T.allocate([256], "float16", "wmma.matrix_a")
    T.tvm_load_matrix_sync(F, 16, 16, 16, 0, ..., "row_major")
    ->
    with T.attr(F, "fragment_layout", "row_major"):
        with T.attr(F, "fragment_shape", "16, 16, 16"):
            F = T.allocate([256], "float16", "wmma.matrix_a")
            ...
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NoReturn

from tvm.error import CheckError, message
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.function import PrimFunc
from tvm.tir.functor import StmtExprMutator, walk

from .pass_form import tir_pass

_MOVES: Final = ("tir.tvm_load_matrix_sync", "tir.tvm_store_matrix_sync")
_PRODUCTS: Final = ("tir.tvm_mma_sync", "tir.tvm_bmma_sync")


@dataclass(frozen=True)
class _Fragment:
    """What the operations on a fragment say of it; only those that move it tell the layout."""

    shape: tuple[int, ...]
    layout: str = ""


@tir_pass("tir.InferFragment")
def InferFragment(func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
    """Each allocation of a fragment stands in attributes with its shape and layout."""
    found = _fragments(func)
    return func.with_body(_Annotator(found).visit_stmt(func.body)) if found else func


def _refuse(found: str, legal: str, where: PrimExpr) -> NoReturn:
    raise CheckError(message("InferFragment", found=found, where=str(where), legal=legal))


def _fragments(func: PrimFunc) -> dict[e.Var, _Fragment]:
    calls = [n for n in walk(func.body) if isinstance(n, e.Call)]
    found: dict[e.Var, _Fragment] = {}
    for call in calls:
        name = e.op_name(call)
        if name in _MOVES or name == "tir.tvm_fill_fragment":
            var = call.args[0]
            if isinstance(var, e.Var):
                _note(found, var, call, name in _MOVES)
    for call in calls:
        if e.op_name(call) in _PRODUCTS:
            _check_product(found, call)
    return found


def _note(found: dict[e.Var, _Fragment], var: e.Var, call: e.Call, moved: bool) -> None:
    sizes = [arg.value for arg in call.args[1:4] if isinstance(arg, e.IntImm)]
    if len(sizes) != 3:
        _refuse("an extent that is no integer", "extents m, n, k that are integers", call)
    layout = ""
    if moved:
        last = call.args[7]
        if not isinstance(last, e.StringImm):
            _refuse(f"the layout {last}", '"row_major" or "col_major"', call)
        layout = last.value
    made, known = _Fragment(tuple(sizes), layout), found.get(var)
    if known is not None and known.shape != made.shape:
        _refuse(f"fragment {var.name} of shapes {known.shape} and {made.shape}",
                "one shape for each fragment", call)  # fmt: skip
    if known is not None and known.layout and made.layout and known.layout != made.layout:
        _refuse(f"fragment {var.name} of layouts {known.layout} and {made.layout}",
                "one layout for each fragment", call)  # fmt: skip
    found[var] = made if known is None or made.layout else known


def _check_product(found: dict[e.Var, _Fragment], call: e.Call) -> None:
    shapes = {found[v].shape for v in call.args[0:8:2] if isinstance(v, e.Var) and v in found}
    if len(shapes) > 1:
        _refuse(f"fragments of shapes {sorted(shapes)} in one product", "one shape m, n, k", call)


class _Annotator(StmtExprMutator):
    def __init__(self, found: dict[e.Var, _Fragment]) -> None:
        super().__init__()
        self._found = found

    def visit_expr(self, expr: PrimExpr) -> PrimExpr:
        return expr

    def visit_allocate_(self, op: s.Allocate) -> s.Stmt:
        stmt = super().visit_allocate_(op)
        known = self._found.get(op.buffer_var)
        if known is None:
            return stmt
        shape = e.StringImm(", ".join([str(size) for size in known.shape]))
        stmt = s.AttrStmt(op.buffer_var, "fragment_shape", shape, stmt, op.span)
        if not known.layout:
            return stmt
        layout = e.StringImm(known.layout)
        return s.AttrStmt(op.buffer_var, "fragment_layout", layout, stmt, op.span)
