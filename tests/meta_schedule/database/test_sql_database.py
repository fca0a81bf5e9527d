"""Records in SQL: the same questions answered by SQLite and by a PostgreSQL server."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("sqlalchemy")

import tvm
from tests.meta_schedule.database.servers import emptied, needs_postgres
from tests.meta_schedule.programs import Add, Matmul
from tests.meta_schedule.schedules import LLVM, commit, scheduled, trial_of
from tvm.error import TVMError
from tvm.meta_schedule.database import Database, SQLDatabase
from tvm.meta_schedule.rules_version import rules_version
from tvm.target import Target

pytestmark = pytest.mark.pure


# --- what every database answers ---


def test_kept_and_read_again(url: str) -> None:
    database = SQLDatabase(url)
    for run_secs, inner in (([3.0], 1), ([1.0, 2.0], 2), (None, 4), ([1e10], 8)):
        commit(database, run_secs, inner)
    database.commit_workload(Add)
    again = SQLDatabase(url)
    assert len(again) == len(database) == 4
    assert again.has_workload(Add)
    found = again.get_top_k(again.commit_workload(Matmul), 5)
    assert [r.run_secs for r in found] == [[1.0, 2.0], [3.0]]
    assert str(found[0].trace) == str(scheduled(2).trace)
    tvm.ir.assert_structural_equal(found[0].workload.mod, Matmul)
    assert [r.run_secs for r in again.get_all_tuning_records()] == [
        [3.0], [1.0, 2.0], None, [1e10],
    ]  # fmt: skip
    assert again.get_top_k(again.commit_workload(Matmul), 0) == []
    with pytest.raises(ValueError, match="top_k=-1"):
        again.get_top_k(again.commit_workload(Matmul), -1)
    assert again.get_top_k(again.commit_workload(Add), 3) == []


def test_two_see_each_other(url: str) -> None:
    one, two = SQLDatabase(url), SQLDatabase(url)
    one.commit_workload(Add)
    commit(two, [2.0], inner=2)
    commit(one, [1.0], inner=8)
    assert len(one) == len(two) == 2
    assert two.has_workload(Add)
    best = two.query(Matmul, LLVM, kind="record")
    assert str(best.trace) == str(scheduled(8).trace)


def test_the_target_decides(url: str) -> None:
    database = SQLDatabase(url)
    wide, narrow = Target("llvm -mcpu=znver4"), Target("llvm -mcpu=haswell")
    database.commit_tuning_record(trial_of(database, [1.0], 2, wide))
    database.commit_tuning_record(trial_of(database, [2.0], 8, narrow))
    assert database.query(Matmul, narrow, kind="record").run_secs == [2.0]
    assert database.query(Matmul, wide, kind="record").run_secs == [1.0]
    assert database.query(Matmul, LLVM, kind="record").run_secs == [1.0], "of another target"
    assert database.query(Add, LLVM) is None


def test_what_a_trial_tells(url: str) -> None:
    database = SQLDatabase(url)
    database.commit_trial(
        trial_of(database, [1e10], 4, LLVM), "killed \0 after 30 s \ud800", "log of the worker"
    )
    commit(database, [1.0])
    failed, measured = SQLDatabase(url).trials(Matmul)
    assert failed.error == "killed \\0 after 30 s \\ud800"
    assert failed.log == "log of the worker"
    assert measured.error is None
    assert measured.rules == rules_version()
    assert measured.machine
    assert measured.kept_at.utcoffset().total_seconds() == 0
    assert measured.kept_at >= failed.kept_at
    assert (failed.number, measured.number) == (1, 2)
    assert database.trials(Add) == []


# --- several at once ---

_TUNER = """
import sys
from tests.meta_schedule.programs import Add
from tests.meta_schedule.schedules import commit
from tvm.meta_schedule.database import SQLDatabase
database = SQLDatabase(sys.argv[1])
database.commit_workload(Add)
for i in range(int(sys.argv[3])):
    commit(database, [float(sys.argv[2]) + i], inner=2 ** (i % 6))
    print(i, flush=True)
