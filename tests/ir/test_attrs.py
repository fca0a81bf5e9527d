"""Attributes: by free names, and as records."""

from __future__ import annotations

from typing import Any

import pytest

from tvm.ir import DictAttrs, load_json, make_node, save_json, structural_equal
from tvm.ir.attrs import Attrs
from tvm.ir.node import fields

pytestmark = pytest.mark.pure


class Window(Attrs):
    __slots__ = ("padding", "size")
    TYPE_KEY = "test.Window"
    FIELDS = fields("size", "padding")

    def __init__(self, size: int, padding: tuple[int, ...]) -> None:
        self.size = size
        self.padding = padding


def test_dict_attrs() -> None:
    attrs = DictAttrs({"a": 1})
    assert attrs["a"] == 1
    assert attrs.get("b", 2) == 2
    assert "a" in attrs
    assert list(attrs) == list(attrs.keys()) == ["a"]
    assert len(attrs) == 1
    assert not DictAttrs()
    with pytest.raises(KeyError):
        attrs["b"]


def test_records() -> None:
    window = Window(3, (1, 2))
    assert window.keys() == ["size", "padding"]
    assert window["size"] == window.get_int("size") == 3
    assert window.get_int_tuple("padding") == (1, 2)
    assert window.get_str("size") == "3"
    with pytest.raises(KeyError):
        window["other"]


def test_dict_attrs_by_keyword_and_by_attribute() -> None:
    made: Any = make_node("ir.DictAttrs", x=1, name="xyz", padding=(0, 0))
    assert made.x == 1
    assert made.name == "xyz"
    assert "name" in made
    assert len(made.items()) == 3
    assert structural_equal(made, load_json(save_json(made)))
    with pytest.raises(AttributeError, match="no attribute 'y'"):
        made.y
