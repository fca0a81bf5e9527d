"""Apply rules to the functions of a module."""

from __future__ import annotations

import logging
from typing import Final, NamedTuple

from tvm.ir.module import IRModule
from tvm.ir.transform import ModulePass, PassContext, PassInfo
from tvm.support.checkpoint import checkpoint
from tvm.support.dtype import DataType
from tvm.support.notes import note, watched
from tvm.support.progress import advance
from tvm.target.target import Target
from tvm.tir.children import statements
from tvm.tir.function import PrimFunc
from tvm.tir.index_dtype import with_index_dtype
from tvm.tir.schedule import Schedule, ScheduleError
from tvm.tir.stmt import Block, BlockRealize

from .schedule_rule import ScheduleRule, candidates, rule_name

SCHEDULED = "tir.is_scheduled"
_SAID: Final = "Error message: "
_LOG: Final = logging.getLogger("tvm.dlight")


class Scheduled(NamedTuple):
    """What is told of a function that got its schedule: from which rule, and who let it pass.

    A rule that began and failed is `refused` with its reason: `"GEMM (why)"`.
    """

    func: PrimFunc
    made: PrimFunc
    schedule: Schedule
    rule: str
    refused: tuple[str, ...]


class ApplyDefaultSchedule(ModulePass):
    """Schedule each function by the first rule that takes it; others stay as they are.

    Functions that were scheduled before (attribute `tir.is_scheduled`) are left alone. The target
    is that of the function, or else the current one.
    """

    def __init__(self, *rules: ScheduleRule) -> None:
        super().__init__(self.transform_module, PassInfo(0, "ApplyDefaultSchedule"))
        self.rules = list(rules)

    def transform_module(self, mod: IRModule, _: PassContext) -> IRModule:
        """The module with scheduled functions."""
        functions = dict(mod.functions.items())
        waiting = {v: f for v, f in mod.functions.items()
                   if isinstance(f, PrimFunc) and not is_scheduled(f)}  # fmt: skip
        for number, (gvar, func) in enumerate(waiting.items()):
            advance(f"schedule {gvar.name_hint}", number, len(waiting))
            found = self.scheduled(func, target_of(func))
            if found is not None:
                functions[gvar] = found
        return mod.with_functions(functions)

    def scheduled(self, func: PrimFunc, target: Target) -> PrimFunc | None:
        """The function as the first fitting rule schedules it; None where none fits."""
        return first_schedule(func, target, self.rules)


def is_scheduled(func: PrimFunc) -> bool:
    """True if a schedule was applied already."""
    return bool(func.attrs.get(SCHEDULED, False))


def target_of(func: PrimFunc) -> Target:
    """The target of a function: its own, or the current one."""
    own = func.attrs.get("target")
    if isinstance(own, Target):
        return own
    current = Target.current(allow_none=False)
    assert current is not None, "current() raises when there is none"
    return current


def first_schedule(
    func: PrimFunc, target: Target, rules: list[ScheduleRule]
) -> PrimFunc | None:
    """The function as the first fitting rule schedules it, or None; one without blocks stays."""
    found = scheduled_by_first(func, target, rules)
    return None if found is None else found.made


def scheduled_by_first(
    func: PrimFunc, target: Target, rules: list[ScheduleRule]
) -> Scheduled | None:
    """What the first fitting rule makes of the function, with the schedule that it made."""
    if not isinstance(func.body, BlockRealize):
        return None
    func = _with_one_index_type(func)
    refused: list[str] = []
    for rule in rules:
        checkpoint(rule_name(rule))
        if not rule.is_target_available(target):
            continue
        try:
            found = candidates(rule.apply(func, target, False))
        except ScheduleError as err:
            # the rule took the function for one of its own; the next may do better
            name = func.attrs.get("global_symbol", "a function")
            _LOG.debug("%s does not schedule %s: %s", rule_name(rule), name, err)
            refused.append(f"{rule_name(rule)} ({_cause(err)})")
            continue
        if found:
            made = _only_function(found[0]).with_attr(SCHEDULED, True)
            told = Scheduled(func, made, found[0], rule_name(rule), tuple(refused))
            if watched():
                note(told)
            return told
        refused.append(rule_name(rule))
    return None


def _cause(err: ScheduleError) -> str:
    """What the error says without the program."""
    lines = [line.strip() for line in str(err).splitlines() if line.strip()] or ["it gave up"]
    said = [line for line in lines if line.startswith(_SAID)]
    return (said or lines)[0].removeprefix(_SAID)


def _with_one_index_type(func: PrimFunc) -> PrimFunc:
    """The function, all its indices int64 if a block counts in several types.

    Fused loops, tiles and numbers that a rule finds when the kernel runs need one type; casts
    between two of them would hide from a rule that an index is a variable.
    """
    for node in statements(func.body, Block):
        if len({iv.var.dtype for iv in node.iter_vars}) > 1:
            return with_index_dtype(func, DataType("int64"))
    return func


def _only_function(sch: Schedule) -> PrimFunc:
    (func,) = sch.mod.functions.values()
    assert isinstance(func, PrimFunc), "rules schedule one TIR function"
    return func
