"""A database that ends with the process."""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.meta_schedule.module_equality import ModuleEquality

from .database import Database, fastest
from .record import TuningRecord, Workload


class WorkloadTable:
    """Workloads that are found by the equality of their modules."""

    def __init__(self, module_equality: str) -> None:
        self._equality = ModuleEquality.create(module_equality)
        self._by_hash: dict[int, list[Workload]] = {}
        self.items: list[Workload] = []

    def find(self, mod: IRModule) -> Workload | None:
        """The workload whose module is equal, or None."""
        for workload in self._by_hash.get(self._equality.hash(mod), ()):
            if workload.mod is mod or self._equality.equal(workload.mod, mod):
                return workload
        return None

    def add(self, workload: Workload) -> None:
        """Keep a workload that `find` did not find."""
        self._by_hash.setdefault(self._equality.hash(workload.mod), []).append(workload)
        self.items.append(workload)


class MemoryDatabase(Database):
    """Keeps `workloads` and `records` in lists."""

    def __init__(self, module_equality: str = "structural") -> None:
        self._table = WorkloadTable(module_equality)
        self.records: list[TuningRecord] = []

    @property
    def workloads(self) -> list[Workload]:
        """All workloads, oldest first."""
        return self._table.items

    def has_workload(self, mod: IRModule) -> bool:
        """Whether there is a workload equal to the module."""
        return self._table.find(mod) is not None

    def commit_workload(self, mod: IRModule) -> Workload:
        """The workload of a module, which is new if there was none."""
        found = self._table.find(mod)
        if found is None:
            found = Workload(mod)
            self._table.add(found)
        return found

    def commit_tuning_record(self, record: TuningRecord) -> None:
        """Keep a record."""
        self.records.append(record)

    def get_top_k(self, workload: Workload, top_k: int) -> list[TuningRecord]:
        """The fastest `top_k` valid records of a workload, fastest first."""
        mine = self._table.find(workload.mod)
        return fastest((r for r in self.records if self._is_of(r, workload, mine)), top_k)

    def _is_of(self, record: TuningRecord, workload: Workload, mine: Workload | None) -> bool:
        own = record.workload
        return own is workload or own is mine or self._table.find(own.mod) is mine is not None

    def get_all_tuning_records(self) -> list[TuningRecord]:
        """All records, oldest first."""
        return list(self.records)
