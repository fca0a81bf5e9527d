"""Several databases as one: the answer of the first that has one."""

from __future__ import annotations

from tvm.ir.module import IRModule
from tvm.target.target import Target

from .database import Database
from .record import TuningRecord
from .union_database import checked


class OrderedUnionDatabase(Database):
    """Answers queries with the first record that its databases have; all else is theirs to do."""

    def __init__(self, *databases: Database) -> None:
        self.databases = checked(databases)

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> TuningRecord | None:
        """The first answer, or None."""
        for database in self.databases:
            found = database.query_tuning_record(mod, target, workload_name)
            if found is not None:
                return found
        return None
