"""The pass instrument that keeps what passes and rules did."""

from __future__ import annotations

import sys
import threading
import time
from types import FrameType
from typing import Final

from tvm.dlight.base.transform import Scheduled
from tvm.ir.instrument import PassInstrument
from tvm.ir.module import IRModule
from tvm.ir.transform import PassInfo
from tvm.relax.vm.native import PlannedGraph
from tvm.support.notes import unwatch, watch
from tvm.tir.function import PrimFunc
from tvm.tir.schedule.instruction import Instruction

_RULES: Final = "tvm.dlight."
_OPEN: Final = "tvm.dlight.base"  # helpers that all rules call; their callers know the reason


class Run:
    """One run of a pass: the modules before and after, and what it ran inside."""

    __slots__ = ("after", "before", "depth", "name", "nested", "parent", "seconds", "start")

    def __init__(
        self, name: str, before: IRModule, start: float, parent: Run | None
    ) -> None:
        self.name = name
        self.before = before
        self.after: IRModule | None = None
        self.start = start
        self.seconds = 0.0
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1


class CallSite:
    """Where in a rule a primitive was called."""

    __slots__ = ("file", "function", "line")

    def __init__(self, file: str, function: str, line: int) -> None:
        self.file = file
        self.function = function
        self.line = line


class Recorder(PassInstrument):
    """Keeps every pass with its modules, every schedule with its steps, and the plan of memory.

    It sees the thread that entered its context. While it watches, nothing comes from the compile
    cache: what was not done again cannot be seen.
    """

    def __init__(self) -> None:
        super().__init__("Recorder")
        self.runs: list[Run] = []
        self.scheduled: list[Scheduled] = []
        self.sites: dict[Instruction, CallSite] = {}
        self.planned: list[PlannedGraph] = []
        self.began = time.perf_counter()
        self.seconds = 0.0
        self._open: list[Run] = []
        self._thread = 0

    def enter_pass_ctx(self) -> None:
        self._thread = threading.get_ident()
        self.began = time.perf_counter()
        watch(self._told)

    def exit_pass_ctx(self) -> None:
        self.seconds = time.perf_counter() - self.began
        self._open.clear()  # passes that ended with an exception
        unwatch(self._told)

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if threading.get_ident() == self._thread:
            parent = self._open[-1] if self._open else None
            run = Run(info.name, mod, time.perf_counter() - self.began, parent)
            self.runs.append(run)
            self._open.append(run)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if threading.get_ident() != self._thread:
            return
        while self._open:
            run = self._open.pop()
            if run.name == info.name:
                run.seconds = time.perf_counter() - self.began - run.start
                run.after = mod
                return

    def _told(self, fact: object) -> None:
        if isinstance(fact, Instruction):
            site = _rule_site(sys._getframe(1))
            if site is not None:
                self.sites[fact] = site
        elif isinstance(fact, Scheduled):
            self.scheduled.append(fact)
        elif isinstance(fact, PlannedGraph):
            self.planned.append(fact)

    def schedule_of(self, made: PrimFunc) -> Scheduled | None:
        """What is known of a function's schedule; `made` is what the rule gave."""
        return next((s for s in self.scheduled if s.made is made), None)


def _rule_site(frame: FrameType | None) -> CallSite | None:
    """The line of a rule that is running; None if no rule does."""
    while frame is not None:
        module = frame.f_globals.get("__name__", "")
        if module.startswith(_RULES) and not module.startswith(_OPEN):
            code = frame.f_code
            return CallSite(code.co_filename, code.co_name, frame.f_lineno)
        frame = frame.f_back
    return None

