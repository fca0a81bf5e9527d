"""Helpers for tests of spaces: make them, and compare them with expected modules."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.meta_schedule.schedule_rule import ScheduleRule
from tvm.meta_schedule.space_generator import PostOrderApply
from tvm.meta_schedule.tune_context import TuneContext
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Instruction, Schedule, Trace
from tvm.tir.schedule.testing import (
    assert_structural_equal_ignore_global_symbol,
    verify_trace_roundtrip,
)

Decisions = Sequence[tuple[str, Any]]  # kind of sample and what it decides, in order


def get_rules(kind: str, types: type | tuple[type, ...]) -> list[ScheduleRule]:
    """The default rules of a kind that are of some types."""
    return [rule for rule in ScheduleRule.create(kind) if isinstance(rule, types)]


def structural_equal_no_gs(mod1: IRModule, mod2: IRModule) -> bool:
    """True if two modules are equal but for the global symbols of their functions."""
    return structural_equal(_without_symbols(mod1), _without_symbols(mod2))


def _without_symbols(mod: IRModule) -> IRModule:
    table = {
        gvar: f.without_attr("global_symbol") if isinstance(f, PrimFunc) else f
        for gvar, f in mod.functions.items()
    }
    return mod.with_functions(table)


def generate_design_space(
    kind: str,
    mod: IRModule,
    target: Target,
    types: type | tuple[type, ...] | None,
    sch_rules: list[ScheduleRule] | None = None,
) -> list[Schedule]:
    """The space that some default rules, or those given, make of a module."""
    if sch_rules is None:
        assert types is not None, "types of rules, or rules"
        sch_rules = get_rules(kind, types)
    else:
        assert types is None, "types of rules or rules, not both"
    space = PostOrderApply(sch_rules=sch_rules, postprocs=[], mutator_probs={})
    context = TuneContext(mod=mod, target=target, space_generator=space, task_name="test")
    return context.generate_design_space()


def check_sketches(
    mod: IRModule,
    sketches: Sequence[Schedule],
    expected_mods: Sequence[IRModule | PrimFunc],
    expected_decisions: Sequence[Decisions],
    *,
    debug_mask: Any = "all",
) -> None:
    """Raise unless each expected module is one of the sketches with its decisions."""
    assert len(expected_mods) == len(expected_decisions), "decisions for each expected module"
    assert len(sketches) == len(expected_mods), f"{len(sketches)} vs {len(expected_mods)}"
    rest = list(sketches)
    for number, (expected, decisions) in enumerate(zip(expected_mods, expected_decisions)):
        module = expected if isinstance(expected, IRModule) else IRModule({"main": expected})
        found = _matching(mod, rest, module, decisions, debug_mask)
        if found is None:
            raise AssertionError(f"Expected sketch #{number} doesn't exist. Mod:\n{module}")
        rest.pop(found)


def _matching(
    mod: IRModule, sketches: Sequence[Schedule], expected: IRModule, decisions: Decisions, mask: Any
) -> int | None:
    for number, sketch in enumerate(sketches):
        decided = _decide(sketch.trace, decisions)
        if decided is None:
            continue
        made = Schedule(mod, debug_mask=mask)
        Trace(sketch.trace.insts, decided).apply_to_schedule(made, remove_postproc=True)
        if structural_equal_no_gs(made.mod, expected):
            verify_trace_roundtrip(sch=made, mod=mod, debug_mask=mask, text_format="json")
            return number
    return None


def _decide(trace: Trace, decisions: Decisions) -> dict[Instruction, Any] | None:
    """The decisions for samples of a trace, those of other kinds skipped; None if some are left."""
    decided: dict[Instruction, Any] = {}
    for inst in trace.insts:
        if len(decided) < len(decisions) and inst.kind.name == decisions[len(decided)][0]:
            decided[inst] = decisions[len(decided)][1]
    return decided if len(decided) == len(decisions) else None


def print_sketches(sketches: Sequence[Schedule]) -> None:
    """Print each sketch, with what was decided, as the rows of an expectation."""
    for number, sketch in enumerate(sketches):
        print(f"Sketch {number}: #lines = {len(str(sketch.mod).splitlines())}")
        print(sketch.mod.script())
        for inst in sketch.trace.insts:
            if inst in sketch.trace.decisions:
                print(f'("{inst.kind.name}", {sketch.trace.decisions[inst]}),')


__all__ = [
    "assert_structural_equal_ignore_global_symbol", "check_sketches", "generate_design_space",
    "get_rules", "print_sketches", "structural_equal_no_gs",
]  # fmt: skip
