"""Databases: which schedules were measured for which programs, and how fast they were."""

from .database import Database, PyDatabase, create
from .json_database import JSONDatabase
from .memory_database import MemoryDatabase
from .ordered_union_database import OrderedUnionDatabase
from .record import TuningRecord, Workload
from .schedule_fn_database import ScheduleFnDatabase
from .union_database import UnionDatabase

__all__ = [
    "Database", "PyDatabase", "create", "JSONDatabase", "MemoryDatabase",
    "OrderedUnionDatabase", "TuningRecord", "Workload", "ScheduleFnDatabase", "UnionDatabase",
]  # fmt: skip
