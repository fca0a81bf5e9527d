"""Tuning PrimFuncs as a pass: what is written where, how much, and what uses it."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from pathlib import Path

import pytest

import tvm
from tests.docs.pages import ROOT
from tvm import relax
from tvm.relax import transform
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = [pytest.mark.cpu, pytest.mark.slow]
TARGET = "llvm -num-cores=1"


@I.ir_module
class Module:
    @T.prim_func
    def product(
        A: T.Buffer((16, 16), "float32"),
        B: T.Buffer((16, 16), "float32"),
        C: T.Buffer((16, 16), "float32"),
    ):
        T.func_attr({"global_symbol": "product"})
        for i, j, k in T.grid(16, 16, 16):
            with T.block("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]

    @R.function
    def main(x: R.Tensor((16, 16), "float32")):
        cls = Module
        with R.dataflow():
            y = R.call_tir(cls.product, (x, x), R.Tensor((16, 16), "float32"))
            R.output(y)
        return y


APPLY = """
import sys
import tvm
from tvm.relax.transform import MetaScheduleApplyDatabase
from tests.documents.test_meta_schedule_tune_tir import Module, TARGET
with tvm.target.Target(TARGET):
    out = MetaScheduleApplyDatabase(sys.argv[1])(Module)
func = out["product"]
print(func.attrs.get("tir.is_scheduled"), func.script() != Module["product"].script())
"""


def records(folder: Path) -> list[object]:
    lines = (folder / "database_tuning_record.json").read_text().splitlines()
    return [json.loads(line) for line in lines]


def test_the_form() -> None:
    parameters = inspect.signature(transform.MetaScheduleTuneTIR).parameters
    assert list(parameters) == ["work_dir", "max_trials_global"]
    assert all(p.default is inspect.Parameter.empty for p in parameters.values())
    made = transform.MetaScheduleTuneTIR(work_dir="x", max_trials_global=1000)
    assert isinstance(made, tvm.tir.transform.PrimFuncPass)
    info = made.info
    assert (info.name, info.opt_level, info.required, info.traceable) == (
        "MetaScheduleTuneTIR", 0, [], True,
    )  # fmt: skip


def test_a_search_its_folder_and_who_uses_it(tmp_path: Path) -> None:
    folder = tmp_path / "records"
    with tvm.target.Target(TARGET):
        tune = transform.MetaScheduleTuneTIR(str(folder), 3)
    # the target is the one that the pass was made with
    after = tvm.transform.Sequential([tune])(Module)
    tvm.ir.assert_structural_equal(after, Module)  # it finds, and changes nothing
    assert {p.name for p in folder.iterdir()} == {
        "database_workload.json", "database_tuning_record.json", "logs",
    }  # fmt: skip
    assert list((folder / "logs").iterdir())
    assert 1 <= len(records(folder)) <= 3
    assert len((folder / "database_workload.json").read_text().splitlines()) == 1

    first = len(records(folder))
    with tvm.target.Target(TARGET):
        transform.MetaScheduleTuneTIR(str(folder), 2)(Module)
    assert first < len(records(folder)) <= first + 2  # earlier records stay

    ran = subprocess.run(
        [sys.executable, "-c", APPLY, str(folder)], capture_output=True, text=True, cwd=ROOT,
        check=False,
    )  # fmt: skip
    assert ran.stdout.strip() == "True True", ran.stderr


def test_a_target_is_needed(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="MetaScheduleTuneTIR"):
        transform.MetaScheduleTuneTIR(str(tmp_path), 1)(Module)


def test_graphs_are_left_alone(tmp_path: Path) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.exp(x)))
    with tvm.target.Target(TARGET):
        assert transform.MetaScheduleTuneTIR(str(tmp_path), 1)(bb.get())["main"] is bb.get()["main"]
    assert not list(tmp_path.iterdir())
