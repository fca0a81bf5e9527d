"""Files of records, a line each."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tvm.meta_schedule.post_optimization.utils import (
    clean_file,
    get_time,
    read_cfg_file,
    write_file,
)

pytestmark = pytest.mark.pure


def test_files(tmp_path: Path) -> None:
    path = str(tmp_path / "log")
    assert write_file([[0, [[], [1.0]]]], path) == path
    write_file([[0, [[], [2.0, 3.0]]]], path, "a")
    assert get_time(path) == [[1.0], [2.0, 3.0]]
    clean_file(path)
    clean_file(path)
    assert not Path(path).exists()
    other = write_file([1])
    assert Path(other).read_text() == "1\n"
    clean_file(other)


def test_the_best_record_of_each_workload(tmp_path: Path) -> None:
    workloads = write_file([["1", "a"], ["2", "b"]], str(tmp_path / "workloads"))
    lines = [[0, ["slow", [3.0, 5.0]]], [0, ["fast", [1.0, 2.0]]], [1, ["none", None]],
             [1, ["only", [7.0]]]]  # fmt: skip
    found = read_cfg_file(write_file(lines, str(tmp_path / "records")), workloads)
    assert {at: (secs, w) for at, (secs, _, w) in found.items()} == {
        0: (1.5, ["1", "a"]), 1: (7.0, ["2", "b"])}  # fmt: skip
    assert json.loads(Path(found[0][1]).read_text()) == lines[1]
    for _, path, _ in found.values():
        clean_file(path)
