"""Structural equality and hash: what counts, what does not, and where the first difference is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.ir import (
    HostTensor,
    assert_structural_equal,
    get_first_structural_mismatch,
    structural_equal,
    structural_hash,
)
from tvm.ir.structural import structural_digest
from tvm.runtime.conversion import convert

pytestmark = pytest.mark.pure


def copy_func(factor: float = 2.0, name: str = "A", var: str = "i") -> tir.PrimFunc:
    n = tir.Var("n", "int32")
    a, b = tir.decl_buffer((n,), "float32", name), tir.decl_buffer((n,), "float32", "B")
    i = tir.Var(var, "int32")
    body = tir.For(i, 0, n, 0, tir.BufferStore(b, a[i] * factor, [i]))
    return tir.PrimFunc([a, b], body)


def test_names_of_bound_things_do_not_count() -> None:
    f, g = copy_func(), copy_func(name="Z", var="k")
    assert structural_equal(f, g)
    assert structural_hash(f) == structural_hash(g)
    assert structural_digest(f) == structural_digest(g)


def test_values_count() -> None:
    f, g = copy_func(), copy_func(3.0)
    assert not structural_equal(f, g)
    assert structural_hash(f) != structural_hash(g)


def test_free_variables() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert structural_equal(x + 1, x + 1)
    assert not structural_equal(x + 1, y + 1)
    assert structural_equal(x + 1, y + 1, map_free_vars=True)
    # one to one, both ways
    assert not structural_equal(x + y, x + x, map_free_vars=True)
    assert not structural_equal(x + x, x + y, map_free_vars=True)
    assert not structural_equal(x, tir.Var("x", "int64"), map_free_vars=True)


def test_the_hash_follows_equality_for_free_variables() -> None:
    x, y = tir.Var("x", "int32"), tir.Var("y", "int32")
    assert structural_hash(x + x) == structural_hash(x + x)
    assert structural_hash(x + x) != structural_hash(y + y)
    assert structural_hash(x + x, True) == structural_hash(y + y, True)
    assert structural_hash(x + y, True) != structural_hash(x + x, True)


def test_tensors_of_the_runtime() -> None:
    a, b, c = (tvm.runtime.tensor(np.arange(4) + d) for d in (0, 0, 1))
    assert structural_equal(a, b)
    assert structural_hash(a) == structural_hash(b)
    assert not structural_equal(a, c)
    assert structural_hash(a) != structural_hash(c)


def test_spans_and_name_hints_are_ignored() -> None:
    span = tvm.ir.Span("file.py", 1, 1, 1, 5)
    x = tir.Var("x", "int32")
    assert structural_equal(tir.Add(x, x), tir.Add(x, x, span))


def test_path_of_the_first_difference() -> None:
    found = get_first_structural_mismatch(copy_func(), copy_func(3.0))
    assert found is not None
    assert str(found[0]) == "<root>.body.body.value.b.value"
    assert get_first_structural_mismatch(copy_func(), copy_func()) is None


def test_path_into_sequences() -> None:
    x = tir.Var("x", "int32")
    one = tir.SeqStmt([tir.Evaluate(x), tir.Evaluate(x + 1)])
    two = tir.SeqStmt([tir.Evaluate(x), tir.Evaluate(x + 1), tir.Evaluate(x)])
    found = get_first_structural_mismatch(one, two)
    assert found is not None
    assert str(found[0]) == "<root>.seq[<missing:2>]"
    assert str(found[1]) == "<root>.seq[2]"
    three = tir.SeqStmt([tir.Evaluate(x), tir.Evaluate(x + 2)])
    found = get_first_structural_mismatch(one, three)
    assert found is not None
    assert str(found[0]) == "<root>.seq[1].value.b.value"


def test_path_to_a_definition_that_only_one_side_has() -> None:
    one = tir.IndexMap.from_func(lambda i: [i])
    two = tir.IndexMap.from_func(lambda i, j: [i, j])
    found = get_first_structural_mismatch(one, two)
    assert found is not None
    assert str(found[0]) == "<root>.initial_indices[<missing:1>]"


@pytest.mark.parametrize(
    ("lhs", "rhs", "wanted"),
    [
        ([3, 1, 2], [3, 5, 2], ("[1]", "[1]")),
        ([3, 1], [4, 1, 2], ("[0]", "[0]")),
        ([3, 1], [3], ("[1]", "[<missing:1>]")),
        ([], ["k"], ("[<missing:0>]", "[0]")),
        (["k", [1.5]], ["k", [2.5]], ("[1][0]", "[1][0]")),
        ({"k": [1, 2]}, {"k": [1, 3]}, ('["k"][1]', '["k"][1]')),
        ({"k": 1}, {"k": 1, "n": 2}, ('[<missing:"n">]', '["n"]')),
        ({"k": 1}, {"k": 2, "n": 2}, ('["k"]', '["k"]')),
        ({"k": [1], "m": 1}, {"k": [2], "n": 1}, ('["k"][0]', '["k"][0]')),
        ([1], {"k": 1}, ("", "")),
    ],
)
@pytest.mark.parametrize("made", [convert, lambda value: value])
def test_path_into_arrays_and_maps_of_the_library(
    lhs: Any, rhs: Any, wanted: tuple[str, str], made: Callable[[Any], Any]
) -> None:
    a, b = made(lhs), made(rhs)
    found = get_first_structural_mismatch(a, b)
    assert found is not None
    assert tuple(str(path) for path in found) == tuple("<root>" + steps for steps in wanted)
    assert not structural_equal(a, b)
    for one, other in ((a, lhs), (b, rhs)):  # the same as a value of Python
        assert structural_equal(one, other)
        assert structural_hash(one) == structural_hash(other)


def test_maps_by_key_in_any_order() -> None:
    f = copy_func().with_attrs({"a": 1, "b": 2})
    g = copy_func().with_attrs({"b": 2, "a": 1})
    assert structural_equal(f, g)
    assert structural_hash(f) == structural_hash(g)
    found = get_first_structural_mismatch(f, copy_func().with_attrs({"a": 1}))
    assert found is not None
    assert str(found[0]) == '<root>.attrs.__dict__["b"]'
    assert str(found[1]) == '<root>.attrs.__dict__[<missing:"b">]'


def test_modules_by_function_name() -> None:
    a = tvm.IRModule({"f": copy_func(), "g": copy_func(3.0)})
    b = tvm.IRModule({"g": copy_func(3.0), "f": copy_func()})
    assert structural_equal(a, b)
    assert structural_hash(a) == structural_hash(b)
    assert not structural_equal(a, tvm.IRModule({"f": copy_func()}))


def test_kinds_of_values_are_told_apart() -> None:
    def with_value(value: object) -> tir.PrimFunc:
        return copy_func().with_attr("k", value)

    assert not structural_equal(with_value(True), with_value(1))
    assert not structural_equal(with_value("1"), with_value(1))
    assert structural_equal(with_value(float("nan")), with_value(float("nan")))
    assert not structural_equal(with_value(0.0), with_value(-0.0))


def test_tensors_by_content() -> None:
    a, b = (HostTensor(np.arange(4, dtype="float32") + d) for d in (0, 1))
    same = HostTensor(np.arange(4, dtype="float32"))
    f, g, h = (copy_func().with_attr("t", t) for t in (a, b, same))
    assert structural_equal(f, h)
    assert not structural_equal(f, g)
    assert get_first_structural_mismatch(f, g, skip_tensor_content=True) is None


def test_deep_sums_need_no_recursion() -> None:
    def deep() -> tir.PrimExpr:
        x = tir.Var("x", "int32")
        total: tir.PrimExpr = x
        for k in range(5000):
            total = total + x * k
        return total

    a, b = deep(), deep()
    assert structural_equal(a, b, map_free_vars=True)
    assert structural_hash(a, map_free_vars=True) == structural_hash(b, map_free_vars=True)


def test_assert_shows_both_sides() -> None:
    with pytest.raises(ValueError, match="StructuralEqual check failed, caused by lhs at") as error:
        assert_structural_equal(copy_func(), copy_func(3.0))
    assert "and rhs at <root>.body.body.value.b.value" in str(error.value)


def test_numbers_of_different_kinds_differ() -> None:
    for x, y in ((1, 1.0), (1, True), (0.0, False), (0.0, -0.0)):
        assert not structural_equal(x, y)
        assert not structural_equal([x], [y])
        assert structural_hash(x) != structural_hash(y)
    assert structural_equal(float("nan"), float("nan"))


def test_numbers_of_attributes_as_they_are_or_as_expressions() -> None:
    def one(**attrs: object) -> tvm.tir.PrimFunc:
        return tvm.tir.PrimFunc([], tvm.tir.Evaluate(0)).with_attr(attrs)

    plain = one(a=True, b=3, c=[1, 2], d=0.5)
    const = tvm.tir.const
    held = one(a=const(True, "bool"), b=const(3, "int64"), c=[const(1), 2], d=const(0.5, "float32"))
    for lhs, rhs in ((plain, held), (held, plain)):
        tvm.ir.assert_structural_equal(lhs, rhs)
        assert tvm.ir.structural_hash(lhs) == tvm.ir.structural_hash(rhs)
    for other in (one(a=1), one(a=const(1)), one(a=const(False, "bool")), one(a=1.0)):
        assert not tvm.ir.structural_equal(one(a=True), other)
        assert not tvm.ir.structural_equal(other, one(a=True))
    assert not tvm.ir.structural_equal(one(a=const(1, "int32")), one(a=const(1, "int64")))
