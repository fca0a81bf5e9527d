"""Another number of iterations that may run in parallel."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING

from tvm.ir.module import IRModule
from tvm.meta_schedule.rule_kind import number_of_cores, require_target
from tvm.meta_schedule.structure import PARALLEL, extent_of, is_single
from tvm.tir.block_scope import StmtSRef
from tvm.tir.expr import IterVar
from tvm.tir.schedule import Instruction, Schedule, Trace
from tvm.tir.schedule.analysis.query import loop_kind, loop_of, loops_above
from tvm.tir.stmt import For, ForKind

from .decisions import annotated, plain
from .loop_extents import Factors, extent, extents_of_loops
from .mutator import Mutator

if TYPE_CHECKING:
    from tvm.meta_schedule.search_context import SearchContext


class MutateParallel(Mutator):
    """Changes the annotation of the root block to a limit that fuses other loops than now."""

    def __init__(self, max_jobs_per_core: int) -> None:
        self.max_jobs_per_core = max_jobs_per_core
        self._most = 0
        self._mod: IRModule | None = None
        self._known: dict[_Form, list[list[Factors]] | None] = {}

    def _initialize_with_tune_context(self, context: SearchContext) -> None:
        cores = number_of_cores(require_target(context.target, "MutateParallel"))
        self._most = cores * self.max_jobs_per_core
        self._mod = context.mod
        self._known = {}

    def apply(self, trace: Trace) -> Trace | None:
        """The trace with another limit; None if all limits fuse the same loops."""
        found = list(annotated(trace, [PARALLEL]))
        if not found or self._mod is None:
            return None
        inst, now = found[0]
        products = self._products(trace)
        plans = {
            _plan(products, limit): limit
            for limit in sorted({p for block in products for p in block if p <= self._most})
        }
        plans.pop(_plan(products, int(plain(now))), None)
        if not plans:
            return None
        limits = list(plans.values())
        return _with_limit(trace, inst, limits[self.engine.below(len(limits))])

    def _products(self, trace: Trace) -> list[list[int]]:
        """For each block below the root, the iterations of its first one, two, ... loops."""
        form = _form(trace)
        if form not in self._known:
            if len(self._known) >= _MAX_FORMS:
                self._known.clear()
            self._known[form] = self._loops(trace)
        blocks = self._known[form]
        if blocks is None or any(trace.get_decision(i) is None for i in form[0]):
            return [[product for product, _ in block] for block in self._replayed(trace)]
        return [
            list(itertools.accumulate([extent(trace, loop) for loop in block], operator.mul))
            for block in blocks
        ]

    def _loops(self, trace: Trace) -> list[list[Factors]] | None:
        """For each block the factors of its first loops; None where a loop is not the trace's."""
        found = self._replayed(trace)
        loops = [[factors for _, factors in block] for block in found]
        known = [[factors for factors in block if factors is not None] for block in loops]
        return known if known == loops else None

    def _replayed(self, trace: Trace) -> list[list[tuple[int, Factors | None]]]:
        assert self._mod is not None, "asked for only then"
        sch = Schedule(self._mod, seed=self.engine.fork(), error_render_level="none")
        trace.apply_to_schedule(sch, remove_postproc=True)
        roots = [made.inputs[0] for made, _ in annotated(sch.trace, [PARALLEL])]
        children = sch.state.child_blocks(sch.get_sref(roots[0]))
        factors = extents_of_loops(sch)
        return [
            [(product, factors.get(loop.loop_var)) for product, loop in _fusible(child)]
            for child in children
        ]


_Form = tuple[tuple[Instruction, ...], tuple[object, ...]]
_MAX_FORMS = 256


def _form(trace: Trace) -> _Form:
    """What decides which loops there are: all but the sizes of tiles and the annotations."""
    samples = tuple([i for i in trace.insts if i.kind.name == "SamplePerfectTile"])
    others = [
        (i.kind.name, plain(trace.get_decision(i))) if i.kind.has_decision else i
        for i in trace.insts
        if i.kind.name not in ("SamplePerfectTile", "SampleCategorical", "Annotate")
    ]
    return samples, tuple(others)


def _fusible(block: StmtSRef) -> list[tuple[int, For]]:
    found: list[tuple[int, For]] = []
    total = 1
    for outer in loops_above(block):
        loop = loop_of(outer)
        size = extent_of(loop)
        plain_loop = loop.kind is ForKind.SERIAL and not loop.annotations
        if loop_kind(outer) != IterVar.DataPar or size is None or not plain_loop:
            break
        total *= size
        found.append((total, loop))
        if not is_single(loop.body):
            break
    return found


def _plan(products: list[list[int]], limit: int) -> tuple[int, ...]:
    """How many loops of each block are fused under a limit."""
    plan = []
    for block in products:
        reached = next((i for i, total in enumerate(block) if total >= limit), len(block) - 1)
        plan.append(reached + 1)
    return tuple(plan)


def _with_limit(trace: Trace, inst: Instruction, limit: int) -> Trace:
    made = Trace()
    for old in trace.insts:
        if old.kind.name == "EnterPostproc":
            break
        new = old
        if old is inst:
            new = Instruction(old.kind, [old.inputs[0], limit], old.attrs, old.outputs)
        made.append(new, trace.get_decision(old))
    return made
