"""Executors by kind, and texts of what they are given."""

from __future__ import annotations

import re

import numpy as np
import pytest

import tvm
from tvm import relay

pytestmark = pytest.mark.pure
ONES = np.ones((3, 2), "float32")


def open_rows(pair: bool) -> tvm.IRModule:
    x = relay.var("x", shape=(relay.Any(), 2))
    y = relay.exp(x)
    return tvm.IRModule.from_expr(relay.Function([x], relay.Tuple([y, y]) if pair else y))


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize(("kind", "words"), [("graph", "Graph"), ("aot", "AOT")])
def test_results_of_open_extents_are_refused(kind: str, words: str, pair: bool) -> None:
    with pytest.raises(ValueError, match=f"{words} Executor only supports static graphs") as info:
        relay.create_executor(kind, mod=open_rows(pair)).evaluate()
    assert re.search(r"found: .*Tensor\[\(\?, 2\), float32\]", str(info.value))


@pytest.mark.parametrize("kind", ["vm", "debug"])
def test_other_executors_take_open_extents(kind: str) -> None:
    found = relay.create_executor(kind, mod=open_rows(False)).evaluate()(ONES)
    np.testing.assert_allclose(found.numpy(), np.exp(ONES), rtol=1e-6)


@pytest.mark.parametrize("kind", ["graph", "aot"])
def test_open_extents_on_the_way_are_no_matter(kind: str) -> None:
    x = relay.var("x", shape=(relay.Any(), 2))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.sum(x, 0)))
    found = relay.create_executor(kind, mod=mod).evaluate()(ONES)
    np.testing.assert_allclose(found.numpy(), [3, 3])


def test_tuple_types_read_as_relay() -> None:
    row = relay.TensorType((2,), "int8")
    pair = relay.TupleType([row, relay.TupleType([row])])
    assert str(pair) == repr(pair) == "(Tensor[(2), int8], (Tensor[(2), int8],))"
    assert str(relay.TupleType([relay.TypeVar("a")])) == "(a,)"


def test_places_tell_their_device_type() -> None:
    assert tvm.target.VirtualDevice(tvm.cpu()).device_type == 1
    assert tvm.target.VirtualDevice(target=tvm.target.Target("cuda")).device_type == 2
    assert tvm.target.VirtualDevice().device_type == -1
