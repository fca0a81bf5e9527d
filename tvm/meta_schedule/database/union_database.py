"""Several databases as one: the fastest of their answers."""

from __future__ import annotations

from tvm.error import message
from tvm.ir.module import IRModule
from tvm.target.target import Target

from .database import Database
from .record import TuningRecord


class UnionDatabase(Database):
    """Answers queries with the fastest record of its databases; all else is theirs to do."""

    def __init__(self, *databases: Database) -> None:
        self.databases = checked(databases)

    def query_tuning_record(
        self, mod: IRModule, target: Target, workload_name: str
    ) -> TuningRecord | None:
        """The fastest of all answers, or None."""
        found = [d.query_tuning_record(mod, target, workload_name) for d in self.databases]
        return min((r for r in found if r is not None), key=lambda r: r.mean_secs, default=None)


def checked(databases: tuple[Database, ...]) -> list[Database]:
    """The databases as a list; a TypeError for anything else among them."""
    for database in databases:
        if not isinstance(database, Database):
            raise TypeError(
                message("a union of databases", found=repr(database), legal="databases")
            )
    return list(databases)
