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


def _saved(*nodes: dict[str, Any], version: str = "0.6.0") -> Any:
    graph = {
        "root": 1, "nodes": [{"type_key": ""}, *nodes], "b64ndarrays": [],
        "attrs": {"tvm_version": version},
    }  # fmt: skip
    return load_json(json.dumps(graph))


NONE = {"span": "0", "_checked_type_": "0"}


def test_words_of_relay_by_their_first_names() -> None:
    """Until 0.6 names stood in the nodes themselves, and types of all dialects were Relay's."""
    extent = {"type_key": "Variable", "attrs": {"dtype": "int32", "name": "t"}}
    for key in ("TypeVar", "GlobalTypeVar"):
        for prefix in ("relay.", ""):
            attrs = {"kind": "0", "span": "0", "var": "2"}
            found = _saved({"type_key": prefix + key, "attrs": attrs}, extent)
            assert type(found).__name__ == key
            assert found.name_hint == "t"
    for key in ("relay.GlobalVar", "GlobalVar"):
        assert _saved({"type_key": key, "attrs": {"name_hint": "f", **NONE}}).name_hint == "f"
    attrs = {"type_annotation": "0", "vid": "2", **NONE}
    name = {"type_key": "relay.Id", "attrs": {"name_hint": "a3"}}
    assert _saved({"type_key": "relay.Var", "attrs": attrs}, name).name_hint == "a3"
    assert _saved({"type_key": "relay.Op", "global_key": "nn.conv2d"}).name == "nn.conv2d"
    assert _saved({"type_key": "relay.IncompleteType", "attrs": {"kind": "0"}}).kind == 0


def test_types_and_extents_by_their_first_names() -> None:
    func = {"arg_types": "2", "ret_type": "3", "type_constraints": "4", "type_params": "4"}
    pair = {"type_key": "relay.TupleType", "attrs": {"fields": "4", "span": "0"}}
    none = {"type_key": "Array"}
    found = _saved({"type_key": "relay.FuncType", "attrs": func}, none, pair, none)
    assert str(found) == "fn () -> ()"
    for key, kind in (("Variable", tir.Var), ("SizeVar", tir.SizeVar)):
        made = _saved({"type_key": key, "attrs": {"dtype": "int32", "name": "n", "span": "0"}})
        assert isinstance(made, kind)
        assert made.name == "n"
    larger = {"a": "2", "b": "2", "dtype": "int32", "span": "0"}
    extent = {"type_key": "Variable", "attrs": {"dtype": "int32", "name": "n"}}
    assert isinstance(_saved({"type_key": "Max", "attrs": larger}, extent), tir.Max)


def test_options_of_relays_operators() -> None:
    """A number is a value where the option's default is one, and a node's place elsewhere."""
    from tvm import relay

    def option(kind: str, name: str, attrs: dict[str, str], *nodes: dict[str, Any]) -> Any:
        return getattr(_saved({"type_key": f"relay.attrs.{kind}", "attrs": attrs}, *nodes), name)

    assert relay.nn.softmax is not None  # declares the options
    two = {"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "2", "span": "0"}}
    axes = {"type_key": "Array", "data": [2]}
    assert option("SoftmaxAttrs", "axis", {"axis": "-1"}) == -1
    assert option("LeakyReluAttrs", "alpha", {"alpha": "0.25"}) == 0.25
    reduction = {"axis": "3", "keepdims": "1", "exclude": "0"}
    assert option("ReduceAttrs", "axis", reduction, two, axes) == (2,)
    assert option("ReduceAttrs", "keepdims", reduction, two, axes) is True
    assert option("ReduceAttrs", "axis", {**reduction, "axis": "0"}) is None
    assert option("CastAttrs", "dtype", {"dtype": "int8"}) == "int8"


def test_extents_among_options_are_numbers() -> None:
    none = {"type_key": "Array"}
    four = {"type_key": "IntImm", "attrs": {"dtype": "int32", "value": "4", "span": "0"}}
    attrs = {"channels": "2", "strides": "3", "groups": "1", "data_layout": "NHWC"}
    pair = {"type_key": "Array", "data": [2, 2]}
    found = _saved({"type_key": "relay.attrs.Conv2DAttrs", "attrs": attrs}, four, pair, none)
    assert (found.channels, found.strides, found.groups) == (4, (4, 4), 1)
    assert found.data_layout == "NHWC"
