"""A database of two files: workloads, and records that name their workload by its line.

    database_workload.json:       ["<hash>", "<module in base64>"]
    database_tuning_record.json:  [<line of the workload>, [trace, seconds, target, arguments]]

Several processes may use the same files at once; each sees what others have added when it next
writes or looks a module up.
"""

from __future__ import annotations

import json
import os
from typing import Any

from tvm.error import message
from tvm.ir.module import IRModule
from tvm.support.json_text import from_json

from .database import Database, fastest
from .line_file import LineFile
from .memory_database import WorkloadTable
from .record import BROKEN, RecordError, TuningRecord, Workload

_WORKLOADS, _RECORDS = "database_workload.json", "database_tuning_record.json"


class JSONDatabase(Database):
    """Keeps workloads and records in files, and in memory what it has read of them."""

    def __init__(
        self,
        path_workload: str | None = None,
        path_tuning_record: str | None = None,
        *,
        work_dir: str | None = None,
        allow_missing: bool = True,
        module_equality: str = "structural",
    ) -> None:
        self.path_workload = _path("path_workload", path_workload, work_dir, _WORKLOADS)
        self.path_tuning_record = _path(
            "path_tuning_record", path_tuning_record, work_dir, _RECORDS
        )
        self._workload_file = LineFile(self.path_workload, allow_missing)
        self._record_file = LineFile(self.path_tuning_record, allow_missing)
        self._table = WorkloadTable(module_equality)
        # the workload of each line, of some maybe the same; None for a line that is broken
        self._lines: list[Workload | None] = []
        self._line_of: dict[Workload, int] = {}
        self._records: dict[Workload, list[TuningRecord]] = {}
        self._all: list[TuningRecord] = []
        self._read()

    def has_workload(self, mod: IRModule) -> bool:
        """Whether there is a workload equal to the module."""
        self._read()
        return self._table.find(mod) is not None

    def commit_workload(self, mod: IRModule) -> Workload:
        """The workload of a module, which is new if there was none."""
        found = self._table.find(mod)
        if found is not None:
            return found
        with self._workload_file.locked():
            self._read_workloads()
            found = self._table.find(mod)  # another process may have been first
            if found is None:
                found = Workload(mod)
                self._workload_file.append(json.dumps(found.as_json()))
                self._add_workload(found)
        return found

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Keep a record, and its workload if it is new."""
        workload = self.commit_workload(record.workload.mod)
        line = json.dumps([self._line_of[workload], record.as_json()], allow_nan=False)
        with self._record_file.locked():
            self._read()
            self._record_file.append(line)
        self._add_record(workload, record)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest `top_k` valid records of a workload, fastest first."""
        self._read()
        mine = self._table.find(workload.mod)
        return fastest(self._records.get(mine, ()) if mine is not None else (), top_k)

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records, in the order of the file."""
        self._read()
        return list(self._all)

    # --- reading ---

    def _read(self) -> None:
        """Take up what was added to the files."""
        lines = self._record_file.new_lines()
        # second: whoever adds a record has added its workload before
        first_wrong = self._taken_up_workloads()
        for number, text in lines:  # those behind a broken line, too: they are read only once
            try:
                at, stored = _parsed(text, 2)
                workload = self._workload_of(at)
                record = TuningRecord.from_json(stored, workload)
            except BROKEN as err:
                wrong = _unreadable("TuningRecord", self.path_tuning_record, number, err)
                first_wrong = first_wrong or wrong
                continue
            self._add_record(workload, record)
        if first_wrong is not None:
            raise first_wrong

    def _read_workloads(self) -> None:
        wrong = self._taken_up_workloads()
        if wrong is not None:
            raise wrong

    def _taken_up_workloads(self) -> RecordError | None:
        """Take up the new lines of workloads; gives what is wrong with the first broken one."""
        first_wrong: RecordError | None = None
        for number, text in self._workload_file.new_lines():
            try:
                workload = Workload.from_json(_parsed(text, 2))
            except BROKEN as err:
                wrong = _unreadable("Workload", self.path_workload, number, err)
                first_wrong = first_wrong or wrong
                self._lines.append(None)  # the lines behind it keep their numbers
                continue
            self._add_workload(workload)
        return first_wrong

    def _workload_of(self, at: Any) -> Workload:
        found: Workload | None = None
        if isinstance(at, int) and 0 <= at < len(self._lines):
            found = self._lines[at]
        if found is None:
            raise RecordError(
                message(
                    "the workload of a record",
                    found=repr(at),
                    legal=f"the number of one of the {len(self._lines)} lines of workloads",
                )
            )
        return found

    def _add_workload(self, workload: Workload) -> None:
        known = self._table.find(workload.mod)
        if known is None:
            known = workload
            self._table.add(workload)
            self._line_of[workload] = len(self._lines)
        self._lines.append(known)

    def _add_record(self, workload: Workload, record: TuningRecord) -> None:
        self._records.setdefault(workload, []).append(record)
        self._all.append(record)


def _path(name: str, given: str | None, work_dir: str | None, default: str) -> str:
    if given is not None:
        return str(given)
    if work_dir is None:
        raise ValueError(
            message("JSONDatabase", found=f"no {name}", legal=f"{name}=, or work_dir= for both")
        )
    return os.path.join(work_dir, default)


def _parsed(text: str, length: int) -> list[Any]:
    found = from_json(text)
    if not isinstance(found, list) or len(found) != length:
        raise RecordError(message("a line of a database", found=text[:60], legal="a list of two"))
    return found


def _unreadable(what: str, path: str, number: int, err: Exception) -> RecordError:
    return RecordError(
        message(
            f"Unable to parse {what}, on line {number} of file {path}",
            found=str(err),
            legal="a line that a JSONDatabase wrote",
        )
    )
