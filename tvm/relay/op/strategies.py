"""How an operator may be computed: ways by name, of which the one of the highest level is taken.

    @relay.op.register_strategy("mine")
    def mine(attrs, inputs, out_type, target):
        strategy = relay.op.OpStrategy()
        strategy.add_implementation(compute, schedule, name="mine.generic")
        return strategy

`compute(attrs, inputs, out_type)` gives tensor expressions, which are a user's operator's meaning.
Kernels are scheduled by rules (`tvm.dlight`), so that a `schedule` is asked by nobody but its user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from tvm.error import TVMError
from tvm.ffi.object import Object
from tvm.ir.op import DERIVED, Op, register_op_attr

Compute = Callable[..., Any]


class OpImplementation(Object):
    """One way."""

    def __init__(self, compute: Compute, schedule: Any, name: str, plevel: int) -> None:
        self._compute = compute
        self._schedule = schedule
        self.name = name
        self.plevel = plevel

    def compute(self, attrs: Any, inputs: Sequence[Any], out_type: Any) -> list[Any]:
        """The tensors that a call gives."""
        found = self._compute(attrs, inputs, out_type)
        return list(found) if isinstance(found, (list, tuple)) else [found]

    def schedule(self, attrs: Any, outs: Sequence[Any], target: Any) -> Any:
        """What the schedule function makes of the tensors."""
        with target:
            return self._schedule(attrs, outs, target)


class OpSpecialization(Object):
    """Ways that share a condition; None: always."""

    def __init__(self, condition: Any = None) -> None:
        self.condition = condition
        self.implementations: list[OpImplementation] = []


class OpStrategy(Object):
    """All ways of an operator."""

    def __init__(self) -> None:
        self.specializations: list[OpSpecialization] = []

    def add_implementation(
        self, compute: Compute, schedule: Any, name: str = "default", plevel: int = 10
    ) -> None:
        """One way more."""
        if not self.specializations:
            self.specializations.append(OpSpecialization())
        made = OpImplementation(compute, schedule, name, plevel)
        self.specializations[0].implementations.append(made)


def register_compute(op_name: str, compute: Compute | None = None, level: int = 10) -> Any:
    """Set the rule `f(attrs, inputs, out_type)` that gives an operator's tensors."""
    return register_op_attr(op_name, "FTVMCompute", compute, level)


def register_strategy(op_name: str, fstrategy: Any = None, level: int = 10) -> Any:
    """Set the rule `f(attrs, inputs, out_type, target)` that gives an `OpStrategy`."""
    return register_op_attr(op_name, "FTVMStrategy", fstrategy, level)


def register_schedule(op_name: str, schedule: Any, level: int = 10) -> Any:
    """A strategy of the compute rule that is registered, with a schedule function."""

    def strategy(attrs: Any, inputs: Any, out_type: Any, target: Any) -> OpStrategy:
        compute = Op.get(op_name).get_attr("FTVMCompute")
        if compute is None:
            raise TVMError(f"FTVMCompute of {op_name} is not set; legal: register_compute first")
        made = OpStrategy()
        made.add_implementation(compute, schedule, f"{op_name}.generic")
        return made

    return register_strategy(op_name, strategy, level)


def _as_they_are(attrs: Any, outs: Any, target: Any) -> Any:
    return outs


def register_injective_schedule(op_name: str, level: int = 10) -> Any:
    """A strategy of the compute rule; rules schedule it."""
    return register_schedule(op_name, _as_they_are, level)


def register_broadcast_schedule(op_name: str, level: int = 10) -> Any:
    """As `register_injective_schedule`."""
    return register_injective_schedule(op_name, level)


def register_reduce_schedule(op_name: str, level: int = 10) -> Any:
    """As `register_injective_schedule`."""
    return register_injective_schedule(op_name, level)


def register_shape_func(
    op_name: str, data_dependent: bool | Sequence[bool], shape_func: Any = None, level: int = 10
) -> Any:
    """Set the rule `f(attrs, inputs, out_ndims)` for shapes that are known when a program runs."""
    flags = data_dependent if isinstance(data_dependent, list) else [data_dependent]
    register_op_attr(op_name, "TShapeDataDependent", flags, level)
    return register_op_attr(op_name, "FShapeFunc", shape_func, level)


def _known_strategy(op: Op) -> Any:
    rules = import_module("tvm.relay.op.strategy.generic")  # stands above, and few ask for it
    return rules.known_strategy(op)


DERIVED["FTVMStrategy"] = _known_strategy


def has_users_rule(op: Any) -> bool:
    """Whether a user gave the operator a strategy or a compute function."""
    return op.own_attr("FTVMStrategy") is not None or op.own_attr("FTVMCompute") is not None


def users_implementations(
    op: Op, attrs: Any, inputs: Sequence[Any], out_type: Any, target: Any
) -> list[OpImplementation]:
    """All ways of an operator for a call, by the rule that a user gave it."""
    rule = op.own_attr("FTVMStrategy")
    if rule is not None:
        return implementations(rule, attrs, inputs, out_type, target)
    compute = op.own_attr("FTVMCompute")
    return [OpImplementation(compute, _as_they_are, f"{op.name}.generic", 10)]


def implementations(
    rule: Compute, attrs: Any, inputs: Sequence[Any], out_type: Any, target: Any
) -> list[OpImplementation]:
    """All ways of the strategy that `rule` makes."""
    with target:
        made = rule(attrs, inputs, out_type, target)
    return [way for group in made.specializations for way in group.implementations]


def best_implementation(ways: Sequence[OpImplementation]) -> OpImplementation:
    """The way of the highest level; the first of several."""
    if not ways:
        raise TVMError("No valid implementation was found; legal: a strategy with one or more")
    return max(ways, key=lambda way: way.plevel)
