"""Rows of maps, as programs read them."""

from __future__ import annotations

import numpy as np
import pytest

from tvm.error import ArgumentValueError
from tvm.runtime import maps, strings


def test_rows_by_keys() -> None:
    found = maps.vectorize({"a": 1.5, "b": 2.0}, "float32", "b", "c", "a")
    np.testing.assert_array_equal(found.numpy(), np.array([[2, 0, 1.5]], np.float32))
    assert strings.decode(maps.vectorize({1: "one"}, "text", 1, 2)).tolist() == [["one", ""]]
    assert maps.vectorize({}, "int64").shape == (1, 0)


def test_rows_in_the_order_of_keys() -> None:
    np.testing.assert_array_equal(maps.cast({3: 1.9, -2: -1.9}, "int64", -1).numpy(), [[-1, 1]])
    np.testing.assert_array_equal(maps.cast({1: "2.5"}, "float32", 3).numpy(), [[0, 2.5, 0]])
    assert strings.decode(maps.cast({0: 0.1}, "text", -1)).tolist() == [["0.100000"]]


def test_what_cannot_be_cast() -> None:
    for value in ("x", float("nan"), float("inf")):
        with pytest.raises(ArgumentValueError, match="text of a int64"):
            maps.cast({1: value}, "int64", -1)
    with pytest.raises(ArgumentValueError, match="keys of 0 or more"):
        maps.cast({-1: 1.0}, "int64", 2)


def test_maps_of_other_types() -> None:
    held = {"a": 1}
    assert maps.given(held, "x", "text", "float32") is held
    for value in ([1], {"a": "b"}, {1: 1.0}):
        with pytest.raises(TypeError, match="argument 'x'"):
            maps.given(value, "x", "text", "float32")
