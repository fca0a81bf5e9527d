"""What nodes and registered functions hand out are arrays and maps."""

from __future__ import annotations

import pytest

import tvm
from tvm import tir
from tvm.ir import Array, Map

pytestmark = pytest.mark.pure


def test_fields_of_nodes() -> None:
    x = tir.Var("x", "int32")
    func = tir.PrimFunc([x], tir.Evaluate(0)).with_attr("sizes", {"a": [1, 2]})
    assert isinstance(func.params, Array)
    assert isinstance(func.buffer_map, Map)
    assert isinstance(func.attrs["sizes"], Map)
    assert not isinstance(func.params, Map)
    assert not isinstance([x], Array)
    assert not isinstance("x", Array)


def test_containers_of_the_ffi() -> None:
    echo = tvm.get_global_func("testing.echo")
    assert isinstance(echo([1, 2]), Array)
    assert isinstance(echo({"a": 1}), Map)
    assert not isinstance(echo([1]), Map)


def test_containers_that_were_saved() -> None:
    loaded = tvm.ir.load_json(tvm.ir.save_json({"a": [1, {"b": 2}]}))
    assert isinstance(loaded, Map)
    assert isinstance(loaded["a"], Array)
    assert isinstance(loaded["a"][1], Map)


def test_they_can_be_made() -> None:
    assert tuple(Array([1, 2])) == (1, 2)
    assert Map({"a": 1})["a"] == 1
    assert isinstance(Array(), Array)
    assert isinstance(Map(), Map)


def test_one_module_has_two_names() -> None:
    assert tvm.container is tvm.ir.container
    assert tvm.container.Array is tvm.ir.Array
