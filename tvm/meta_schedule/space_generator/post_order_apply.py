"""A space made by rules that are applied to each block, from the outputs to the inputs.

The way of MetaSchedule (Shao et al., "Tensor program optimization with probabilistic programs",
NeurIPS 2022): each rule maps a schedule to several, and all rules are applied in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tvm.error import TVMError, message
from tvm.ffi import get_global_func
from tvm.ir.module import IRModule
from tvm.meta_schedule.schedule_rule import ApplyCustomRule, ScheduleRule
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import BlockRV, Schedule, ScheduleError
from tvm.tir.schedule.tree import inner_stmts
from tvm.tir.stmt import Block, BlockRealize

from .space_generator import FROM_TARGET, SpaceGenerator

CUSTOM = "schedule_rule"  # the annotation of blocks that only a rule of the user schedules


class PostOrderApply(SpaceGenerator):
    """Applies the rules in order, each to all blocks; `f_block_filter(block)` may skip some.

    `is_of_target` tells that nobody chose rules or blocks: the space is what the target offers.
    """

    def __init__(
        self,
        f_block_filter: Callable[[Block], bool] | str | None = None,
        sch_rules: Any = FROM_TARGET,
        postprocs: Any = FROM_TARGET,
        mutator_probs: Any = FROM_TARGET,
    ) -> None:
        super().__init__(sch_rules, postprocs, mutator_probs)
        self.f_block_filter = f_block_filter
        self.is_of_target = self.sch_rules is None and f_block_filter is None

    def generate_design_space(self, mod: IRModule) -> list[Schedule]:
        """All that the rules make of the module."""
        if self.sch_rules is None:
            raise ValueError(
                message(
                    "PostOrderApply: `sch_rules` is not set",
                    found="a context without a target, and no rules",
                    legal="a target in TuneContext, or rules in the constructor",
                )
            )
        sch = Schedule(mod, seed=self._engine.fork(), error_render_level="fast")
        blocks = [sch.get_block(name, func) for func, name in self._blocks(mod)]
        found = [sch]
        for rule in self.sch_rules:
            found = _apply_everywhere(rule, found, blocks)
        return found

    def _blocks(self, mod: IRModule) -> list[tuple[str, str]]:
        """Function and name of each block, inner ones first."""
        wanted = self.f_block_filter
        if isinstance(wanted, str):
            wanted = get_global_func(wanted)
        found: list[tuple[str, str]] = []
        for gvar, func in mod.functions.items():
            if isinstance(func, PrimFunc) and isinstance(func.body, BlockRealize):
                blocks = _post_order(func.body.block)
                _require_distinct(blocks, gvar.name_hint)
                names = [b.name_hint for b in blocks if wanted is None or wanted(b)]
                found.extend([(gvar.name_hint, name) for name in names])
        return found

    def clone(self) -> PostOrderApply:
        """Another one with clones of the rules."""
        made = PostOrderApply(self.f_block_filter, **self._cloned_parts())
        made.is_of_target = self.is_of_target
        return made


def _apply_everywhere(
    rule: ScheduleRule, schedules: list[Schedule], blocks: list[BlockRV]
) -> list[Schedule]:
    """What a rule makes of some schedules when it is applied to the blocks, the last one first."""
    done: list[Schedule] = []
    stack = [(sch, len(blocks)) for sch in schedules]
    while stack:
        sch, rest = stack.pop()
        if rest == 0:
            done.append(sch)
            continue
        rest -= 1
        block = blocks[rest]
        if _alive(sch, block) and (isinstance(rule, ApplyCustomRule) or not _custom(sch, block)):
            stack.extend([(made, rest) for made in rule.apply(sch, block)])
        else:
            stack.append((sch, rest))
    return done


def _alive(sch: Schedule, block: BlockRV) -> bool:
    try:
        sch.get_sref(block)
    except ScheduleError:
        return False
    return True


def _custom(sch: Schedule, block: BlockRV) -> bool:
    return CUSTOM in sch.get(block).annotations


def _post_order(root: Block) -> list[Block]:
    """The blocks below and including the root, inner ones first."""
    found: list[Block] = []
    stack: list[tuple[Any, bool]] = [(root, False)]
    while stack:
        stmt, seen = stack.pop()
        if seen:
            found.append(stmt)
            continue
        if isinstance(stmt, Block):
            stack.append((stmt, True))
        stack.extend([(inner, False) for inner, _ in reversed(inner_stmts(stmt))])
    return found


def _require_distinct(blocks: list[Block], func_name: str) -> None:
    names = [b.name_hint for b in blocks]
    for name in names:
        if names.count(name) > 1:
            raise TVMError(
                message(
                    f"Duplicated block name {name} in function {func_name} not supported!",
                    legal="blocks of different names",
                )
            )
