"""Schedule a program with the trace of another one that has the same anchor block.

    conv2d                       tuned: the trace
    conv2d -> add -> relu        scheduled: the trace for conv2d; add and relu move into its tiles

What the trace does to blocks that the program lacks is left out.
"""

from __future__ import annotations

from typing import Any

from tvm.error import TVMError, message
from tvm.target.target import Target
from tvm.tir.analysis import find_anchor_block
from tvm.tir.block_scope import StmtSRef
from tvm.tir.function import PrimFunc
from tvm.tir.functor import statements
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, Trace
from tvm.tir.schedule.instruction import Instruction
from tvm.tir.schedule.primitive.compute_inline import can_compute_inline
from tvm.tir.schedule.primitive.reverse_compute_inline import can_reverse_compute_inline
from tvm.tir.schedule.trace import translate
from tvm.tir.stmt import Block

from .rule_kind import limit
from .schedule_rule import AutoBind, AutoInline, ScheduleRule
from .structure import is_spatial

_THREADS = [32, 64, 128, 256, 512, 1024]


def schedule_using_anchor_trace(sch: Schedule, anchor_trace: Trace, target: Target) -> None:
    """Apply the trace to `sch`, and schedule what it does not know."""
    _inline_others(sch, anchor_trace, target)
    left = _apply_trace(sch, anchor_trace)
    if len(left) > 1:
        raise TVMError(
            message(
                "schedule_using_anchor_trace",
                found=f"blocks that the trace does not schedule: {', '.join(left)}",
                legal="at most one, which the others were inlined into",
            )
        )
    if left:
        _schedule_last(sch, sch.get_block(left[0]), target)


# --- what the trace does not know ---


def _inline_others(sch: Schedule, anchor_trace: Trace, target: Target) -> None:
    """Inline spatial blocks behind the anchor that the trace does not name."""
    named = {
        str(inst.attrs[0]) for inst in anchor_trace.insts if inst.kind.name == "GetBlock"
    }
    inline = _inline_rule(target)
    anchor = find_anchor_block(sch.mod)
    before = _names_before(sch, anchor.name_hint) if anchor is not None else set()
    for name in _block_names(sch):
        if name in before or name in named:
            continue
        block = sch.get_block(name)
        if is_spatial(sch.get(block)):
            inline.apply(sch, block)


def _inline_rule(target: Target) -> AutoInline:
    """The rule by which the default space of a target inlines."""
    rules = ScheduleRule.create(target.kind.traits.tuning_rules or "cuda")
    return next(rule for rule in rules if isinstance(rule, AutoInline))


def _names_before(sch: Schedule, anchor: str) -> set[str]:
    """The anchor and all blocks that its inputs come from."""
    found, todo = {anchor}, [anchor]
    while todo:
        for producer in sch.get_producers(sch.get_block(todo.pop())):
            name = str(sch.get(producer).name_hint)
            if name not in found:
                found.add(name)
                todo.append(name)
    return found


def _block_names(sch: Schedule) -> list[str]:
    """The blocks of the function, but for the root, in the order of the text."""
    func = sch.mod[sch.func_working_on]
    assert isinstance(func, PrimFunc), "what schedules work on"
    blocks = [node.name_hint for node in statements(func.body, Block)]
    return [str(name) for name in blocks if name != "root"]


def _schedule_last(sch: Schedule, block: BlockRV, target: Target) -> None:
    """Schedule the spatial block that is left at the end."""
    makers = sch.get_producers(block)
    if len(makers) == 1 and is_spatial(sch.get(makers[0])):
        sch.reverse_compute_inline(block)  # into the stage that writes tiles back
    elif "cpu" in target.kind.default_keys:
        sch.parallel(sch.fuse(*sch.get_loops(block)))
    else:
        threads = limit(target, "max_threads_per_block")
        AutoBind(256, _THREADS, threads).apply(sch, block)


# --- what it knows ---


def _apply_trace(sch: Schedule, anchor_trace: Trace) -> list[str]:
    """Apply the instructions whose inputs the program has; names of blocks left as they were."""
    names, original = _block_names(sch), sch.copy()
    values: dict[Any, Any] = {}
    foreign: set[Any] = set()
    for inst in anchor_trace.insts:
        if any(_is_foreign(value, foreign) for value in inst.inputs) or _lacks_block(sch, inst):
            foreign.update(inst.outputs)
            continue
        inputs = [translate(value, values) for value in inst.inputs]
        if _inlined_the_other_way(sch, inst, inputs):
            continue
        attrs = [translate(value, values) for value in inst.attrs]
        outputs = inst.kind.call(sch, inputs, attrs, anchor_trace.get_decision(inst))
        # a program with more blocks may have more children than the trace knows
        values.update(zip(inst.outputs, outputs))
    now = set(_block_names(sch))
    return [name for name in names if name in now and not _was_scheduled(sch, original, name)]


def _is_foreign(value: Any, foreign: set[Any]) -> bool:
    if isinstance(value, (list, tuple)):
        return any(_is_foreign(part, foreign) for part in value)
    return isinstance(value, (BlockRV, LoopRV)) and value in foreign


def _lacks_block(sch: Schedule, inst: Instruction) -> bool:
    if inst.kind.name != "GetBlock":
        return False
    name = str(inst.attrs[0])
    return name != "root" and name not in _block_names(sch)


def _inlined_the_other_way(sch: Schedule, inst: Instruction, inputs: list[Any]) -> bool:
    """Inline into the consumers where the trace inlines into the producer, or the reverse.

    A block of the same name may stand at another end of the chain here.
    """
    if inst.kind.name not in ("ComputeInline", "ReverseComputeInline"):
        return False
    sref: StmtSRef = sch.get_sref(inputs[0])
    down, up = can_compute_inline(sch.state, sref), can_reverse_compute_inline(sch.state, sref)
    if inst.kind.name == "ComputeInline" and not down and up:
        sch.reverse_compute_inline(inputs[0])
        return True
    if inst.kind.name == "ReverseComputeInline" and not up and down:
        sch.compute_inline(inputs[0])
        return True
    return False


def _was_scheduled(sch: Schedule, original: Schedule, name: str) -> bool:
    now, before = (
        [s.get(loop) for loop in s.get_loops(s.get_block(name))] for s in (sch, original)
    )
    return [loop.kind for loop in now] != [loop.kind for loop in before]