"""


def tuner(url: str, first: int, count: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _TUNER, url, str(first), str(count)],
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def times(url: str) -> list[float]:
    return sorted(float(t) for r in SQLDatabase(url).get_all_tuning_records() for t in r.run_secs)


def lose_none(url: str, tuners: int, count: int) -> None:
    started = [tuner(url, 1000 * (i + 1), count) for i in range(tuners)]
    for process in started:
        process.communicate()
    assert [process.returncode for process in started] == [0] * tuners
    assert times(url) == [1000.0 * (i + 1) + j for i in range(tuners) for j in range(count)]
    database = SQLDatabase(url)
    database.has_workload(Add)
    assert len(database._by_row) == 2, "a workload is there once"


def test_two_tuners(url: str) -> None:
    lose_none(url, 2, 5)


@pytest.mark.long
def test_eight_tuners(url: str) -> None:
    lose_none(url, 8, 100)


def kill_at_random(url: str, kills: int) -> None:
    """Every trial that a tuner has told of is there, whenever the tuner was killed."""
    told = 0
    for i in range(kills):
        process = tuner(url, 1000 * (i + 1), 500)
        lines = 1 + i * 7 % 5
        for _ in range(lines):
            process.stdout.readline()
        time.sleep(i % 4 * 0.003)
        process.kill()
        rest, _ = process.communicate()
        told += lines + rest.count("\n")
    kept = times(url)
    assert len(kept) == len(set(kept)), "none is doubled"
    assert told <= len(kept) <= told + kills, "what was under way may be there or not"
    commit(SQLDatabase(url), [0.5])
    assert times(url)[0] == 0.5


def test_killed_tuners(url: str) -> None:
    kill_at_random(url, 2)


@pytest.mark.long
def test_many_killed_tuners(url: str) -> None:
    kill_at_random(url, 100)


@needs_postgres
def test_lost_connections(server: str) -> None:
    url = emptied(server)
    database = SQLDatabase(url)
    commit(database, [2.0])
    import psycopg

    with psycopg.connect(url, autocommit=True) as other:
        other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND datname = current_database()"
        )
    commit(database, [1.0], inner=2)
    assert times(url) == [1.0, 2.0]


@needs_postgres
def test_a_connection_lost_within_a_transaction(
    server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    url = emptied(server)
    database = SQLDatabase(url)
    commit(database, [2.0])
    tables, kill = database._tables, [True]
    writing = tables.writing

    def interrupted(work: Callable[[object], object]) -> object:
        def killed_once(connection: object) -> object:
            result = work(connection)
            if kill:
                kill.clear()
                pid = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar()
                with psycopg.connect(url, autocommit=True) as other:
                    other.execute("SELECT pg_terminate_backend(%s)", (pid,))
            return result

        return writing(killed_once)

    monkeypatch.setattr(tables, "writing", interrupted)
    commit(database, [1.0], inner=2)
    assert not kill
    assert times(url) == [1.0, 2.0]


# --- what is wrong ---


@pytest.mark.parametrize(
    ("change", "why"),
    [("UPDATE trial SET trace = '{'", "trial 1 of the database"),
     ("UPDATE trial SET run_secs = '[-1]'", "the seconds of a record"),
     ("UPDATE workload SET module = '!'", "workload 1 of the database")],
)  # fmt: skip
def test_broken_rows(sqlite: str, tmp_path: Path, change: str, why: str) -> None:
    database = SQLDatabase(sqlite)
    commit(database, [1.0])
    database.close()
    with sqlite3.connect(tmp_path / "records.db") as raw:
        raw.execute(change)
    with pytest.raises(TVMError, match=why):
        SQLDatabase(sqlite).get_all_tuning_records()


def test_what_no_longer_applies(
    sqlite: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    database = SQLDatabase(sqlite)
    commit(database, [1.0], inner=8)
    commit(database, [2.0], inner=2)
    with sqlite3.connect(tmp_path / "records.db") as raw:
        raw.execute(
            "UPDATE trial SET trace = replace(trace, 'SamplePerfectTile', 'SampleOldTile'), "
            "rules = '0.0.1+abc' WHERE id = 1"
        )
    assert database.query(Matmul, LLVM, kind="record").run_secs == [2.0]
    assert "record 1 of sqlite:///" in caplog.text
    assert "does not apply" in caplog.text
    assert f"(found with 0.0.1+abc, this is {rules_version()})" in caplog.text


def test_full_disk(sqlite: str, tmp_path: Path) -> None:
    script = f"""
import resource, signal
from tests.meta_schedule.schedules import commit
from tvm.error import TVMError
from tvm.meta_schedule.database import SQLDatabase
database = SQLDatabase({sqlite!r})
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, 150_000))
kept = 0
try:
    for i in range(1000):
        commit(database, [1.0 + i], 2)
        kept += 1
except TVMError as err:
    print(kept, str(err).splitlines()[1])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    kept, _, why = done.stdout.partition(" ")
    assert "found:" in why, done.stderr
    assert times(sqlite) == [1.0 + i for i in range(int(kept))]
    commit(SQLDatabase(sqlite), [0.5])


# --- where a database is named ---


def test_by_url(sqlite: str) -> None:
    commit(Database.create(sqlite), [1.0])
    commit(Database.create("sql", sqlite), [2.0])
    assert len(Database.create(sqlite)) == 2
    with pytest.raises(ValueError, match="'sql'"):
        Database.create("sqlite")


def test_of_a_pass(sqlite: str) -> None:
    commit(SQLDatabase(sqlite), [1.0], inner=8)
    mod = tvm.IRModule({"matmul": Matmul["main"]})
    with LLVM:
        tuned = tvm.relax.transform.MetaScheduleApplyDatabase(sqlite)(mod)
    tvm.ir.assert_structural_equal(
        tuned["matmul"].body, scheduled(8).mod["main"].body, map_free_vars=True
    )


def test_of_another_equality(sqlite: str) -> None:
    commit(SQLDatabase(sqlite), [1.0])
    anchored = SQLDatabase(sqlite, module_equality="anchor-block")
    assert anchored.has_workload(Matmul)
    assert not anchored.has_workload(Add)


def test_ctrl_c_keeps_what_was_measured(sqlite: str) -> None:
    process = tuner(sqlite, 1000, 500)
    told = [process.stdout.readline() for _ in range(3)]
    os.kill(process.pid, signal.SIGINT)
    rest, _ = process.communicate()
    assert len(times(sqlite)) >= len(told) + rest.count("\n")
