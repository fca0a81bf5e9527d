"""`a == b` is a bool or an expression, as it is asked."""

from __future__ import annotations

import pytest

import tvm
from tvm import arith, te, tir
from tvm.tir.expr import EqualOp, NotEqualOp

pytestmark = pytest.mark.pure


def test_as_bool_it_is_identity() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("x", "int32")
    assert x == x
    assert not bool(x == y)
    assert x != y
    assert tir.const(3) == tir.const(3)
    assert tir.const(3.0) == 3


def test_as_expression_it_compares() -> None:
    x = tir.Var("x", "int32")
    assert isinstance(tir.all(x == 1, x > 0).a, tir.EQ)
    assert isinstance((x != 1).asobject(), tir.NE)
    assert (x == 1).dtype == "bool"
    assert isinstance(x.equal(2), tir.EQ)


def test_python_logic_on_expressions_is_refused() -> None:
    x = tir.Var("x", "int32")
    with pytest.raises(ValueError, match="Cannot use and / or / not operator to Expr"):
        bool(x < 3)


def test_values_of_enumerations_become_literals() -> None:
    value = tir.IntImmEnum(3)
    assert value.asobject().dtype == "int32"
    sum_of = tir.Var("x", "int32") + value
    assert str(sum_of) == "x + 3"


def test_the_classes_stand_among_the_expressions() -> None:
    x = tir.Var("x", "int32")
    assert isinstance(x == 3, EqualOp)
    assert isinstance(x != 3, NotEqualOp)
    assert (x == 3).a is x


def test_questions_about_structure_take_what_it_stands_for() -> None:
    x = tir.Var("x", "int32")
    written = tir.EQ(x, tir.IntImm("int32", 28))
    assert tvm.ir.structural_equal(written, x == 28)
    assert tvm.ir.structural_equal([x == 28, {"c": x != 1}], [written, {"c": tir.NE(x, 1)}])
    assert not tvm.ir.structural_equal(x == 28, x == 29)
    assert tvm.ir.structural_hash(x == 28) == tvm.ir.structural_hash(written)
    tvm.ir.assert_structural_equal(x == 28, written)
    with pytest.raises(ValueError, match="StructuralEqual check failed"):
        tvm.ir.assert_structural_equal(x == 28, x != 28)
    assert isinstance(tvm.ir.load_json(tvm.ir.save_json(x == 28)), tir.EQ)
    assert isinstance(tvm.runtime.convert([x == 28])[0], tir.EQ)


def test_an_element_of_a_tensor_is_one_wherever_a_node_is_taken() -> None:
    k = tir.Var("k", "int32")
    A = te.placeholder((8,), name="A")
    tvm.ir.assert_structural_equal(A[k], arith.Analyzer().simplify(A[k]))
    assert tvm.ir.structural_equal(A[k], A(k))
    assert not tvm.ir.structural_equal(A[k], A[k + 1])
    assert tir.analysis.expr_deep_equal(A[k], A(k))


def test_walks_take_what_it_stands_for() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert str(tir.stmt_functor.substitute(x == 28, {x: y})) == "y == 28"
    seen = []
    tir.stmt_functor.post_order_visit(x == 28, seen.append)
    assert isinstance(seen[-1], tir.EQ)
    assert tir.analysis.undefined_vars(x == 28) == [x]
    renamed = tir.stmt_functor.ir_transform(
        x == 28, None, lambda e: y if e.same_as(x) else None, ["tir.Var"]
    )
    assert str(renamed) == "y == 28"
