from __future__ import annotations

import json
from pathlib import Path

import pytest

from tvm.error import TVMError
from tvm.report import SCHEMA, Report
from tvm.report.words import Call, LineTable

pytestmark = pytest.mark.pure


def test_texts_share_their_lines() -> None:
    table = LineTable()
    first = table.add("a\nb\nc")
    second = table.add("a\nx\nc")
    assert first == [0, 3]
    assert second == [0, 1, 3, 1, 2, 1]
    report = Report("t", "llvm", {}, lines=table.lines)
    assert report.text(first) == "a\nb\nc"
    assert report.text(second) == "a\nx\nc"


def test_json_reads_back(report: Report, tmp_path: Path) -> None:
    assert Report.from_json(report.to_json()) == report
    report.save(tmp_path / "net.json")
    assert Report.load(tmp_path / "net.json") == report


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ({"schema": SCHEMA + 1}, f"schema {SCHEMA + 1}"),
        ({"more": 1}, "report has a field 'more'"),
        ({"calls": [{"kernel": 3}]}, "report.calls[0].kernel is 3"),
        ({"lines": [1]}, "report.lines[0] is 1"),
        ({"latency_us": "long"}, "report.latency_us is 'long'"),
    ],
)
def test_other_json_is_refused(change: dict[str, object], found: str) -> None:
    data = json.loads(Report("t", "llvm", {}, calls=[Call("k", "v", "", [], [])]).to_json())
    with pytest.raises(TVMError, match="read a report") as error:
        Report.from_json(json.dumps({**data, **change}))
    assert found in str(error.value)


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TVMError, match="no JSON"):
        Report.from_json("{")


def test_notebooks_show_a_row_a_kernel(report: Report) -> None:
    shown = report._repr_html_()
    assert all(name in shown for name in report.kernels)
    assert "GEMM" in shown


def test_a_report_is_told_in_a_line() -> None:
    report = Report("net", "llvm", {}, lines=["x"] * 1000, latency_us=1234.56)
    assert repr(report) == "Report('net', 0 kernels, 1,234.6 us a run)"
    assert repr(Report("net", "llvm", {})) == "Report('net', 0 kernels)"
