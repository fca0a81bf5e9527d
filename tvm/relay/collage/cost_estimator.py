"""What a kernel costs: measured, by a function of one's own, or by counting its calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tvm.error import InternalError, TVMError, message
from tvm.ffi.object import Object
from tvm.ffi.registry import get_global_func
from tvm.ir.module import IRModule
from tvm.ir.op import Op
from tvm.relay.expr import Call
from tvm.relay.function import Function
from tvm.relay.traverse import post_order
from tvm.target import Target

_MEASURE: Final = "tvm.relay.collage.estimate_seconds"
_LESS_FOR_EACH: Final = 0.9  # of what the call before it in the same kernel costs


class CostEstimator(Object):
    """Seconds of a module's main, measured on this machine."""

    _name = _MEASURE

    def estimate(self, mod: IRModule, target: Target) -> float:
        """The cost of main; whatever is not finite is none."""
        func = get_global_func(self._name, allow_missing=True)
        if func is None:
            raise InternalError(
                message("no such estimator", found=self._name, legal="a registered function")
            )
        return float(func(mod, target))


class CustomCostEstimator(CostEstimator):
    """What a registered function (module, target) gives."""

    def __init__(self, py_fn_estimator: str = "tvm.relay.collage.estimate_seconds_custom") -> None:
        self._name = py_fn_estimator


class MockCostEstimator(CostEstimator):
    """For tests: a price for each kind of target, less for each further call in a kernel."""

    def __init__(self, target_costs: Mapping[str, int], max_estimates: int = 0) -> None:
        if not isinstance(target_costs, Mapping):
            raise TVMError(
                message(
                    "MockCostEstimator: no costs of targets",
                    found=repr(target_costs), legal='{"llvm": 2, "cuda": 1}',
                )
            )  # fmt: skip
        self._costs = {str(kind): int(cost) for kind, cost in target_costs.items()}
        self._left = int(max_estimates) or None

    def estimate(self, mod: IRModule, target: Target) -> float:
        """The price of the target times 1 + 0.9 + 0.81 + ... for the calls of operators."""
        if self._left is not None:
            if self._left == 0:
                raise InternalError(
                    message("MockCostEstimator: too many estimates", legal="max_estimates of them")
                )
            self._left -= 1
        if target.kind.name not in self._costs:
            raise InternalError(
                message(
                    f"MockCostEstimator: no cost of target {target.kind.name}",
                    found=", ".join(sorted(self._costs)), legal="a cost for each kind",
                )
            )  # fmt: skip
        calls = sum(
            isinstance(node, Call) and isinstance(node.op, Op)
            for func in mod.functions.values() if isinstance(func, Function)
            for node in post_order(func)
        )  # fmt: skip
        price, total = float(self._costs[target.kind.name]), 0.0
        for _ in range(calls):
            total += price
            price *= _LESS_FOR_EACH
        return total

