"""A trace replayed on the module and finished by the postprocessors."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tvm.error import ArgumentValueError, TVMError, message
from tvm.ir.module import IRModule
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.measure_candidate import MeasureCandidate
from tvm.meta_schedule.postproc import Postproc
from tvm.tir.schedule import Schedule, Trace

if TYPE_CHECKING:
    from tvm.meta_schedule.tune_context import TuneContext

_LOGGER = logging.getLogger(__name__)


class Replayer:
    """Makes schedules of traces; counts which postprocessor refused how many."""

    def __init__(self, mod: IRModule, postprocs: Sequence[Postproc]) -> None:
        self._mod = mod
        self._postprocs = list(postprocs)
        self.refused = dict.fromkeys([str(p) for p in postprocs], 0)
        self.illegal = 0

    def apply(self, trace: Trace, seed: int) -> Schedule | None:
        """The schedule; None if the trace does not fit or a postprocessor refuses it."""
        sch = Schedule(self._mod, seed=seed, error_render_level="none")
        try:
            trace.apply_to_schedule(sch, remove_postproc=True)
        except TVMError as err:
            self.illegal += 1
            _LOGGER.debug("a trace does not fit: %s", err)
            return None
        return sch if self.finish(sch) else None

    def finish(self, sch: Schedule) -> bool:
        """Let the postprocessors finish a schedule; False if one of them refuses it."""
        sch.enter_postproc()
        for postproc in self._postprocs:
            try:
                done = postproc.apply(sch)
            except TVMError as err:
                _LOGGER.debug("%s failed: %s", postproc, err)
                done = False
            if not done:
                self.refused[str(postproc)] += 1
                return False
        return True

    def summary(self) -> str:
        """How many were refused by whom, a line each."""
        lines = [f"{name}: {count} refused" for name, count in self.refused.items()]
        return "\n".join([*lines, f"replay: {self.illegal} illegal"])


def replayer(context: TuneContext | None) -> tuple[Replayer, int]:
    """A replayer for the module of a context, and a seed."""
    if context is None or context.mod is None:
        raise ArgumentValueError(
            message(
                "The search strategy has not been initialized.",
                found="the strategy belongs to no context with a module",
                legal="TuneContext(mod, search_strategy=...)",
            )
        )
    space = context.space_generator
    postprocs = space.postprocs if space is not None else None
    return Replayer(context.mod, postprocs or ()), context.fork_seed()


def candidate(sch: Schedule) -> MeasureCandidate:
    """The schedule with the arguments of its entry function."""
    return MeasureCandidate(sch, ArgInfo.from_entry_func(sch.mod, remove_preproc=True))
