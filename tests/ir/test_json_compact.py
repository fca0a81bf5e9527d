"""Saved programs of other versions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tvm import tir
from tvm.ir import load_json, save_json, structural_equal
from tvm.ir.json_compact import create_updater, get_version, upgrade_json

pytestmark = pytest.mark.pure


def test_versions() -> None:
    assert get_version({"attrs": {"tvm_version": "0.8"}}) == "0.8"
    assert get_version(json.loads(save_json(tir.IntImm("int32", 1)))) == "1"
    with pytest.raises(ValueError, match="names its version"):
        get_version({})


def test_updates_by_type_key_in_order() -> None:
    def rename(item: dict[str, Any], nodes: list[dict[str, Any]]) -> dict[str, Any]:
        return {**item, "type_key": "ir.New"}

    def number(item: dict[str, Any], nodes: list[dict[str, Any]]) -> dict[str, Any]:
        return {**item, "nodes": len(nodes)}

    update = create_updater({"Old": [rename, number], "Other": rename}, "0.7", "0.8")
    graph = {"nodes": [{"type_key": "Old"}, {"type_key": "Kept"}, {"type_key": "Other"}],
             "attrs": {"tvm_version": "0.7.1"}}  # fmt: skip
    found = update(graph)
    assert found["nodes"][0] == {"type_key": "ir.New", "nodes": 3}
    assert found["nodes"][1] == {"type_key": "Kept"}
    assert found["nodes"][2] == {"type_key": "ir.New"}
    assert get_version(found) == "0.8"
    with pytest.raises(ValueError, match=r"updates version 0\.7; found version 0\.8"):
        update(found)


def test_the_present_version_stays() -> None:
    node = tir.Var("x", "int32") + 1
    again = load_json(upgrade_json(save_json(node)))
    assert structural_equal(node, again, map_free_vars=True)


def test_refuses_what_it_cannot_read() -> None:
    with pytest.raises(ValueError, match=r"no way from version 0\.1"):
        upgrade_json('{"nodes": [], "attrs": {"tvm_version": "0.1"}}')
    with pytest.raises(ValueError, match="JSON text"):
        upgrade_json("nothing")
    with pytest.raises(ValueError, match="JSON object"):
        upgrade_json("[]")
