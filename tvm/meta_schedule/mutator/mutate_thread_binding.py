"""Another number of threads of a block."""

from __future__ import annotations

from tvm.tir.schedule import Instruction, Trace

from .decisions import decided, other_choice, plain
from .mutator import Mutator


class MutateThreadBinding(Mutator):
    """Changes a sample by which a loop was split whose inner part is bound to threadIdx.x."""

    def __init__(self) -> None:
        pass

    def apply(self, trace: Trace) -> Trace | None:
        """The trace with another number of threads."""
        sizes = _thread_sizes(trace)
        found = [
            (inst, decision)
            for inst, decision in decided(trace, "SampleCategorical")
            if any(inst.outputs[0] is size for size in sizes) and len(plain(inst.attrs[1])) > 1
        ]
        if not found:
            return None
        inst, decision = found[self.engine.below(len(found))]
        return trace.with_decision(inst, other_choice(inst, decision, self.engine), True)


def _thread_sizes(trace: Trace) -> list[object]:
    """What loops in two parts were split by, if the inner one is bound to threadIdx.x."""
    splits: dict[object, Instruction] = {}
    found: list[object] = []
    for inst in trace.insts:
        if inst.kind.name == "Split" and len(inst.inputs) == 3:
            splits[inst.outputs[1]] = inst
        elif inst.kind.name == "Bind" and plain(inst.attrs[0]) == "threadIdx.x":
            split = splits.get(inst.inputs[0])
            if split is not None:
                found.append(split.inputs[2])
    return found
