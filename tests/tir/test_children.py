"""Parts of nodes in order, and walks that go through all of them."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.script import tir as T
from tvm.tir.children import (
    buffer_exprs,
    children,
    distinct,
    expr_children,
    statements,
    stmt_children,
    walk,
)  # fmt: skip

pytestmark = pytest.mark.pure


@T.prim_func
def scale(A: T.Buffer((8, 4), "float32"), B: T.Buffer((8, 4), "float32")) -> None:
    for i, j in T.grid(8, 4):
        with T.block("B"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, w] = T.if_then_else(v < 4, A[v, w] * T.float32(2), T.float32(0))


def test_parts_are_in_order_of_evaluation() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert expr_children(x) == ()
    assert expr_children(tir.Add(x, y)) == (x, y)
    assert expr_children(tir.Select(x < y, x, y))[1:] == (x, y)
    call = tir.call_intrin("int32", "tir.shift_left", x, y)
    assert children(call) == (x, y)
    total = tir.Let(x, y, x)
    assert expr_children(total) == (y, x)


def test_a_class_of_users_has_the_parts_of_its_base() -> None:
    class Named(tir.Var):
        pass

    assert expr_children(Named("x", "int32")) == ()


def test_statements_and_functions() -> None:
    buffer = tir.decl_buffer((4,), "float32", "A")
    store = tir.BufferStore(buffer, tir.FloatImm("float32", 1.0), [tir.IntImm("int32", 2)])
    assert [type(part).__name__ for part in stmt_children(store)] == ["FloatImm", "IntImm"]
    assert stmt_children(tir.SeqStmt([store, store])) == (store, store)
    assert children(scale)[-1] is scale.body
    assert [int(part) for part in buffer_exprs(buffer)] == [4, 0]


def test_walks_go_through_all_of_a_function_parents_first() -> None:
    nodes = list(walk(scale))
    assert nodes[0] is scale
    kinds = [type(node).__name__ for node in nodes]
    assert kinds.index("BlockRealize") < kinds.index("For") < kinds.index("BufferStore")
    for node in nodes:
        assert all(any(part is other for other in nodes) for part in children(node))


def test_statements_of_a_kind_come_in_the_order_of_walks() -> None:
    for kind in (tir.For, tir.Block, tir.BufferStore, tir.Stmt):
        wanted = [node for node in walk(scale) if isinstance(node, kind)]
        found = list(statements(scale, kind))
        assert len(found) == len(wanted) > 0
        assert all(a is b for a, b in zip(found, wanted))
    assert not list(statements(scale, tir.While))
    assert not list(statements(tir.IntImm("int32", 1), tir.For))


def test_distinct_nodes() -> None:
    x = tir.Var("x", "int32")
    shared = x + 1
    store = tir.Evaluate(tir.Mul(tir.Mul(shared, shared), shared))
    twice = tir.SeqStmt([store, store])
    kinds = [type(node).__name__ for node in distinct(store)]
    assert kinds == ["Evaluate", "Mul", "Mul", "Add", "Var", "IntImm"]
    assert [node for node in distinct(twice) if isinstance(node, tir.Stmt)] == [
        twice, store, store,
    ]  # fmt: skip
    assert {id(node) for node in distinct(twice)} == {id(node) for node in walk(twice)}
