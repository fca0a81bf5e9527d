"""Kernels of a user's own for composite functions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relay.op.test_partner_tables import module, v
from tvm import relay, topi
from tvm.relay import transform
from tvm.relay.dataflow_pattern import is_op, wildcard
from tvm.relay.op.contrib.te_target import lower_composite, relay_to_runtime

pytestmark = pytest.mark.cpu
NAME = "relay.ext.te_mine"


@pytest.fixture
def mine() -> Iterator[None]:
    tvm.register_global_func(NAME, relay_to_runtime(tvm.target.Target("llvm")))
    yield
    tvm.ffi.remove_global_func(NAME)


def partitioned(body: Any) -> Any:
    table = [
        ("te_mine.add_relu", is_op("nn.relu")(is_op("add")(wildcard(), wildcard()))),
        ("te_mine.exp", is_op("exp")(wildcard())),
    ]
    mod = transform.InferType()(module(body))
    for step in (
        transform.MergeComposite(table), transform.AnnotateTarget("te_mine"),
        transform.MergeCompilerRegions(), transform.PartitionGraph(), transform.InferType(),
    ):  # fmt: skip
        mod = step(mod)
    return mod


def test_composites_as_tensor_expressions(mine: None) -> None:
    seen: list[str] = []

    @lower_composite("te_mine.add_relu")
    def add_relu(call: Any, args: list[Any]) -> Any:
        seen.append(call.op.name)
        return topi.nn.relu(topi.add(args[0], args[1]))

    a, b = v("a", 3, 4), v("b", 4)
    mod = partitioned(relay.nn.relu(relay.nn.relu(a + b) + a))
    x, y = np.linspace(-1, 1, 12, dtype="float32").reshape(3, 4), np.ones(4, "float32")
    have = relay.create_executor("graph", mod=mod).evaluate()(x, y).numpy()
    np.testing.assert_allclose(have, np.maximum(np.maximum(x + y, 0) + x, 0))
    assert seen == ["nn.relu", "nn.relu"]


def test_a_composite_without_a_kernel(mine: None) -> None:
    with pytest.raises(tvm.TVMError, match=r"(?s)found: te_mine.exp.*lower_composite"):
        relay.build(partitioned(relay.exp(v("a", 3, 4))), "llvm")
