"""Another number of steps up to which loops are unrolled."""

from __future__ import annotations

from tvm.meta_schedule.structure import UNROLL_EXPLICIT, UNROLL_IMPLICIT
from tvm.tir.schedule import Trace

from .decisions import annotated, decided, other_choice, plain
from .mutator import Mutator


class MutateUnroll(Mutator):
    """Changes the sample that an annotation of unrolling takes its value from."""

    def __init__(self) -> None:
        pass

    def apply(self, trace: Trace) -> Trace | None:
        """The trace with another number of steps."""
        used = [value for _, value in annotated(trace, [UNROLL_EXPLICIT, UNROLL_IMPLICIT])]
        found = [
            (inst, decision)
            for inst, decision in decided(trace, "SampleCategorical")
            if any(inst.outputs[0] is value for value in used) and len(plain(inst.attrs[1])) > 1
        ]
        if not found:
            return None
        inst, decision = found[self.engine.below(len(found))]
        return trace.with_decision(inst, other_choice(inst, decision, self.engine), True)
