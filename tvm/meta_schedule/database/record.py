"""A program that was tuned, and one schedule of it that was measured; both as JSON, too.

Stored records are checked when they are read and replayed when they are used: the trace of a
record is made only when somebody asks for it.
"""

from __future__ import annotations

import base64
import binascii
import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

from tvm.error import TVMError, message
from tvm.ffi.object import Object
from tvm.ir.json import load_json, save_json
from tvm.ir.module import IRModule
from tvm.ir.structural import structural_hash
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.measure_candidate import MeasureCandidate
from tvm.meta_schedule.seconds import Seconds, seconds
from tvm.support.json_text import from_json
from tvm.target.target import Target
from tvm.tir.schedule import Schedule, Trace
from tvm.tir.schedule.trace_json import plain_numbers

# What stands for the time of a schedule that could not be measured.
UNMEASURED_SECS = 1e10


class RecordError(TVMError, ValueError):
    """A stored workload or record that is none."""


# What reading a record of others may raise: of texts, types, numbers, names that do not fit.
BROKEN: Final = (TVMError, ValueError, TypeError, LookupError, AttributeError, OverflowError)


class Workload(Object):
    """A module to tune. Its structural hash is computed when it is first needed."""

    def __init__(self, mod: IRModule) -> None:
        if not isinstance(mod, IRModule):
            raise TypeError(message("Workload", found=type(mod).__name__, legal="an IRModule"))
        self.mod = mod
        self._shash: int | None = None

    @property
    def shash(self) -> int:
        """The structural hash of the module."""
        if self._shash is None:
            self._shash = structural_hash(self.mod)
        return self._shash

    def as_json(self) -> list[str]:
        """The hash, and the module as JSON in base64."""
        return [str(self.shash), base64.b64encode(save_json(self.mod).encode()).decode()]

    @staticmethod
    def from_json(json_obj: Any) -> Workload:
        """The workload of what `as_json` gave."""
        found = from_json(json_obj) if isinstance(json_obj, str) else json_obj
        if not _is_list(found, 2) or not all(isinstance(part, str) for part in found):
            raise _refuse("a workload", found, '["<hash>", "<module in base64>"]')
        try:
            mod = load_json(base64.b64decode(found[1], validate=True).decode())
        except (binascii.Error, UnicodeDecodeError) as err:
            raise _refuse("the module of a workload", err, "JSON of a module in base64") from err
        if not isinstance(mod, IRModule):
            raise _refuse("the module of a workload", type(mod).__name__, "an IRModule")
        return Workload(mod)


class TuningRecord(Object):
    """A schedule of a workload: its trace, the seconds it took, on which target, with which types.

    Without `run_secs` it was not measured; if all of them are 1e10, it could not be.
    """

    def __init__(
        self,
        trace: Trace,
        workload: Workload,
        run_secs: Iterable[Any] | None = None,
        target: Target | None = None,
        args_info: Sequence[ArgInfo] | None = None,
    ) -> None:
        self._trace: Trace | None = trace
        self._stored: Any = None
        self.workload = workload
        self.run_secs: list[Seconds] | None = seconds(run_secs)
        self.target = target
        self.args_info = None if args_info is None else list(args_info)

    @property
    def trace(self) -> Trace:
        """What made the schedule."""
        if self._trace is None:
            sch = Schedule(self.workload.mod)
            Trace.apply_json_to_schedule(self._stored, sch)
            self._trace = sch.trace
        return self._trace

    @property
    def mean_secs(self) -> float:
        """The mean of the measured seconds; infinite if there are none."""
        return math.fsum(self.run_secs) / len(self.run_secs) if self.run_secs else math.inf

    def is_valid(self) -> bool:
        """Whether it was measured, and not in vain."""
        return any(t != UNMEASURED_SECS for t in self.run_secs or ())

    def schedule(self) -> Schedule:
        """The trace replayed on the module of the workload."""
        sch = Schedule(self.workload.mod)
        self.trace.apply_to_schedule(sch, remove_postproc=False)
        return sch

    def of_workload(self, workload: Workload) -> TuningRecord:
        """The same record of an equal workload; its trace is not replayed."""
        made = TuningRecord(Trace(), workload, self.run_secs, self.target, self.args_info)
        made._trace, made._stored = self._trace, self._stored
        return made

    def as_measure_candidate(self) -> MeasureCandidate:
        """The schedule as a candidate to measure again."""
        sch = self.schedule()
        return MeasureCandidate(sch, ArgInfo.from_entry_func(sch.mod, remove_preproc=True))

    def as_json(self) -> list[Any]:
        """`[trace, seconds, target, types of arguments]`; what is not known is None."""
        # a stored trace is given back as it was stored, without a replay
        trace = self._stored if self._trace is None else plain_numbers(self._trace.as_json())
        return [
            trace,
            None if self.run_secs is None else [t.value for t in self.run_secs],
            None if self.target is None else self.target.export(),
            None if self.args_info is None else [info.as_json() for info in self.args_info],
        ]

    @staticmethod
    def from_json(json_obj: Any, workload: Workload) -> TuningRecord:
        """The record of what `as_json` gave."""
        found = from_json(json_obj) if isinstance(json_obj, str) else json_obj
        if not _is_list(found, 4):
            raise _refuse("a tuning record", found, "[trace, seconds, target, arguments]")
        trace, run_secs, target, args_info = found
        if not _is_list(trace, 2) or not all(_is_list(part) for part in trace):
            raise _refuse("the trace of a record", trace, "[instructions, decisions]")
        if run_secs is not None and not _are_numbers(run_secs):
            legal = "a list of positive numbers, or null"
            raise _refuse("the seconds of a record", run_secs, legal)
        if target is not None and not isinstance(target, (str, dict)):
            raise _refuse("the target of a record", target, "a target as JSON, or null")
        if args_info is not None and not _is_list(args_info):
            raise _refuse("the arguments of a record", args_info, "a list, or null")
        record = TuningRecord(
            Trace(),
            workload,
            run_secs,
            None if target is None else Target(target),
            None if args_info is None else [ArgInfo.from_json(info) for info in args_info],
        )
        record._trace, record._stored = None, trace
        return record


def _is_list(value: Any, length: int | None = None) -> bool:
    return isinstance(value, (list, tuple)) and length in (None, len(value))


def _are_numbers(values: Any) -> bool:
    return _is_list(values) and all(
        isinstance(v, (int, float)) and not isinstance(v, bool) and 0 < v < math.inf for v in values
    )


def _refuse(what: str, found: Any, legal: str) -> RecordError:
    text = str(found)
    return RecordError(
        message(what, found=text if len(text) < 80 else text[:77] + "...", legal=legal)
    )
