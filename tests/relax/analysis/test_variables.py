"""Which variables and symbols a program uses, binds and leaves free."""

from __future__ import annotations

import pytest

from tvm import relax, tir
from tvm.relax import analysis, op
from tvm.relax.analysis.variables import used_symbolic_vars, uses_of

pytestmark = pytest.mark.pure

N, M = tir.Var("n", "int64"), tir.Var("m", "int64")
X = relax.Var("x", relax.TensorStructInfo((N, 2), "float32"))
Y = relax.Var("y", relax.TensorStructInfo((N, 2), "float32"))


def function() -> relax.Function:
    bb = relax.BlockBuilder()
    with bb.function("main", [X]):
        a = bb.emit(op.exp(X))
        cast = bb.match_cast(a, relax.TensorStructInfo((M, 2), "float32"))
        bb.emit_func_output(bb.emit(op.exp(cast)))
    return bb.get()["main"]


def test_bound_free_and_all() -> None:
    func = function()
    assert [v.name_hint for v in analysis.bound_vars(func)] == ["x", "gv", "gv1", "gv2"]
    assert analysis.free_vars(func) == []
    assert analysis.all_vars(func)[0] is X
    call = op.add(X, Y)
    assert analysis.free_vars(call) == [X, Y]
    assert analysis.free_vars(relax.Function([X], call, X.struct_info)) == [Y]


def test_shape_variables_count() -> None:
    shape = relax.Var("s", relax.ShapeStructInfo(ndim=2))
    y = relax.Var("y", relax.TensorStructInfo(shape, "float32"))
    func = relax.Function([y], y)
    assert analysis.free_vars(func) == [shape]


def test_global_variables() -> None:
    g = relax.GlobalVar("g", relax.FuncStructInfo([X.struct_info], X.struct_info))
    assert analysis.all_global_vars(relax.Call(g, [X])) == [g]


def test_symbols() -> None:
    func = function()
    assert analysis.defined_symbolic_vars(func) == [N, M]
    assert analysis.free_symbolic_vars(func) == []
    loose = relax.Function([X], relax.ShapeExpr([N, M]), relax.ShapeStructInfo(ndim=2))
    assert analysis.free_symbolic_vars(loose) == [M]
    assert used_symbolic_vars(relax.PrimValue(N + M)) == [N, M]


def test_post_order_visits_operands_first_and_once() -> None:
    inner = op.exp(X)
    seen: list[object] = []
    analysis.post_order_visit(op.add(inner, inner), seen.append)
    calls = [e for e in seen if isinstance(e, relax.Call)]
    assert [c.op.name for c in calls] == ["relax.exp", "relax.add"]


def test_uses_of_a_binding() -> None:
    out = relax.Var("out", X.struct_info)
    assert uses_of(relax.VarBinding(out, op.add(X, X))) == [X]
    assert uses_of(relax.VarBinding(out, relax.Tuple([X, Y]))) == [X, Y]


def test_a_variable_is_met_where_it_is_bound() -> None:
    y, z = relax.Var("y", X.struct_info), relax.Var("z", X.struct_info)
    block = relax.BindingBlock(
        [relax.VarBinding(y, op.exp(X)), relax.MatchCast(z, y, X.struct_info)]
    )
    assert analysis.all_vars(relax.SeqExpr([block], z)) == [y, X, z]


def test_post_order_visits_a_leaf_in_each_place() -> None:
    seen: list[object] = []
    analysis.post_order_visit(op.add(X, X), seen.append)
    assert [e for e in seen if isinstance(e, relax.Var)] == [X, X]
