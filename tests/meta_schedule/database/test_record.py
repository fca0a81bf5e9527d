"""Workloads and records, and their JSON."""

from __future__ import annotations

import base64
import json
import math
from typing import Any

import pytest

import tvm
from tests.ir.json_forms import NewForm, old_form
from tests.meta_schedule.programs import Add, Matmul
from tests.meta_schedule.schedules import commit, scheduled
from tvm.meta_schedule.database import MemoryDatabase, TuningRecord, Workload
from tvm.meta_schedule.database.record import RecordError
from tvm.tir import FloatImm

pytestmark = pytest.mark.pure


def test_workload_round_trip() -> None:
    stored = json.loads(json.dumps(Workload(Matmul).as_json()))
    assert stored[0] == str(tvm.ir.structural_hash(Matmul))
    tvm.ir.assert_structural_equal(Workload.from_json(stored).mod, Matmul)
    tvm.ir.assert_structural_equal(Workload.from_json(json.dumps(stored)).mod, Matmul)


@pytest.mark.parametrize("form", [NewForm().graph, old_form])
def test_workloads_that_the_original_wrote(form: Any) -> None:
    text = base64.b64encode(json.dumps(form(Matmul)).encode()).decode()
    workload = Workload.from_json(["123456", text])
    tvm.ir.assert_structural_equal(workload.mod, Matmul)
    assert workload.shash == tvm.ir.structural_hash(Matmul)


def test_record_round_trip() -> None:
    record = commit(MemoryDatabase(), [1.5, 2.5, 1.8])
    stored = json.loads(json.dumps(record.as_json()))
    again = TuningRecord.from_json(stored, record.workload)
    assert again.as_json() == stored, "before the trace is replayed"
    assert str(again.trace) == str(record.trace)
    assert again.run_secs == record.run_secs == [1.5, 2.5, 1.8]
    assert str(again.target) == str(record.target)
    assert again.args_info == record.args_info
    assert again.as_json() == stored


def test_unknown_parts_stay_unknown() -> None:
    record = TuningRecord(scheduled().trace, Workload(Matmul))
    again = TuningRecord.from_json(record.as_json(), record.workload)
    assert (again.run_secs, again.target, again.args_info) == (None, None, None)


def test_times_are_numbers() -> None:
    record = TuningRecord(scheduled().trace, Workload(Matmul), [FloatImm("float32", 0.5), 1])
    assert [t.value for t in record.run_secs] == [0.5, 1.0]
    assert record.mean_secs == 0.75


@pytest.mark.parametrize(
    ("run_secs", "valid"), [(None, False), ([], False), ([1e10], False), ([1e10, 1.0], True)]
)
def test_valid(run_secs: Any, valid: bool) -> None:
    assert TuningRecord(scheduled().trace, Workload(Matmul), run_secs).is_valid() is valid


def test_candidate_of_a_record() -> None:
    candidate = commit(MemoryDatabase(), [1.0]).as_measure_candidate()
    tvm.ir.assert_structural_equal(candidate.sch.mod, scheduled().mod)
    assert [info.as_json() for info in candidate.args_info] == [["TENSOR", "float32", [64, 64]]] * 3


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        ([1], "a workload"),
        (["1", 2], "a workload"),
        (["1", "&&"], "the module of a workload"),
        (["1", "e30="], "root and nodes"),
    ],
)
def test_no_workload(stored: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        Workload.from_json(stored)


@pytest.mark.parametrize(
    ("stored", "why"),
    [
        ([], "a tuning record"),
        ([1, None, None, None], "the trace of a record"),
        ([[[], []], ["1"], None, None], "the seconds of a record"),
        ([[[], []], [True], None, None], "the seconds of a record"),
        ([[[], []], [math.nan], None, None], "the seconds of a record"),
        ([[[], []], [math.inf], None, None], "the seconds of a record"),
        ([[[], []], [-1.0], None, None], "the seconds of a record"),
        ([[[], []], [0], None, None], "the seconds of a record"),
        ([[[], []], [1.0], 7, None], "the target of a record"),
        ([[[], []], [1.0], None, 7], "the arguments of a record"),
    ],
)
def test_no_record(stored: Any, why: str) -> None:
    with pytest.raises(RecordError, match=why):
        TuningRecord.from_json(stored, Workload(Add))


def test_no_module() -> None:
    with pytest.raises(TypeError, match=r"found: PrimFunc"):
        Workload(Add["main"])
