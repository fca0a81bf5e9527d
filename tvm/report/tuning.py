"""What a search found, by its records: the curve of each kernel, and its fastest program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tvm.error import TVMError
from tvm.meta_schedule.search_strategy.rule_candidate import scheduled_by_rule
from tvm.target import Target
from tvm.target.kind import CPU
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Schedule

from . import words as w
from .stages import shortened

if TYPE_CHECKING:
    from tvm.meta_schedule.database import Database, TuningRecord


def curves_of(database: Database, table: w.LineTable) -> list[w.Curve]:
    """For each workload the seconds of its trials, in the order in which they were recorded.

    The programs of a kernel go to the table: as it came, by rule, and by its fastest trial.
    """
    trials: dict[int, list[TuningRecord]] = {}
    for record in database.get_all_tuning_records():
        trials.setdefault(id(record.workload), []).append(record)
    taken: dict[str, int] = {}
    return [_curve(records, table, taken) for records in trials.values()]


def _curve(
    records: Sequence[TuningRecord], table: w.LineTable, taken: dict[str, int]
) -> w.Curve:
    ((var, func), *_) = records[0].workload.mod.functions.items()
    name = str(func.attrs.get("global_symbol") or var.name_hint)
    taken[name] = taken.get(name, 0) + 1
    seconds = [_seconds(record) for record in records]
    stages = [
        w.Stage(-1, told, table.add_lines(shortened(made, name)))
        for told, made in _programs(records, seconds) if made is not None
    ]
    return w.Curve(name if taken[name] == 1 else f"{name} ({taken[name]})", seconds, stages)


def _programs(
    records: Sequence[TuningRecord], seconds: Sequence[float | None]
) -> list[tuple[str, PrimFunc | None]]:
    func = _only_kernel(records[0])
    measured = [(s, record) for s, record in zip(seconds, records) if s is not None]
    if func is None or not measured:
        return [("as it came", func)]
    _, best = min(measured, key=lambda pair: pair[0])
    return [
        ("as it came", func),
        ("by rule", _by_rule(func, best.target)),
        ("fastest", _replayed(best)),
    ]


def _only_kernel(record: TuningRecord) -> PrimFunc | None:
    (func, *others) = record.workload.mod.functions.values()
    return func if isinstance(func, PrimFunc) and not others else None


def _by_rule(func: PrimFunc, target: Target | None) -> PrimFunc | None:
    if target is None or target.kind.device_type != CPU:
        return None
    made = scheduled_by_rule(func, target)
    return None if made is None else made.made


def _replayed(record: TuningRecord) -> PrimFunc | None:
    """The program that a trial measured; None where its trace is of another version."""
    sch = Schedule(record.workload.mod, error_render_level="none")
    try:
        record.trace.apply_to_schedule(sch, remove_postproc=False)
    except TVMError:
        return None
    (made,) = sch.mod.functions.values()
    assert isinstance(made, PrimFunc), "a schedule keeps the functions"
    return made


def _seconds(record: TuningRecord) -> float | None:
    """The mean of a trial; None for one that gave no time."""
    runs = [float(getattr(s, "value", s)) for s in record.run_secs or ()]
    mean = sum(runs) / len(runs) if runs else None
    return mean if mean is not None and mean < 1e9 else None
