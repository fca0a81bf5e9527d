"""Tensors stretched to a shape, and summed back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relay.run import value_of
from tvm import relay
from tvm.error import DiagnosticError
from tvm.relay.op.stretches import fixed_ints

pytestmark = pytest.mark.pure


def array(*shape: int) -> Any:
    return np.arange(np.prod(shape), dtype="float32").reshape(shape)


def test_stretched_to_another() -> None:
    x, like = array(3, 1), array(2, 3, 4)
    found, kind = value_of(relay.broadcast_to_like, [x, like])
    assert [int(extent) for extent in kind.shape] == [2, 3, 4]
    assert (found == np.broadcast_to(x, (2, 3, 4))).all()


def test_summed_back() -> None:
    x, like = array(2, 3, 4), array(3, 1)
    found, _ = value_of(relay.collapse_sum_like, [x, like])
    assert (found == x.sum((0, 2)).reshape(3, 1)).all()


@pytest.mark.parametrize("make", [relay.broadcast_to_like, relay.collapse_sum_like])
def test_both_are_of_one_type(make: Any) -> None:
    x, like = relay.var("x", shape=(4,)), relay.var("y", shape=(4,), dtype="int32")
    with pytest.raises(DiagnosticError, match="float32 and int32"):
        relay.transform.InferTypeLocal(make(x, like))


def test_numbers_are_known() -> None:
    assert fixed_ints(relay.const([2, 3]), "the shape") == (2, 3)
    with pytest.raises(TypeError, match="known only at run time"):
        fixed_ints(relay.var("x", shape=(2,)), "the shape")
