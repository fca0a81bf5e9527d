"""Python values as the runtime's own."""

from __future__ import annotations

import pytest

from tvm import runtime, tir

pytestmark = pytest.mark.pure


def test_values_are_converted() -> None:
    assert isinstance(runtime.convert(lambda x: x + 1), runtime.PackedFunc)
    assert runtime.convert(lambda x: x + 1)(4) == 5
    assert list(runtime.convert([1, 2, 3])) == [1, 2, 3]
    assert runtime.convert("text") == "text"
    assert runtime.ShapeTuple((2, 3)) == (2, 3)


def test_nodes_stay_what_they_are() -> None:
    x = tir.Var("x", "int32")
    assert runtime.convert(x) is x
    assert runtime.convert([x, 1])[0] is x


def test_nodes_stay_themselves_in_tuples_and_maps() -> None:
    a, b = tir.Var("a", "int32"), tir.Var("b", "int32")
    array = runtime.convert([a, [b, 1]])
    assert array[0] is a
    assert array[1][0] is b
    table = runtime.convert({a: 2, b: [a]})
    assert a in table
    assert a + 1 not in table
    assert table[b][0] is a
    assert len(dict(table.items())) == 2


def test_devices_and_data_types_stay_what_they_are() -> None:
    for value in (runtime.cpu(0), runtime.DataType("float16")):
        assert runtime.convert(value) is value
        assert list(runtime.convert([value])) == [value]
