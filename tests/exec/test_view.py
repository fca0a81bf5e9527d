"""`tvm view`, `tvm explain` and `tvm diff` as users call them."""

from __future__ import annotations

import json
import re
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import tvm
from tests.exec.test_tune import PROGRAM
from tests.report.conftest import program
from tvm.exec.cli import main
from tvm.report import Report
from tvm.report.second_choice import SecondChoice

pytestmark = pytest.mark.cpu


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved module."""
    path = tmp_path_factory.mktemp("model") / "net.json"
    path.write_text(tvm.ir.save_json(program()))
    return path


@pytest.fixture(scope="module")
def saved(model: Path) -> Path:
    """A saved report of it."""
    path = model.with_name("report.json")
    assert main(["view", str(model), "--save", str(path), "--json"]) == 0
    return path


def test_view_writes_page_report_and_trace(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "twice.py").write_text(PROGRAM)
    out, trace, report = (tmp_path / name for name in ("p.html", "t.json", "r.json"))
    words = ["view", str(tmp_path / "twice.py"), "--out", str(out), "--save", str(report)]
    assert main([*words, "--trace", str(trace), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["kernels"] == 1
    assert record["written"] == {str(p): p.stat().st_size for p in (out, report, trace)}
    assert "twice" in Report.load(report).kernels
    names = [event["name"] for event in json.loads(trace.read_text())["traceEvents"]]
    assert "twice" in names
    assert "tir.FlattenBuffer" in names


def test_explain_tells_why(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["explain", str(saved)]) == 0
    told = capsys.readouterr().out
    report = Report.load(saved)
    first = report.kernels[report.calls[0].kernel]
    assert re.search(rf"{first.name}\s+1\s+GEMM\s+\d+x\d+", told)
    assert "  from  net.onnx:dense, net.onnx:bias, net.onnx:relu\n" in told
    assert first.reason.split(",")[0] in told
    assert main(["explain", str(saved), "--kernel", "total", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["kernels"]
    assert row["sources"] == ["net.onnx:total"]
    assert row["kind"] == "float32"
    assert row["of_roof"] == pytest.approx(row["predicted_us"] / row["measured_us"])


def test_alternatives_are_measured(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["explain", str(model), "--alternatives", "--json"]) == 0
    rows = {row["rule"]: row for row in json.loads(capsys.readouterr().out)["kernels"]}
    assert rows["GEMM"]["alternative_us"] > 0
    assert rows["GEMM"]["alternative"] != rows["GEMM"]["reason"]
    assert rows["Fallback"]["alternative_us"] is None


def test_second_choice_is_the_first_where_no_other_fits() -> None:
    func = tvm.script.from_source(PROGRAM)["twice"]
    rules = tvm.dlight.cpu.default_rules()
    target = tvm.target.Target("llvm")
    only = SecondChoice(rules).apply(func, target, False)
    assert only is not None
    tvm.ir.assert_structural_equal(only.mod, rules[-1].apply(func, target, False).mod)


def test_diff_tells_what_changed(
    saved: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = Report.load(saved)
    first, second = (report.kernels[call.kernel] for call in report.calls)
    first.reason = "another tile"
    report.calls[0].measured_us = 1e6
    report.sources[-1].name = "net.onnx:sum"
    assert second.name in report.kernels
    report.save(tmp_path / "other.json")
    capsys.readouterr()
    assert main(["diff", str(saved), str(tmp_path / "other.json")]) == 0
    told = capsys.readouterr().out
    assert "1 gone, 1 new, 1 schedule" in told
    assert "  is   another tile" in told
    other = Report.load(saved)
    other.calls[0].shape = "float32[9, 64]"
    other.save(tmp_path / "shape.json")
    assert main(["diff", str(saved), str(tmp_path / "shape.json")]) == 0
    assert "1 same, 1 shape" in capsys.readouterr().out
    assert main(["diff", str(saved), str(saved), "--json"]) == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert [change["kind"] for change in changes] == ["same", "same"]


def test_a_library_tells_what_it_kept(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    library = tmp_path / "net.so"
    assert main(["compile", str(model), "-o", str(library)]) == 0
    capsys.readouterr()
    assert main(["explain", str(library), "--json"]) == 0
    record = json.loads(capsys.readouterr().out)
    assert [set(row["sources"]) for row in record["kernels"]]
    assert all(row["measured_us"] > 0 for row in record["kernels"])
    assert "a library keeps no texts" in record["notes"][0]


def test_the_server_answers_who_has_the_address(saved: Path) -> None:
    pytest.importorskip("uvicorn")
    from tvm.report.server import Server

    server = Server(Report.load(saved))
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        def get(url: str, **headers: str) -> tuple[int, str]:
            try:
                with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as got:
                    return got.status, got.read().decode()
            except urllib.error.HTTPError as error:
                return error.code, ""

        assert get(server.url)[1].startswith("<!doctype html>")
        assert Report.from_json(get(f"{server.url}report.json")[1]).title == "net.json"
        assert "traceEvents" in get(f"{server.url}trace.json")[1]
        root = server.url.rsplit("/", 2)[0]
        assert get(f"{root}/wrong/")[0] == 404
        assert get(root)[0] == 404
        assert get(server.url, Host="elsewhere.example")[0] == 400
    finally:
        server.stop()
        thread.join()
