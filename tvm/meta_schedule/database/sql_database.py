"""Records in SQL: many tuners and readers at once, on one machine or on several.

    database = SQLDatabase("sqlite:///records.db")          # or postgresql://user@host/database
    tune_tir(mod, target, work_dir, 64, database=database)
    database.query(mod, target)                             # the fastest schedule that applies

A trial is there once `commit_trial` has returned, whatever happens to the process afterwards, and
it is there once: one that is sent again since a connection was lost replaces nothing.
"""

from __future__ import annotations

import functools
import json
import logging
import math
import platform
import uuid
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple

from tvm.error import message
from tvm.ir.module import IRModule
from tvm.meta_schedule.rules_version import rules_version
from tvm.support.json_text import from_json
from tvm.target.codegen import llvm_get_system_cpu
from tvm.target.target import Target

from .database import Database
from .memory_database import WorkloadTable
from .record import BROKEN, RecordError, TuningRecord, Workload
from .sql_tables import Tables

_LOG = logging.getLogger(__name__)


class Trial(NamedTuple):
    """A record with what is known of its measurement; `number` is its row."""

    record: TuningRecord
    error: str | None
    log: str | None
    machine: str
    rules: str
    kept_at: datetime
    number: int = 0


class SQLDatabase(Database):
    """Keeps workloads and trials in the database of a URL; nothing but workloads in memory."""

    def __init__(self, url: str, *, module_equality: str = "structural") -> None:
        self._tables = Tables(url)
        self._table = WorkloadTable(module_equality)
        self._rows_of: dict[Workload, list[int]] = {}
        self._by_row: dict[int, Workload] = {}
        self._seen_row = 0

    @property
    def url(self) -> str:
        """Where the records lie, without a password."""
        shown: str = self._tables.shown
        return shown

    def close(self) -> None:
        """Give the connections back; a later call opens new ones."""
        self._tables.close()

    def __len__(self) -> int:
        sql, trial = self._tables.sql, self._tables.trial
        count = sql.select(sql.func.count()).select_from(trial)
        return int(self._tables.reading(lambda c: c.execute(count).scalar()))

    # --- workloads ---

    def has_workload(self, mod: IRModule) -> bool:
        """Whether there is a workload equal to the module."""
        return self._find(mod) is not None

    def commit_workload(self, mod: IRModule) -> Workload:
        """The workload of a module, which is new if there was none."""
        found = self._find(mod)
        if found is not None:
            return found

        def insert(connection: Any) -> Workload:
            self._read_workloads(connection)  # another tuner may have been first
            known = self._table.find(mod)
            if known is not None:
                return known
            made = Workload(mod)
            shash, text = made.as_json()
            row = connection.execute(
                self._tables.workload.insert().values(shash=shash, module=text)
            ).inserted_primary_key[0]
            inserted.append((row, made))
            return made

        inserted: list[tuple[int, Workload]] = []
        workload = self._tables.writing(insert)
        if inserted and inserted[-1][1] is workload:  # only what was committed is remembered
            self._remember(inserted[-1][0], workload)
        return workload

    def _find(self, mod: IRModule) -> Workload | None:
        known = self._table.find(mod)
        if known is None:
            self._tables.reading(self._read_workloads)
            known = self._table.find(mod)
        return known

    def _read_workloads(self, connection: Any) -> None:
        """Take up rows that are new; a broken one is refused by name, once."""
        workload = self._tables.workload
        rows = connection.execute(
            self._tables.sql.select(workload).where(workload.c.id > self._seen_row)
            .order_by(workload.c.id)
        ).all()  # fmt: skip
        for row in rows:
            self._seen_row = row.id
            try:
                made = Workload.from_json([row.shash, row.module])
            except BROKEN as err:
                raise self._unreadable("workload", row.id, err) from err
            self._remember(row.id, self._table.find(made.mod) or made)

    def _remember(self, row: int, workload: Workload) -> None:
        if workload not in self._rows_of:
            self._table.add(workload)
        rows = self._rows_of.setdefault(workload, [])
        if row not in rows:
            rows.append(row)
        self._by_row[row] = workload

    # --- records ---

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Keep a record."""
        self.commit_trial(record)

    def commit_trial(
        self, record: TuningRecord, error: str | None = None, log: str | None = None
    ) -> None:
        """Keep a record, and why it has no time."""
        now = datetime.now(timezone.utc)
        self.add(Trial(record, error, log, _machine(), rules_version(), now))

    def add(self, trial: Trial) -> None:
        """Keep a trial of this machine or another one; its number is given anew."""
        record = trial.record
        workload = self.commit_workload(record.workload.mod)
        trace, run_secs, target, args_info = record.as_json()
        mean = float(record.mean_secs) if record.is_valid() else None
        values = {
            "uid": uuid.uuid4().hex,
            "workload_id": self._rows_of[workload][0],
            "trace": _text(trace),
            "run_secs": None if run_secs is None else _text(run_secs),
            "mean_secs": mean if mean is not None and math.isfinite(mean) else None,
            "target": None if target is None else _text(target),
            "args_info": None if args_info is None else _text(args_info),
            "error": _storable(trial.error),
            "log": _storable(trial.log),
            "machine": trial.machine,
            "rules": trial.rules,
            "kept_at": trial.kept_at,
        }
        table, sql = self._tables.trial, self._tables.sql

        def insert(connection: Any) -> None:
            mine = sql.select(table.c.id).where(table.c.uid == values["uid"])
            if connection.execute(mine).first() is None:
                connection.execute(table.insert().values(**values))

        self._tables.writing(insert)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest `top_k` valid records of a workload, fastest first."""
        if top_k < 0:
            raise ValueError(message("get_top_k", found=f"top_k={top_k}", legal="0 or more"))
        mine = self._find(workload.mod)
        if mine is None or top_k == 0:
            return []
        return [trial.record for trial in self._best(mine, top_k)]

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records, oldest first."""
        return [trial.record for trial in self.trials()]

    def trials(self, mod: IRModule | None = None) -> list[Trial]:
        """All trials, or those of a module, oldest first."""
        trial, sql = self._tables.trial, self._tables.sql
        chosen = sql.select(trial).order_by(trial.c.id)
        if mod is not None:
            mine = self._find(mod)
            rows = () if mine is None else self._rows_of[mine]
            chosen = chosen.where(trial.c.workload_id.in_(rows))
        return self._read(chosen)

    def _best(self, mine: Workload, limit: int, target: str | None = None) -> list[Trial]:
        trial, sql = self._tables.trial, self._tables.sql
        chosen = (
            sql.select(trial)
            .where(trial.c.workload_id.in_(self._rows_of[mine]), trial.c.mean_secs.is_not(None))
            .order_by(trial.c.mean_secs, trial.c.id)
            .limit(limit)
        )
        if target is not None:
            chosen = chosen.where(trial.c.target == target)
        return self._read(chosen)

    # --- questions ---

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> TuningRecord | None:
        """The fastest record of a module that applies: of those measured for this very target, else
        of all others. What no longer applies is named in the log.
        """
        mine = self._find(mod)
        if mine is None:
            return None
        for chosen in (_text(target.export()), None):
            for trial in self._best(mine, _TRIED, chosen):
                why = self.why_not(trial)
                if why is None:
                    return trial.record
                _LOG.warning("%s", why)
        return None

    def why_not(self, trial: Trial) -> str | None:
        """Why the schedule of a trial cannot be made any more; None where it can."""
        try:
            trial.record.schedule()
        except BROKEN as err:
            lines = str(err).strip().splitlines()
            return (
                f"record {trial.number} of {self.url} does not apply: {lines[0] if lines else err}"
                f" (found with {trial.rules}, this is {rules_version()})"
            )
        return None

    # --- reading ---

    def _read(self, chosen: Any) -> list[Trial]:
        def all_rows(connection: Any) -> Sequence[Any]:
            rows: Sequence[Any] = connection.execute(chosen).all()
            # second: whoever adds a trial has added its workload before
            self._read_workloads(connection)
            return rows

        return list(self._trials_of(self._tables.reading(all_rows)))

    def _trials_of(self, rows: Iterable[Any]) -> Iterable[Trial]:
        for row in rows:
            try:
                stored = [
                    None if text is None else from_json(text)
                    for text in (row.trace, row.run_secs, row.target, row.args_info)
                ]
                record = TuningRecord.from_json(stored, self._by_row[row.workload_id])
            except BROKEN as err:
                raise self._unreadable("trial", row.id, err) from err
            kept_at = row.kept_at
            if kept_at.tzinfo is None:  # SQLite keeps none; it is UTC
                kept_at = kept_at.replace(tzinfo=timezone.utc)
            yield Trial(
                record, row.error, row.log, row.machine, row.rules, kept_at, row.id
            )

    def _unreadable(self, what: str, row: int, err: Exception) -> RecordError:
        lines = str(err).strip().splitlines() or [type(err).__name__]
        return RecordError(
            message(
                f"{what} {row} of the database {self.url}",
                found=lines[0],
                legal=f"what a {what} of this version of tvm looks like",
            )
        )


_TRIED = 16  # records of a module that are replayed before it counts as one without any


def _text(value: Any) -> str:
    """JSON in one form, so that equal values are equal texts."""
    return json.dumps(value, allow_nan=False, sort_keys=True, separators=(",", ":"))


def _storable(text: str | None) -> str | None:
    """Text without what databases refuse in texts: zeros, halves of surrogate pairs."""
    if text is None:
        return None
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode()


@functools.cache
def _machine() -> str:
    return f"{platform.machine()} {llvm_get_system_cpu()}"
