"""A space made by a function of the user."""

from __future__ import annotations

from typing import Any

from tvm.ir.module import IRModule
from tvm.tir.schedule import Schedule

from .space_generator import FROM_TARGET, SpaceGenerator


class ScheduleFn(SpaceGenerator):
    """Calls `sch_fn(sch)`: it changes the schedule, or returns one or several."""

    def __init__(
        self,
        sch_fn: SpaceGenerator.ScheduleFnType,
        sch_rules: Any = FROM_TARGET,
        postprocs: Any = FROM_TARGET,
        mutator_probs: Any = FROM_TARGET,
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.sch_fn = sch_fn

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """What the function makes of the module."""
        sch = Schedule(mod, seed=self._engine.fork(), debug_mask="none")
        made = self.sch_fn(sch)
        if made is None:
            return [sch]
        if isinstance(made, Schedule):
            return [made]
        if isinstance(made, (list, tuple)):
            for part in made:
                _require_schedule(part)
            return list(made)
        raise _no_schedule(made)

    def clone(self) -> ScheduleFn:
        """Another one of the same function."""
        return ScheduleFn(self.sch_fn, **self._cloned_parts())


def _require_schedule(value: object) -> None:
    if not isinstance(value, Schedule):
        raise _no_schedule(value)


def _no_schedule(value: object) -> TypeError:
    return TypeError(
        f"Unable to recognize return type: {type(value).__name__}; legal: a schedule function "
        "returns None, a Schedule, or a list of them"
    )
