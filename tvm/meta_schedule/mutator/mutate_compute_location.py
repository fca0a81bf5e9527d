"""Another location where a block is computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tvm.ir.module import IRModule
from tvm.tir.schedule import Instruction, Schedule, Trace
from tvm.tir.schedule.primitive.sampling import compute_locations

from .decisions import decided, plain
from .mutator import Mutator

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


_KIND: Final = "SampleComputeLocation"


class MutateComputeLocation(Mutator):
    """Replays the trace to learn which locations are legal, and takes another one."""

    def __init__(self) -> None:
        self._mod: IRModule | None = None

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        self._mod = context.mod

    def apply(self, trace: Trace) -> Trace | None:
        """The trace with another location for one block."""
        found = self._choices(trace)
        if not found:
            return None
        inst, locations = found[self.engine.below(len(found))]
        return trace.with_decision(inst, locations[self.engine.below(len(locations))], True)

    def vary(self, trace: Trace) -> Trace | None:
        """The trace with the location of one block open: a search replays few of its many."""
        found = [inst for inst, _ in decided(trace, _KIND)]
        if not found:
            return None
        return trace.with_decision(found[self.engine.below(len(found))], None, True)

    def _choices(self, trace: Trace) -> list[tuple[Instruction, list[int]]]:
        """The samples of locations that have another legal location, with those."""
        if self._mod is None or not any(inst.kind.name == _KIND for inst in trace.insts):
            return []
        sch = Schedule(self._mod, seed=self.engine.fork(), error_render_level="none")
        found: list[tuple[Instruction, list[int]]] = []

        def note(inst: Instruction, inputs: list[Any], attrs: list[Any], decision: Any) -> Any:
            if inst.kind.name == _KIND:
                locations = compute_locations(sch.state, sch.get_sref(inputs[0]))
                others = [location for location in locations if location != plain(decision)]
                if others:
                    found.append((inst, others))
            return decision

        trace.apply_to_schedule(sch, remove_postproc=True, decision_provider=note)
        return found
