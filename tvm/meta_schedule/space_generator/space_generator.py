"""The form of all space generators, and the parts of a search that they hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from tvm.ir.module import IRModule
from tvm.meta_schedule.base import Component, unknown_kind
from tvm.meta_schedule.mutator import Mutator
from tvm.meta_schedule.mutator.defaults import default_mutators
from tvm.meta_schedule.postproc import Postproc
from tvm.meta_schedule.postproc.defaults import default_postprocs
from tvm.meta_schedule.rule_kind import rule_kind
from tvm.meta_schedule.schedule_rule import ScheduleRule
from tvm.meta_schedule.schedule_rule.defaults import default_rules
from tvm.tir.schedule import Schedule
from tvm.tir.schedule.random_engine import RandomEngine

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext

FROM_TARGET = "from-target"


class SpaceGenerator(Component):
    """Makes schedules with open decisions; knows the rules, postprocessing and mutations of them.

    A part given as "from-target" is the default of the context's target; as None or the name of a
    kind such as "llvm", what that says.
    """

    ScheduleFnType = Callable[[Schedule], Any]

    def __init__(
        self,
        sch_rules: Any = FROM_TARGET,
        postprocs: Any = FROM_TARGET,
        mutator_probs: Any = FROM_TARGET,
    ) -> None:
        self.sch_rules = _parts(sch_rules, default_rules)
        self.postprocs = _parts(postprocs, default_postprocs)
        self.mutator_probs: dict[Mutator, float] | None = _table(mutator_probs)
        self._engine = RandomEngine(-1)

    # A derived class may not call our __init__; these stand in for what it would set.
    sch_rules: list[ScheduleRule] | None = None
    postprocs: list[Postproc] | None = None

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        """Take what is open from the target, and tell all parts of the context."""
        self._engine = RandomEngine(context.fork_seed())
        if context.target is not None:
            kind = rule_kind(context.target)
            if self.sch_rules is None:
                self.sch_rules = default_rules(kind, context.target)
            if self.postprocs is None:
                self.postprocs = default_postprocs(kind)
            if self.mutator_probs is None:
                self.mutator_probs = default_mutators(kind)
        for part in self._all_parts():
            part._initialize_with_tune_context(context)

    def _all_parts(self) -> list[Any]:
        return [*(self.sch_rules or ()), *(self.postprocs or ()), *(self.mutator_probs or ())]

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The schedules that may be good ones, with what is to be decided in their traces."""
        self._missing("generate_design_space")

    def clone(self) -> SpaceGenerator:
        """Another one that can belong to another context."""
        self._missing("clone")

    def _cloned_parts(self) -> dict[str, Any]:
        mutators = self.mutator_probs
        return {
            "sch_rules": _cloned(self.sch_rules),
            "postprocs": _cloned(self.postprocs),
            "mutator_probs": FROM_TARGET
            if mutators is None
            else {mutator.clone(): prob for mutator, prob in mutators.items()},
        }

    @staticmethod
    def create(kind: Any = "post-order-apply", *args: Any, **kwargs: Any) -> SpaceGenerator:
        """A space generator by kind, or of a function that schedules."""
        from .post_order_apply import PostOrderApply  # derived from this class
        from .schedule_fn import ScheduleFn
        from .space_generator_union import SpaceGeneratorUnion

        if callable(kind):
            return ScheduleFn(kind, *args, **kwargs)
        if kind == "post-order-apply":
            return PostOrderApply(*args, **kwargs)
        if kind == "union":
            return SpaceGeneratorUnion(*args, **kwargs)
        if isinstance(kind, str):
            raise unknown_kind("SpaceGenerator", kind, ("post-order-apply", "union"))
        return ScheduleFn(kind, *args, **kwargs)


class PySpaceGenerator(SpaceGenerator):
    """Derive from it, define `generate_design_space`, and decorate with `derived_object`."""

    def __init__(
        self, sch_rules: Any = None, postprocs: Any = None, mutator_probs: Any = None
    ) -> None:
        super().__init__(sch_rules or (), postprocs or (), mutator_probs or {})

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        self._missing("initialize_with_tune_context")

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """Whoever derives says how."""
        self._missing("generate_design_space")


create = SpaceGenerator.create


def _parts(given: Any, defaults: Callable[[str], Any]) -> Any:
    if given is None or given == FROM_TARGET:
        return None
    return defaults(given) if isinstance(given, str) else list(given)


def _table(given: Any) -> dict[Mutator, float] | None:
    if given is None or given == FROM_TARGET:
        return None
    if isinstance(given, str):
        return default_mutators(given)
    assert isinstance(given, Mapping), "mutator_probs: a dict of mutators, or the name of a kind"
    return {mutator: float(prob) for mutator, prob in given.items()}


def _cloned(parts: Sequence[Any] | None) -> Any:
    return FROM_TARGET if parts is None else [part.clone() for part in parts]
