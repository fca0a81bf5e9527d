"""Slots of the heap of sizes: which there are, and which can be computed."""

import pytest

from tvm import relax, tir
from tvm.relax.transform.size_slots import SlotTable, collect_slots

pytestmark = pytest.mark.pure


def test_symbols_and_expressions_get_slots_in_order():
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    x = relax.Var("x", relax.TensorStructInfo([n, n + 1, 4], "float32"))
    y = relax.Var("y", relax.TupleStructInfo([relax.ShapeStructInfo([m, n + 1])]))
    func = relax.Function([x, y], relax.SeqExpr([], relax.ShapeExpr([n * m])),
                          relax.ShapeStructInfo(ndim=1))
    table = collect_slots(func)
    assert len(table) == 4
    assert [table[e].index for e in (n, n + 1, m, n * m)] == [0, 1, 2, 3]


def test_an_expression_waits_for_its_last_symbol():
    n, m = tir.Var("n", "int64"), tir.Var("m", "int64")
    table = SlotTable()
    for expr in (n, m, n * m, n + 1, tir.IntImm("int64", 3)):
        table.add(expr)
    table[n].is_known = True
    assert [s.expr for s in table.computable([table[n]])] == [table[n + 1].expr]
    table[n + 1].is_known = table[m].is_known = True
    assert [s.index for s in table.computable([table[m]])] == [table[n * m].index]


def test_what_a_branch_learnt_is_forgotten():
    n = tir.Var("n", "int64")
    table = SlotTable()
    table.add(n)
    before = table.known()
    table[n].is_known = True
    table.forget_all_but(before)
    assert not table[n].is_known
