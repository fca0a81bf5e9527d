"""Several spaces as one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tvm.ir.module import IRModule
from tvm.tir.schedule import Schedule

from .space_generator import FROM_TARGET, SpaceGenerator

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class SpaceGeneratorUnion(SpaceGenerator):
    """The schedules of all generators, one after the other."""

    def __init__(
        self,
        space_generators: Sequence[SpaceGenerator],
        sch_rules: Any = FROM_TARGET,
        postprocs: Any = FROM_TARGET,
        mutator_probs: Any = FROM_TARGET,
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.space_generators = list(space_generators)

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        """Tell the parts, and the generators."""
        super()._initialize_with_tune_context(context)
        for generator in self.space_generators:
            generator._initialize_with_tune_context(context)

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """The schedules of all generators."""
        return [s for part in self.space_generators for s in part.generate_design_space(mod)]

    def clone(self) -> SpaceGeneratorUnion:
        """Another one of clones."""
        clones = [generator.clone() for generator in self.space_generators]
        return SpaceGeneratorUnion(clones, **self._cloned_parts())
