"""Databases: which schedules were measured for which programs, and how fast they were."""

from .copying import copy_records
from .database import Database, PyDatabase, create
from .json_database import JSONDatabase
from .memory_database import MemoryDatabase
from .ordered_union_database import OrderedUnionDatabase
from .record import TuningRecord, Workload
from .schedule_fn_database import ScheduleFnDatabase
from .sql_database import SQLDatabase, Trial
from .sql_tables import DatabaseError
from .union_database import UnionDatabase

__all__ = [
    "Database", "PyDatabase", "create", "JSONDatabase", "MemoryDatabase",
    "OrderedUnionDatabase", "TuningRecord", "Workload", "ScheduleFnDatabase", "SQLDatabase",
    "Trial", "DatabaseError", "UnionDatabase", "copy_records",
]  # fmt: skip
