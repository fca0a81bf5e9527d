"""What a database answers.

    with database:                              # Database.current() is this one
        database.query(mod, target, kind="schedule")
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeAlias

from typing_extensions import Self

from tvm.error import message
from tvm.ir.module import IRModule
from tvm.meta_schedule.base import Component, unknown_kind
from tvm.support.html import document, line, table
from tvm.target.target import Target
from tvm.tir.schedule import Schedule

from .record import TuningRecord, Workload

_LOG = logging.getLogger(__name__)
_KINDS = ("json", "memory", "union", "ordered_union", "sql")
_ANSWERS = ("schedule", "record", "ir_module")


class _Entered(threading.local):
    def __init__(self) -> None:
        self.stack: list[Database] = []


_ENTERED = _Entered()


class Database(Component):
    """Workloads, and records of schedules that were measured for them."""

    def __enter__(self) -> Self:
        _ENTERED.stack.append(self)
        return self

    def __exit__(self, *exception: object) -> None:
        _ENTERED.stack.pop()

    def __len__(self) -> int:
        return len(self.get_all_tuning_records())

    def _repr_html_(self) -> str:
        """What notebooks show: a row a workload, with its trials and the best of them."""
        found: dict[int, list[TuningRecord]] = {}
        for record in self.get_all_tuning_records():
            found.setdefault(id(record.workload), []).append(record)
        rows = []
        for records in found.values():
            good = [record.mean_secs for record in records if record.is_valid()]
            best = f"{min(good) * 1e6:,.1f}" if good else "-"
            names = ", ".join(var.name_hint for var in records[0].workload.mod.functions)
            rows.append([names, str(len(records)), str(len(records) - len(good)), best])
        return document(
            line(f"{type(self).__name__} of {len(found)} workloads"),
            table(["functions", "trials", "failed", "best us"], rows, right=(1, 2, 3)),
        )

    def __bool__(self) -> bool:
        return True  # a database without records is one

    # --- what each kind defines ---

    def has_workload(self, mod: IRModule) -> bool:
        """Whether there is a workload equal to the module."""
        self._missing("HasWorkload")

    def commit_workload(self, mod: IRModule) -> Workload:
        """The workload of a module, which is new if there was none."""
        self._missing("CommitWorkload")

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Keep a record."""
        self._missing("CommitTuningRecord")

    def commit_trial(
        self, record: TuningRecord, error: str | None = None, log: str | None = None
    ) -> None:
        """Keep a record; why it has no time, too, in kinds that have a column for it."""
        self.commit_tuning_record(record)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest `top_k` valid records of a workload, fastest first."""
        self._missing("GetTopK")

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records."""
        self._missing("GetAllTuningRecords")

    # --- questions ---

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> TuningRecord | None:
        """The fastest record of a module, or None."""
        if not self.has_workload(mod):
            return None
        found = self.get_top_k(self.commit_workload(mod), 1)
        return found[0] if found else None

    def query_schedule(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> Schedule | None:
        """The fastest schedule of a module, or None."""
        record = self.query_tuning_record(mod, target, workload_name)
        return None if record is None else record.schedule()

    def query_ir_module(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> IRModule | None:
        """The module as its fastest schedule leaves it, or None."""
        sch = self.query_schedule(mod, target, workload_name)
        return None if sch is None else sch.mod

    def query(
        self,
        mod: IRModule,
        target: Target,
        *,
        workload_name: str = "main",
        kind: Literal["schedule", "record", "ir_module"] = "schedule",
    ) -> Schedule | IRModule | TuningRecord | None:
        """The best that is known for a module, as a schedule, a record or a module."""
        if kind == "schedule":
            return self.query_schedule(mod, target, workload_name)
        if kind == "record":
            return self.query_tuning_record(mod, target, workload_name)
        if kind == "ir_module":
            return self.query_ir_module(mod, target, workload_name)
        raise ValueError(
            message(f"Unknown kind: {kind}", legal=", ".join(map(repr, _ANSWERS)))
        )

    def dump_pruned(self, destination: Database) -> None:
        """Copy only the fastest record of each workload to another database."""
        best: dict[int, TuningRecord] = {}
        for record in self.get_all_tuning_records():
            at = id(record.workload)
            if record.is_valid() and (at not in best or record.mean_secs < best[at].mean_secs):
                best[at] = record
        for record in best.values():
            workload = destination.commit_workload(record.workload.mod)
            destination.commit_tuning_record(record.of_workload(workload))

    @staticmethod
    def current() -> Database | None:
        """The database of the innermost `with`, if any."""
        return _ENTERED.stack[-1] if _ENTERED.stack else None

    @staticmethod
    def create(
        kind: str
        | Callable[[Schedule], bool]
        | Database = "json",
        *args: Any,
        **kwargs: Any,
    ) -> Database:
        """The database of a kind; of a function, one that schedules with it; of a URL such as
        `sqlite:///records.db`, the one in SQL that lies there.
        """
        from .json_database import JSONDatabase  # which are of our kind
        from .memory_database import MemoryDatabase
        from .ordered_union_database import OrderedUnionDatabase
        from .schedule_fn_database import ScheduleFnDatabase
        from .sql_database import SQLDatabase
        from .sql_tables import is_url
        from .union_database import UnionDatabase

        if isinstance(kind, Database):
            return kind
        if callable(kind):
            return ScheduleFnDatabase(kind, *args, **kwargs)
        made: dict[str, Callable[..., Database]] = {
            "json": JSONDatabase,
            "memory": MemoryDatabase,
            "union": UnionDatabase,
            "ordered_union": OrderedUnionDatabase,
            "sql": SQLDatabase,
        }
        if is_url(kind):
            return SQLDatabase(kind, *args, **kwargs)
        if kind not in made:
            raise unknown_kind("Database", kind, _KINDS)
        return made[kind](*args, **kwargs)


DatabaseType: TypeAlias = Database | Literal["json", "memory"]
Database.DatabaseType = DatabaseType  # type: ignore[attr-defined]  # the name that signatures use
create = Database.create


class PyDatabase(Database):
    """The base of databases that users write.

    Queries have a meaning as soon as workloads and records can be kept and found; the name of the
    workload may be left out.
    """

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> TuningRecord | None:
        """The fastest record of a module, or None."""
        return super().query_tuning_record(mod, target, workload_name or "main")

    def query_schedule(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> Schedule | None:
        """The fastest schedule of a module, or None."""
        return super().query_schedule(mod, target, workload_name or "main")

    def query_ir_module(
        self, mod: IRModule, target: Target, workload_name: str | None = None
    ) -> IRModule | None:
        """The module as its fastest schedule leaves it, or None."""
        return super().query_ir_module(mod, target, workload_name or "main")


def fastest(records: Iterable[TuningRecord], top_k: int) -> list[TuningRecord]:
    """The `top_k` fastest of the valid records; equally fast ones keep their order."""
    if top_k < 0:
        raise ValueError(message("get_top_k", found=f"top_k={top_k}", legal="0 or more"))
    if top_k == 0:
        return []
    valid = sorted((r for r in records if r.is_valid()), key=lambda r: r.mean_secs)
    if len(valid) < top_k:
        _LOG.info("get_top_k: %d valid records, %d were asked for", len(valid), top_k)
    return valid[:top_k]
