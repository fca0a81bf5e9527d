"""JSON: every kind of value round-trips; broken text is refused with a reason."""

from __future__ import annotations

import json

import numpy as np
import pytest

import tvm
from tests.ir.test_structural import copy_func
from tvm import tir
from tvm.ir import HostTensor, load_json, save_json, structural_equal

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    "value",
    [
        1, 1.5, True, None, "text", float("inf"), float("nan"), (1, (2, "x")), {"a": (1,)},
        tir.IntImm("int64", 3), tvm.ir.PrimType("float16"),
    ],
)  # fmt: skip
def test_values_round_trip(value: object) -> None:
    func = copy_func().with_attr("k", value)
    assert structural_equal(load_json(save_json(func)), func)


def test_modules_and_tensors_round_trip() -> None:
    data = HostTensor(np.arange(6, dtype="float16").reshape(2, 3))
    mod = tvm.IRModule({"f": copy_func().with_attr("data", data)}, attrs={"a": 1})
    assert structural_equal(load_json(save_json(mod)), mod)


def test_shared_parts_stay_shared() -> None:
    x = tir.Var("x", "int32")
    loaded = load_json(save_json(x + x))
    assert loaded.a is loaded.b


def test_what_the_runtime_holds() -> None:
    tensors = {"k": tvm.runtime.tensor(np.arange(4, dtype="float32"))}
    assert structural_equal(load_json(save_json(tensors)), tensors)
    array = tvm.runtime.convert([1, 2, 3])
    assert list(load_json(save_json(array))) == [1, 2, 3]


def test_deep_programs_need_no_recursion() -> None:
    total: tir.PrimExpr = tir.Var("x", "int32")
    for k in range(3000):
        total = total + k
    assert structural_equal(load_json(save_json(total)), total, map_free_vars=True)


def _one(kind: str, fields: str) -> str:
    return f'{{"root": 1, "nodes": [{{"type": "{kind}", "data": {fields}}}]}}'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("not json", "Expecting value"),
        ("[1, 2]", "list"),
        ('{"root": 1, "nodes": [{"type": "tir.Ad", "data": {}}]}', "no node type 'tir.Ad'"),
        ('{"root": {"$": "node", "at": 5}, "nodes": []}', "5"),
        ('{"root": {"$": "what"}, "nodes": []}', "'what'"),
        ('{"root": 1, "nodes": [{"type": "tir.Add", "data": {"a": 1}}]}', "missing"),
        ('{"root": 1, "nodes": [3]}', "3"),
        (_one("ir.IntImm", '{"dtype": "int32", "value": "x"}'), "IntImm: value is a str"),
        (_one("ir.FloatImm", '{"dtype": "float32", "value": "x"}'), "FloatImm: value is a str"),
        ('{"root": {"$": "map", "items": [[1]]}, "nodes": []}', "not enough values"),
        ('{"version": 99, "root": 1, "nodes": []}', "version 99"),
    ],
)
def test_broken_text_is_refused(text: str, found: str) -> None:
    with pytest.raises(ValueError, match="load_json: not a saved program") as error:
        load_json(text)
    assert found in str(error.value)


def test_modules_that_are_not_made_of_bytes_are_refused() -> None:
    with pytest.raises(tvm.TVMError, match="a module module as bytes"):
        save_json(tvm.runtime.Module())
    text = '{"root": {"$": "module", "kind": "moon", "data": "", "imports": []}, "nodes": []}'
    with pytest.raises(ValueError, match="found: 'moon'"):
        load_json(text)


@pytest.mark.parametrize("root", [{"$": "map"}, {"$": "tuple", "items": 3}, {"$": "float"}])
def test_fields_that_are_not_there_are_refused(root: object) -> None:
    with pytest.raises(ValueError, match="load_json: not a saved program"):
        load_json(json.dumps({"version": 1, "root": root, "nodes": []}))
