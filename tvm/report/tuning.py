"""Curves of a search from its records."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import words as w

if TYPE_CHECKING:
    from tvm.meta_schedule.database import Database


def curves_of(database: Database) -> list[w.Curve]:
    """For each workload the seconds of its trials, in the order in which they were recorded."""
    found: dict[int, w.Curve] = {}
    taken: dict[str, int] = {}
    for record in database.get_all_tuning_records():
        key = id(record.workload)
        if key not in found:
            found[key] = w.Curve(_name(record, taken), [])
        found[key].seconds.append(_seconds(record))
    return list(found.values())


def _name(record: Any, taken: dict[str, int]) -> str:
    names = [var.name_hint for var in record.workload.mod.functions]
    func = record.workload.mod[names[0]]
    name = str(func.attrs.get("global_symbol") or names[0])
    taken[name] = taken.get(name, 0) + 1
    return name if taken[name] == 1 else f"{name} ({taken[name]})"


def _seconds(record: Any) -> float | None:
    """The mean of a trial; None for one that gave no time."""
    runs = [float(getattr(s, "value", s)) for s in record.run_secs or ()]
    mean = sum(runs) / len(runs) if runs else None
    return mean if mean is not None and mean < 1e9 else None
