"""Every public function has a test that is watched to call it."""

from __future__ import annotations

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
