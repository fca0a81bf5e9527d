"""Attributes made by name, stored and compared."""

from __future__ import annotations

from typing import Any

import pytest

import tvm
from tvm.ir import load_json, make_node, save_json, structural_equal, structural_hash

pytestmark = pytest.mark.pure


def test_made_by_name_with_defaults() -> None:
    made: Any = make_node("attrs.TestAttrs", name="xx", padding=(3, 4))
    assert (made.axis, made.name, made.padding, made.func) == (10, "xx", (3, 4), None)
    assert [(n.value, n.dtype) for n in made.padding] == [(3, "int32"), (4, "int32")]
    assert made.get_int("axis") == 10
    assert made.get_int_tuple("padding") == (3, 4)
    assert made.get_str("name") == "xx"
    with pytest.raises(TypeError, match="has no field 'unknown_key'; legal: axis, name"):
        make_node("attrs.TestAttrs", unknown_key=1, name="xx")
    with pytest.raises(
        TypeError, match=r"a required field is not set\n  found: axis\n  legal: .*name"
    ):
        make_node("attrs.TestAttrs", axis=1)
    with pytest.raises(TypeError, match="axis is a str: 'one'; legal: int"):
        make_node("attrs.TestAttrs", name="xx", axis="one")


def test_functions_are_stored_by_name() -> None:
    tvm.register_global_func("test.sample_attrs.plus", lambda x: x + 1, override=True)
    func = tvm.ir.EnvFunc.get("test.sample_attrs.plus")
    made = make_node("attrs.TestAttrs", name="xx", func=func)
    again: Any = load_json(save_json(made))
    assert again.func(10) == 11
    assert structural_equal(made, again)


def test_compared_by_content() -> None:
    x = make_node("attrs.TestAttrs", axis=1, name="xx")
    y = make_node("attrs.TestAttrs", axis=1, name="xx")
    z = make_node("attrs.TestAttrs", axis=2, name="xx")
    assert structural_equal(x, y)
    assert structural_hash(x) == structural_hash(y)
    assert not structural_equal(x, z)
    assert structural_equal({"k": x}, {"k": y})
