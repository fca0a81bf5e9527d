"""What the rules make of a module without a search, as a candidate to be measured.

A record holds a trace, and a rule may change a program by other means than primitives: the
candidate is what the trace makes of the module, and there is none where that is another program.
"""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING

from tvm.backend import makes_host_code
from tvm.dlight.base.transform import Scheduled, scheduled_by_first
from tvm.dlight.cpu import default_rules
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_equal
from tvm.meta_schedule.measure_candidate import MeasureCandidate
from tvm.meta_schedule.space_generator import PostOrderApply
from tvm.meta_schedule.space_generator.post_order_apply import CUSTOM
from tvm.target.kind import CPU
from tvm.target.target import Target
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements
from tvm.tir.schedule import Schedule, Trace
from tvm.tir.stmt import Block

from .trace_replay import candidate

if TYPE_CHECKING:
    from tvm.meta_schedule.tune_context import TuneContext

_LOGGER = logging.getLogger(__name__)


def rule_candidate(context: TuneContext) -> MeasureCandidate | None:
    """The schedule of the first fitting rule for the target, of which the time is not known yet;
    None where the user chose the space, where no rule fits, or where no trace tells what it does.
    """
    space, mod, target = context.space_generator, context.mod, context.target
    if not (isinstance(space, PostOrderApply) and space.is_of_target):
        return None
    if mod is None or target is None or context.known_s is not None:
        return None
    if not makes_host_code(target) or target.kind.device_type != CPU:
        return None
    func = _only_function(mod)
    if func is None or _is_users(func):
        return None
    try:
        made = scheduled_by_rule(func, target)
        sch = None if made is None else _replayed(mod, made)
    except TVMError as err:
        _LOGGER.debug("no schedule by rule: %s", err)
        return None
    return None if sch is None else candidate(sch)


def _only_function(mod: IRModule) -> PrimFunc | None:
    functions = list(mod.functions.values())
    only = functions[0] if len(functions) == 1 else None
    return only if isinstance(only, PrimFunc) else None


def _is_users(func: PrimFunc) -> bool:
    """Whether the user has a rule for one of the blocks."""
    return any(CUSTOM in node.annotations for node in statements(func.body, Block))


def scheduled_by_rule(func: PrimFunc, target: Target) -> Scheduled | None:
    """A kernel as the first fitting rule for a CPU schedules it; None where none fits."""
    with target:
        return scheduled_by_first(func, target, default_rules())


def _replayed(mod: IRModule, made: Scheduled) -> Schedule | None:
    """The stored trace of a rule's schedule applied to the module, if it makes the same program."""
    sch = Schedule(mod, error_render_level="none")
    Trace.apply_json_to_schedule(json.dumps(made.schedule.trace.as_json()), sch)
    replayed = _only_function(sch.mod)
    assert replayed is not None, "a schedule keeps the functions"
    # rules leave notes in attributes, which say nothing of the program
    same = structural_equal(replayed.with_attrs(made.made.attrs), made.made)
    return sch if same else None
