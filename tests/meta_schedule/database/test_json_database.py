"""A database of two files, written by one process or by several."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tvm
from tests.meta_schedule.programs import Add, Matmul
from tests.meta_schedule.schedules import commit, scheduled
from tvm.error import TVMError
from tvm.meta_schedule.database import JSONDatabase

pytestmark = pytest.mark.pure
WORKLOADS, RECORDS = "database_workload.json", "database_tuning_record.json"


def open_in(folder: Path, **options: object) -> JSONDatabase:
    return JSONDatabase(work_dir=str(folder), **options)


def test_files_are_there_at_once(tmp_path: Path) -> None:
    database = open_in(tmp_path / "new")
    assert Path(database.path_workload) == tmp_path / "new" / WORKLOADS
    assert Path(database.path_tuning_record) == tmp_path / "new" / RECORDS
    assert Path(database.path_workload).exists()
    assert Path(database.path_tuning_record).exists()


def test_written_and_read_again(tmp_path: Path) -> None:
    database = open_in(tmp_path)
    for run_secs, inner in (([3.0], 1), ([1.0, 2.0], 2), (None, 4), ([1e10], 8)):
        commit(database, run_secs, inner)
    database.commit_workload(Add)
    again = JSONDatabase(database.path_workload, database.path_tuning_record)
    assert len(again) == len(database) == 4
    assert again.has_workload(Add)
    found = again.get_top_k(again.commit_workload(Matmul), 5)
    assert [r.run_secs for r in found] == [[1.0, 2.0], [3.0]]
    assert str(found[0].trace) == str(scheduled(2).trace)
    tvm.ir.assert_structural_equal(found[0].workload.mod, Matmul)


def test_form_of_the_files(tmp_path: Path) -> None:
    record = commit(open_in(tmp_path), [1.5])
    (workload,) = (tmp_path / WORKLOADS).read_text().splitlines()
    assert json.loads(workload) == record.workload.as_json()
    (line,) = (tmp_path / RECORDS).read_text().splitlines()
    assert json.loads(line) == [0, record.as_json()]
    assert json.loads(line)[1][1] == [1.5]


def test_two_databases_on_the_same_files(tmp_path: Path) -> None:
    one, two = open_in(tmp_path), open_in(tmp_path)
    one.commit_workload(Add)
    commit(two, [2.0], inner=2)
    commit(one, [1.0], inner=8)
    assert len(one) == len(two) == 2
    assert two.has_workload(Add)
    best = two.get_top_k(two.commit_workload(Matmul), 1)[0]
    assert str(best.trace) == str(scheduled(8).trace)
    assert len((tmp_path / WORKLOADS).read_text().splitlines()) == 2


_WRITER = """
import sys
from tests.meta_schedule.schedules import commit
from tvm.meta_schedule.database import JSONDatabase
database = JSONDatabase(work_dir=sys.argv[1])
for i in range(20):
    commit(database, [float(sys.argv[2]) + i], inner=2 ** (i % 6))
"""


def test_two_processes(tmp_path: Path) -> None:
    started = [
        subprocess.Popen([sys.executable, "-c", _WRITER, str(tmp_path), first])
        for first in ("100", "200")
    ]
    assert [process.wait() for process in started] == [0, 0]
    database = open_in(tmp_path)
    assert len((tmp_path / WORKLOADS).read_text().splitlines()) == 1
    times = sorted(t for r in database.get_all_tuning_records() for t in r.run_secs)
    assert times == [*range(100, 120), *range(200, 220)]


def test_half_a_line_is_cut_off(tmp_path: Path) -> None:
    commit(open_in(tmp_path), [2.0])
    with (tmp_path / RECORDS).open("a") as sink:
        sink.write('[0, [[[["GetBl')  # the process that wrote was killed
    database = open_in(tmp_path)
    assert len(database) == 1
    commit(database, [1.0])
    assert [r.run_secs for r in open_in(tmp_path).get_all_tuning_records()] == [[2.0], [1.0]]


def test_what_may_differ(tmp_path: Path) -> None:
    assert open_in(tmp_path, module_equality="anchor-block").has_workload(Matmul) is False
    with pytest.raises(ValueError, match=r"Unknown module equality: loose"):
        open_in(tmp_path, module_equality="loose")


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"File doesn't exist: .*database_workload.json"):
        open_in(tmp_path, allow_missing=False)
    with pytest.raises(ValueError, match=r"found: no path_workload\n  legal: path_workload=, or"):
        JSONDatabase()


@pytest.mark.parametrize(
    ("name", "line", "why"),
    [
        (WORKLOADS, "{", r"Unable to parse Workload, on line 1 of file .*: Expecting property"),
        (WORKLOADS, "[1]", r"Unable to parse Workload, on line 1 of file .*a list of two"),
        (RECORDS, "[7, []]", r"Unable to parse TuningRecord, on line 1 .*one of the 0 lines"),
        (RECORDS, "[]", r"Unable to parse TuningRecord, on line 1 of file .*a list of two"),
    ],
)
def test_unreadable_lines(tmp_path: Path, name: str, line: str, why: str) -> None:
    open_in(tmp_path)
    (tmp_path / name).write_text(line + "\n")
    with pytest.raises(ValueError, match=f"(?s){why}"):
        open_in(tmp_path)


def test_what_stands_behind_a_broken_line_is_read(tmp_path: Path) -> None:
    database = open_in(tmp_path)
    commit(database, [1.0])
    line = (tmp_path / RECORDS).read_text()
    with (tmp_path / RECORDS).open("a") as records:
        records.write("[0, [1, 2]]\n" + line)
    with pytest.raises(ValueError, match=r"on line 2 of file"):
        database.get_all_tuning_records()
    assert len(database.get_all_tuning_records()) == 2


def test_damaged_lines_are_refused_by_name(tmp_path: Path) -> None:
    """Characters changed at random: a line is as it was, refused, or a trace that does not fit."""
    commit(open_in(tmp_path), [1.0])
    whole = (tmp_path / RECORDS).read_text()
    random = np.random.RandomState(1)
    for _ in range(60):
        text = list(whole.rstrip("\n"))
        for at in random.randint(0, len(text), 2):
            text[at] = chr(random.randint(32, 127))
        (tmp_path / RECORDS).write_text("".join(text) + "\n")
        try:
            for record in open_in(tmp_path).get_all_tuning_records():
                record.schedule()
        except TVMError:
            pass  # whatever else is raised is a fault
