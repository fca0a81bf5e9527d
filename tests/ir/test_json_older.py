"""Graphs of the original's versions before 0.22 are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

import tvm
from tests.ir.json_forms import old_form
from tests.ir.test_json_graph import Tensors
from tvm import tir
from tvm.ir import load_json
from tvm.ir.json_graph import JSONError
from tvm.ir.json_older import is_older, upgrade

pytestmark = pytest.mark.pure


def test_programs() -> None:
    loaded = load_json(json.dumps(old_form(Tensors)))
    tvm.ir.assert_structural_equal(loaded, Tensors)


def test_a_graph_as_it_was_written() -> None:
    """`n + 1` in a map under the name `sum`; the keys of maps stand beside their values."""
    attrs = {"dtype": "int32", "span": "0"}
    nodes = [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["sum"], "data": [2]},
        {"type_key": "tir.Add", "attrs": {"a": "3", "b": "6", **attrs}},
        {"type_key": "tir.Var", "attrs": {"name": "4", "type_annotation": "5", **attrs}},
        {"type_key": "runtime.String", "repr_str": "n"},
        {"type_key": "PrimType", "attrs": attrs},
        {"type_key": "IntImm", "attrs": {"value": "1", **attrs}},
    ]
    graph = {"root": 1, "nodes": nodes, "b64ndarrays": [], "attrs": {"tvm_version": "0.18.0"}}
    loaded = load_json(json.dumps(graph))
    expected = {"sum": tir.Var("n", "int32") + 1}
    tvm.ir.assert_structural_equal(loaded, expected, map_free_vars=True)
    assert upgrade(graph)["metadata"] == {"tvm_version": "0.18.0"}


def test_attributes_without_a_map() -> None:
    nodes = [
        {"type_key": ""},
        {"type_key": "DictAttrs", "attrs": {"global_symbol": "2"}},
        {"type_key": "runtime.String", "repr_str": "main"},
    ]
    assert load_json(json.dumps({"root": 1, "nodes": nodes}))["global_symbol"] == "main"


@pytest.mark.parametrize(
    ("node", "found"),
    [
        ({"type_key": "tir.Add", "attrs": {"a": "x", "b": "0"}}, "'x'"),
        ({"type_key": "Moon", "attrs": {}}, "no node type 'ir.Moon'"),
        ({"type_key": "Array", "data": ["?"]}, "'?'"),
        ({"type_key": 3}, "{'type_key': 3}"),
    ],
)
def test_damaged_graphs(node: Any, found: str) -> None:
    with pytest.raises(JSONError) as error:
        load_json(json.dumps({"root": 0, "nodes": [node]}))
    assert found in str(error.value)


def test_which_form() -> None:
    assert is_older({"root": 0, "nodes": [{"type_key": ""}]})
    assert not is_older({"root": 0, "nodes": []})
    assert not is_older([])
