"""Costs by a function of one's own, and by counting calls."""

from __future__ import annotations

import pytest

import tvm
from tvm import relay
from tvm.error import InternalError, TVMError
from tvm.relay.collage import CustomCostEstimator, MockCostEstimator

pytestmark = pytest.mark.pure

LLVM = tvm.target.Target("llvm")


def chain(calls: int) -> tvm.IRModule:
    x = body = relay.var("x", shape=(2,))
    for _ in range(calls):
        body = relay.nn.relu(body)
    return tvm.IRModule.from_expr(relay.Function([x], body))


def test_further_calls_cost_less() -> None:
    estimator = MockCostEstimator({"llvm": 10})
    assert [estimator.estimate(chain(n), LLVM) for n in range(4)] == [0, 10, 19, 27.1]


def test_only_so_many_estimates() -> None:
    estimator = MockCostEstimator({"llvm": 1}, 1)
    estimator.estimate(chain(1), LLVM)
    with pytest.raises(InternalError, match="too many"):
        estimator.estimate(chain(1), LLVM)


def test_a_function_of_ones_own() -> None:
    tvm.register_global_func("tests.relay.collage.two", lambda mod, target: 2, override=True)
    assert CustomCostEstimator("tests.relay.collage.two").estimate(chain(1), LLVM) == 2.0
    tvm.ffi.registry.remove_global_func("tests.relay.collage.two")
    with pytest.raises(InternalError, match="no such estimator"):
        CustomCostEstimator("tests.relay.collage.two").estimate(chain(1), LLVM)


def test_costs_are_a_map() -> None:
    with pytest.raises(TVMError, match="no costs"):
        MockCostEstimator(1)
