"""The tables of a database in SQL, and how to reach them: SQLite by default, PostgreSQL by URL.

    workload   one row a program: its hash, its module as JSON in base64
    trial      one row a measurement: trace, seconds or error, target, machine, versions, time

It needs the package `sqlalchemy` (`pip install "tvm-py[db]"`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from tvm.error import message

from .record import RecordError

SCHEMA: Final = 1
_DRIVERS: Final = {
    "sqlite": "sqlite",
    "sqlite+pysqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
_LEGAL: Final = "sqlite:///PATH, postgresql://USER@HOST/DATABASE"
_BUSY_S: Final = 120.0  # how long a writer waits for others
_ATTEMPTS: Final = 5  # at a transaction whose connection was lost
_LOCK: Final = 0x74766D  # names the lock of all writers of a PostgreSQL database
T = TypeVar("T")


class DatabaseError(RecordError):
    """A database of records that cannot be reached, read or written."""


class Tables:
    """A connection pool, and the tables behind it, which are made where there are none."""

    def __init__(self, url: str) -> None:
        self.sql: Any = _package("sqlalchemy")
        self._errors: Any = importlib.import_module("sqlalchemy.exc")
        given = self._parsed(url)
        self.is_sqlite = given.get_backend_name() == "sqlite"
        self.shown = given.render_as_string(hide_password=True)
        options: dict[str, Any] = {"pool_pre_ping": True}
        if self.is_sqlite:
            options["connect_args"] = {"timeout": _BUSY_S}
        self.engine: Any = self.sql.create_engine(given, **options)
        if self.is_sqlite:
            self.sql.event.listen(self.engine, "connect", _own_transactions)
            self.sql.event.listen(self.engine, "begin", _begin)
        metadata = self.sql.MetaData()
        self._facts = self._declare_facts(metadata)
        self.workload = self._declare_workload(metadata)
        self.trial = self._declare_trial(metadata)
        self._metadata = metadata
        self.writing(self._set_up)

    def close(self) -> None:
        """Give the connections back."""
        self.engine.dispose()

    # --- transactions ---

    def reading(self, work: Callable[[Any], T]) -> T:
        """What `work(connection)` gives, in a transaction of its own."""
        return self._attempt(work, write=False)

    def writing(self, work: Callable[[Any], T]) -> T:
        """The same, while nobody else writes. `work` may be called again where a connection was
        lost: what it does twice must be as good as once.
        """
        return self._attempt(work, write=True)

    def _attempt(self, work: Callable[[Any], T], write: bool) -> T:
        for left in reversed(range(_ATTEMPTS)):
            try:
                with self._transaction(write) as connection:
                    return work(connection)
            except self._errors.DBAPIError as err:
                if not (err.connection_invalidated and left):
                    raise self._refused(err) from err
        raise AssertionError("the last attempt gives a result or an error")

    @contextmanager
    def _transaction(self, write: bool) -> Iterator[Any]:
        with self.engine.connect() as connection:
            ready = connection.execution_options(tvm_writes=write)
            with ready.begin():
                if write and not self.is_sqlite:  # held until the transaction ends
                    ready.execute(self.sql.select(self.sql.func.pg_advisory_xact_lock(_LOCK)))
                yield ready

    def _refused(self, err: Any) -> DatabaseError:
        lines = str(err.orig if err.orig is not None else err).strip().splitlines()
        return DatabaseError(
            message(
                f"the database {self.shown}",
                found=lines[0] if lines else type(err).__name__,
                legal="a database that this user can reach and write",
            )
        )

    # --- tables ---

    def _set_up(self, connection: Any) -> None:
        self._metadata.create_all(connection)
        facts = self._facts
        found = connection.execute(
            self.sql.select(facts.c.value).where(facts.c.name == "schema")
        ).scalar()
        if found is None:
            connection.execute(facts.insert().values(name="schema", value=str(SCHEMA)))
        elif found != str(SCHEMA):
            raise DatabaseError(
                message(
                    f"the database {self.shown}",
                    found=f"tables of form {found}",
                    legal=f"form {SCHEMA}, which this version of tvm reads and writes",
                )
            )

    def _declare_facts(self, metadata: Any) -> Any:
        sql = self.sql
        return sql.Table(
            "tvm_facts", metadata,
            sql.Column("name", sql.String(64), primary_key=True),
            sql.Column("value", sql.Text, nullable=False),
        )  # fmt: skip

    def _declare_workload(self, metadata: Any) -> Any:
        sql = self.sql
        return sql.Table(
            "workload", metadata,
            sql.Column("id", sql.Integer, primary_key=True),
            sql.Column("shash", sql.String(20), nullable=False, index=True),  # decimal, 64 bits
            sql.Column("module", sql.Text, nullable=False),  # JSON in base64
        )  # fmt: skip

    def _declare_trial(self, metadata: Any) -> Any:
        sql = self.sql
        return sql.Table(
            "trial", metadata,
            sql.Column("id", sql.Integer, primary_key=True),
            # chosen by the writer, so that a repeated insertion is none
            sql.Column("uid", sql.String(32), nullable=False, unique=True),
            sql.Column("workload_id", sql.ForeignKey("workload.id"), nullable=False),
            sql.Column("trace", sql.Text, nullable=False),  # JSON
            sql.Column("run_secs", sql.Text),  # JSON; null if it was not measured
            sql.Column("mean_secs", sql.Float),  # null if it is not valid
            sql.Column("target", sql.Text),  # JSON
            sql.Column("args_info", sql.Text),  # JSON
            sql.Column("error", sql.Text),  # why there is no time
            sql.Column("log", sql.Text),
            sql.Column("machine", sql.Text, nullable=False),
            sql.Column("rules", sql.String(64), nullable=False),
            sql.Column("kept_at", sql.DateTime(timezone=True), nullable=False),  # UTC
            sql.Index("trial_best", "workload_id", "mean_secs"),
        )  # fmt: skip

    def _parsed(self, url: str) -> Any:
        head, _, rest = url.partition("://")
        if head not in _DRIVERS or not rest:
            raise DatabaseError(message("the URL of a database", found=repr(url), legal=_LEGAL))
        if _DRIVERS[head] != "sqlite":
            _package("psycopg")
        try:
            return self.sql.engine.make_url(f"{_DRIVERS[head]}://{rest}")
        except (self._errors.ArgumentError, ValueError) as err:
            raise DatabaseError(
                message("the URL of a database", found=f"{head}://... ({err})", legal=_LEGAL)
            ) from err


def is_url(text: object) -> bool:
    """Whether a name of records is the URL of a database, not a folder."""
    return isinstance(text, str) and text.partition("://")[0] in _DRIVERS and "://" in text


def _own_transactions(connection: Any, _record: Any) -> None:
    """SQLite: several processes at once, and transactions that begin where we say."""
    connection.isolation_level = None
    cursor = connection.cursor()
    for setting in ("journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {setting}")
    cursor.close()


def _begin(connection: Any) -> None:
    # a reader that becomes a writer meanwhile could fail; who will write says so at once
    writes = connection.get_execution_options().get("tvm_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as err:
        raise DatabaseError(
            message(
                "a database in SQL", found=f"no package {name} ({err})",
                legal='pip install "tvm-py[db]"',
            )
        ) from err  # fmt: skip
