"""Every public function has a test that is watched to call it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.topi import calls
from tests.topi.numerics import close, evaluate
from tvm import topi

pytestmark = pytest.mark.pure


def test_each_function_is_promised_a_test() -> None:
    promised = calls.promised()
    assert sorted(promised) == sorted(calls.public_functions().values())
    files = {test.partition("::")[0] for test in promised.values()}
    assert [name for name in files if not (calls.RECORD.parent / name).is_file()] == []


def test_calls_by_tests_are_seen_and_those_within_are_not() -> None:
    names = calls.public_functions()
    with calls.watched() as codes:
        close(evaluate(lambda x: topi.nn.softmax(x), np.zeros((1, 1), "float32")), np.ones((1, 1)))
    assert {names[code] for code in codes if code in names} == {"tvm.topi.nn.softmax.softmax"}
    assert calls.compares(codes)


BEFORE = "a test_a.py::test_one\nb test_a.py::test_two\nc test_c.py::test_three\n"


@pytest.mark.parametrize(
    ("whole_files", "after"),
    [
        (True, "a test_a.py::test_new\nc test_c.py::test_three\n"),
        (False, BEFORE),
    ],
)
def test_promises_of_tests_that_did_not_run_stay(
    tmp_path: Path, whole_files: bool, after: str
) -> None:
    record = tmp_path / "compared.txt"
    record.write_text(BEFORE)
    calls.write({"test_a.py::test_new": ({"a"}, True)}, whole_files, record)
    assert record.read_text() == after


def test_a_test_that_ran_promises_what_it_calls(tmp_path: Path) -> None:
    record = tmp_path / "compared.txt"
    record.write_text(BEFORE)
    seen = {"test_a.py::test_one": ({"b"}, False), "test_a.py::test_two": ({"b", "d"}, True)}
    calls.write(seen, True, record)
    assert calls.promised(record) == {
        "b": "test_a.py::test_two", "c": "test_c.py::test_three", "d": "test_a.py::test_two",
    }  # fmt: skip
