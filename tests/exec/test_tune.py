"""`tvm tune`: from a file to the faster of two libraries."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm.driver.tune import TaskState
from tvm.exec.cli import main
from tvm.exec.tune import Compared, budget, task_table

pytestmark = pytest.mark.cpu

PROGRAM = """
from tvm.script import ir as I
from tvm.script import tir as T

@I.ir_module
class Module:
    @T.prim_func
    def twice(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        T.func_attr({"tir.noalias": True})
        for i in range(64):
            with T.block("B"):
                vi = T.axis.spatial(64, i)
                B[vi] = A[vi] * T.float32(2)
"""


@pytest.mark.parametrize(
    ("text", "trials", "seconds"),
    [("60s", None, 60.0), ("5m", None, 300.0), ("1.5h", None, 5400.0), ("7", None, 7.0),
     ("200t", 200, None)],
)  # fmt: skip
def test_budgets(text: str, trials: int | None, seconds: float | None) -> None:
    assert budget(text) == (trials, seconds)


@pytest.mark.parametrize("text", ["", "0s", "-1s", "1d", "ten"])
def test_no_budgets(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="legal: seconds, minutes or hours"):
        budget(text)


def test_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "twice.py").write_text(PROGRAM)
    library, records = tmp_path / "twice.so", tmp_path / "records"
    words = ["tune", str(tmp_path / "twice.py"), "--budget", "2t", "-o", str(library),
             "--records", str(records), "--json"]  # fmt: skip
    assert main(words) == 0
    record = json.loads(capsys.readouterr().out)
    (task,) = record["tasks"]
    assert (task["name"], task["errors"]) == ("twice", {})
    assert task["rule_s"] > 0
    assert task["best_s"] > 0
    assert (records / "database_tuning_record.json").read_text().count("\n") == task["trials"]
    assert task["trials"] >= 1
    x, out = np.arange(64, dtype="f4"), tvm.runtime.empty((64,), "float32")
    tvm.runtime.load_module(str(library))["twice"](tvm.runtime.tensor(x), out)
    np.testing.assert_array_equal(out.numpy(), x * 2)


@pytest.mark.parametrize(
    ("words", "why"),
    [(["none.onnx", "-o", "a.so"], "cannot read the model"),
     (["none.py", "-o", "a.so"], "cannot read the program"),
     (["none.py", "-o", "a.txt"], "suffix '.txt'"),
     (["none.py", "-o", "a.so", "--budget", "1d"], "'1d' is no budget")],
)  # fmt: skip
def test_refused(
    words: list[str], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["tune", *words]) == 1
    assert why in capsys.readouterr().err


def test_bytes_that_are_no_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.py").write_bytes(b"\xff\xfe")
    assert main(["tune", str(tmp_path / "p.py"), "-o", str(tmp_path / "a.so")]) == 1
    assert "text as UTF-8" in capsys.readouterr().err


def test_table() -> None:
    rows = [TaskState("conv", 2, 5, 10e-6, 5e-6, {"crashed": 1}),
            TaskState("add", 1, 0, None, None, {})]  # fmt: skip
    lines = task_table(rows).splitlines()
    assert lines[2].split() == ["conv", "2", "10.0", "5.0", "2.00", "5", "1"]
    assert lines[3].split() == ["add", "1", "-", "-", "-", "0", "0"]


def test_what_is_better() -> None:
    assert Compared(2.0, 1.0, 0.0).better
    assert not Compared(1.0, 2.0, 0.0).better, "slower"
    assert not Compared(2.0, 1.0, 0.1).better, "wrong"
