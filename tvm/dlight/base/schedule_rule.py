"""The form of a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Union

from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule

Space = Union[None, Schedule, "list[Schedule]"]
RuleBody = Callable[[PrimFunc, Target, bool], Space]


class ScheduleRule:
    """Schedules functions of one shape; returns None for all others."""

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Space:
        """The scheduled function, several candidates if `tunable`, or None."""
        raise NotImplementedError(type(self).__name__)  # abstract: every rule overrides it

    @staticmethod
    def from_callable(name: str) -> Callable[[RuleBody], ScheduleRule]:
        """A rule made of a function `(func, target, tunable)`."""

        def decorate(body: RuleBody) -> ScheduleRule:
            return _FunctionRule(name, body)

        return decorate

    def is_target_available(self, target: Target) -> bool:
        """True if the rule schedules for this target."""
        return True


class _FunctionRule(ScheduleRule):
    def __init__(self, name: str, body: RuleBody) -> None:
        self.name = name
        self._body = body

    def apply(self, func: PrimFunc, target: Target, tunable: bool) -> Space:
        return self._body(func, target, tunable)

    def __repr__(self) -> str:
        return f"DefaultScheduleRule({self.name})"


def rule_name(rule: ScheduleRule) -> str:
    """The name of a rule: that of its function, or of its class."""
    return rule.name if isinstance(rule, _FunctionRule) else type(rule).__name__


def candidates(space: Space) -> Sequence[Schedule]:
    """The schedules that a rule returned."""
    if space is None:
        return ()
    return [space] if isinstance(space, Schedule) else space
