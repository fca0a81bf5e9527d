"""How the columns of a convolution's result move in the plane that it reads."""

from __future__ import annotations

from dataclasses import dataclass

from tvm.arith import Analyzer
from tvm.dlight.analysis.contraction import Operand
from tvm.ir.expr import PrimExpr
from tvm.tir.expr import IntImm, IterVar, make_const
from tvm.tir.functor import substitute, uses_var
from tvm.tir.schedule.analysis.interval import linear_terms
from tvm.tir.stmt import Block

from .contraction import MatrixForm


@dataclass(frozen=True)
class Column:
    """A variable of the result along a dimension of the plane, and the window's shifts along it."""

    iv: IterVar
    dim: int  # of the plane
    step: int
    shift: PrimExpr  # made of variables of the window
    reach: int  # the largest shift


def columns_of(node: Block, form: MatrixForm, plane: Operand) -> list[Column] | None:
    """How each column variable moves in the plane; None if the block is of another form."""
    domains = {iv.var: iv.dom for iv in node.iter_vars if iv.dom is not None}
    window = {iv.var for iv in form.k}
    found: list[Column] = []
    for iv in form.n:
        dims = [
            dim for dim, index in enumerate(plane.indices)
            if uses_var(index, iv.var)
        ]  # fmt: skip
        if len(dims) != 1:
            return None
        index = plane.indices[dims[0]]
        terms = linear_terms(index, domains)
        if terms is None or not set(terms) <= window | {iv.var}:
            return None
        reach = 0
        for var, scale in terms.items():
            size = domains[var].extent
            if var is not iv.var and (scale < 0 or not isinstance(size, IntImm)):
                return None
            reach += 0 if var is iv.var else scale * (size.value - 1)  # type: ignore[attr-defined]
        shift = Analyzer().simplify(substitute(index, {iv.var: make_const(0, iv.var.dtype)}))
        if terms.get(iv.var, 0) < 1:
            return None
        found.append(Column(iv, dims[0], terms[iv.var], shift, reach))
    used = {column.dim for column in found}
    return found if len(used) == len(found) else None


def one_run(node: Block, form: MatrixForm, plane: Operand) -> bool:
    """True if all columns are one run through the plane as it is: windows of one element."""
    columns = columns_of(node, form, plane)
    last = len(plane.indices)
    if columns is None or [column.dim for column in columns] != list(range(last))[-len(columns):]:
        return False
    same = Analyzer()
    return all(
        column.step == 1
        and column.reach == 0
        and column.iv.dom is not None
        and same.can_prove_equal(column.iv.dom.extent, plane.buffer.shape[column.dim])
        for column in columns
    )
