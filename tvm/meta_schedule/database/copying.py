"""Records move between databases of any kinds: from files of JSON to SQL, and back."""

from __future__ import annotations

from .database import Database
from .sql_database import SQLDatabase


def copy_records(source: Database, destination: Database) -> int:
    """Copy all records with their workloads; how many records they were.

    Between two databases in SQL, errors, logs, machines, versions and times come along. Nothing is
    replayed, so records of other versions move too.
    """
    if isinstance(source, SQLDatabase) and isinstance(destination, SQLDatabase):
        trials = source.trials()
        for trial in trials:
            destination.add(trial)
        return len(trials)
    records = source.get_all_tuning_records()
    for record in records:
        workload = destination.commit_workload(record.workload.mod)
        destination.commit_tuning_record(record.of_workload(workload))
    return len(records)
