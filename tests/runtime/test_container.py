"""The FFI's shapes and texts under the runtime's names."""

from __future__ import annotations

import importlib

import pytest

import tvm
from tvm.runtime import container

pytestmark = pytest.mark.pure


def test_names() -> None:
    assert container.ShapeTuple is tvm.runtime.ShapeTuple
    assert tuple(container.ShapeTuple([3, 1])) == (3, 1)
    assert isinstance(container.String("a"), str)
    assert tvm.runtime.object_generic.const(1).dtype == "int32"
    assert tvm.runtime.object_generic.ObjectConvertible is tvm.runtime.ObjectConvertible


def test_the_module_of_devices_hides_no_function() -> None:
    names = importlib.import_module("tvm.runtime.device")
    assert names.Device is tvm.runtime.Device
    assert names.enabled("llvm")
    assert names.num_threads() == tvm.runtime.num_threads()
    assert tvm.runtime.device("cpu", 0) == tvm.cpu(0)


def test_a_shape_equals_what_a_function_returns() -> None:
    echo = tvm.get_global_func("testing.echo")
    assert echo(container.ShapeTuple([3, 1])) == container.ShapeTuple([3, 1])


def test_fields_with_a_tag() -> None:
    made = container.ADT(3, [1, "a"])
    assert (made.tag, made.fields, len(made), made[1]) == (3, [1, "a"], 2, "a")
    assert container.tuple_object([1, 2]) == [1, 2]
    assert container.tuple_object().tag == 0
