"""Walks and rewrites: sameness, spans, scopes, deep chains, users' subclasses."""

from __future__ import annotations

import pytest

import tvm
from tests.ir.test_structural import copy_func
from tvm import tir
from tvm.ir import Span, structural_equal
from tvm.tir.functor import (
    PyStmtExprMutator,
    PyStmtExprVisitor,
    StmtExprMutator,
    mutator,
    pre_order_visit,
    substitute,
    visitor,
    walk,
)
from tvm.tir.stmt_functor import ir_transform, post_order_visit

pytestmark = pytest.mark.pure
SPAN = Span("file.py", 3, 3, 1, 9)


def deep_sum(terms: int = 5000) -> tuple[tir.Var, tir.PrimExpr]:
    x = tir.Var("x", "int32")
    total: tir.PrimExpr = x
    for k in range(terms):
        total = tir.Add(total, tir.Mul(x, tir.IntImm("int32", k)), SPAN)
    return x, total


def test_nothing_changed_is_the_same_object() -> None:
    func = copy_func()
    assert StmtExprMutator().visit_stmt(func.body) is func.body
    assert substitute(func.body, {tir.Var("other", "int32"): 1}) is func.body


def test_walk_gives_parents_first_and_post_order_each_once() -> None:
    x = tir.Var("x", "int32")
    shared = tir.Add(x, x)
    expr = tir.Mul(shared, shared)
    assert [type(n).__name__ for n in walk(expr)] == ["Mul", *["Add", "Var", "Var"] * 2]
    seen: list[object] = []
    post_order_visit(expr, seen.append)
    assert seen == [x, shared, expr]
    seen.clear()
    pre_order_visit(expr, lambda n: seen.append(n) or not isinstance(n, tir.Add))
    assert seen == [expr, shared]


def test_substitution_reaches_shapes_and_keeps_spans() -> None:
    n, m = tir.Var("n", "int32"), tir.Var("m", "int32")
    a = tir.decl_buffer((n,), "float32", "A")
    i = tir.Var("i", "int32")
    loop = tir.For(i, 0, n, 0, tir.BufferStore(a, tir.FloatImm("float32", 0.0), [i], None, SPAN))
    new = substitute(loop, {n: m})
    assert new.extent is m
    assert new.body.buffer.shape[0] is m
    assert new.body.span is SPAN
    assert substitute(n + 1, lambda v: m if v is n else None).a is m


def test_deep_sums_are_walked_and_rewritten() -> None:
    x, total = deep_sum()
    y = tir.Var("y", "int32")
    new = substitute(total, {x: y})
    assert not any(n is x for n in walk(new))
    assert new.span is SPAN
    assert structural_equal(total, new, map_free_vars=True)
    right: tir.PrimExpr = x
    for k in range(5000):
        right = tir.Sub(tir.IntImm("int32", k), right)
    assert structural_equal(substitute(right, {x: y}), right, map_free_vars=True)


class _Counter(PyStmtExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.variables = 0

    def visit_var_(self, op: tir.Var) -> None:
        self.variables += 1


def test_deep_sums_visit_each_use() -> None:
    counter = _Counter()
    counter.visit_expr(deep_sum()[1])
    assert counter.variables == 5001


def test_deep_chains_through_scopes() -> None:
    """Conditions inside of a deep chain start their own recursion."""
    x = tir.Var("x", "int32")
    total: tir.PrimExpr = x
    for k in range(300):
        total = tir.Add(tir.Select(tir.LT(x, tir.IntImm("int32", k)), total, x), x)
    y = tir.Var("y", "int32")
    assert structural_equal(substitute(total, {x: y}), total, map_free_vars=True)


def test_users_subclasses() -> None:
    @visitor
    class Loads(PyStmtExprVisitor):
        def __init__(self) -> None:
            super().__init__()
            self.names: list[str] = []

        def visit_buffer_load_(self, op: tir.BufferLoad) -> None:
            self.names.append(op.buffer.name)
            super().visit_buffer_load_(op)

    @mutator
    class Double(PyStmtExprMutator):
        def visit_float_imm_(self, op: tir.FloatImm) -> tir.FloatImm:
            return tir.FloatImm(op.dtype, op.value * 2)

    func = copy_func()
    loads = Loads()
    loads.visit_stmt(func.body)
    assert loads.names == ["A"]
    doubled = Double().visit_stmt(func.body)
    assert doubled.body.value.b.value == 4.0


def test_ir_transform() -> None:
    func = copy_func()

    def to_parallel(node: tir.For) -> tir.For:
        return tir.For(node.loop_var, node.min, node.extent, 1, node.body)

    out = ir_transform(func.body, None, to_parallel, ["tir.For"])
    assert out.kind == tir.ForKind.PARALLEL
    stopped = ir_transform(func.body, lambda n: tir.Evaluate(0), None, ["tir.BufferStore"])
    assert isinstance(stopped.body, tir.Evaluate)
    assert ir_transform(func, None, lambda n: None).body is func.body


def test_a_kind_without_a_rule_is_named() -> None:
    from tvm.tir.functor import TirFunctor

    class OnlyVars(TirFunctor[int, int]):
        def visit_var_(self, op: tir.Var) -> int:
            return 1

    with pytest.raises(TypeError, match="OnlyVars has no rule for IntImm"):
        OnlyVars().visit_expr(tir.const(1))
    assert isinstance(tvm.tir.const(1), tir.IntImm)
