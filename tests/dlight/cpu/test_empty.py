"""Functions over no places are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from tests.dlight.programs import SPR, matmul, reduction
from tvm import dlight
from tvm.dlight.cpu import Empty
from tvm.ir import IRModule
from tvm.tir.function import PrimFunc
from tvm.tir.interp import run

ROWS = matmul(0, 4, 3)
STEPS = matmul(2, 4, 0, epilogue=True)


@pytest.mark.parametrize("func", [ROWS, reduction((0, 8), (1,))])
def test_no_places(func: PrimFunc) -> None:
    with SPR:
        mod = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(IRModule({"main": func}))
    assert "no places" in str(mod["main"].attrs["schedule_reason"])


def test_a_sum_of_nothing_is_zero() -> None:
    with SPR:
        mod = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(IRModule({"main": STEPS}))
    bias = np.array([1, -1, 2, -2], "float32")
    out = np.full((2, 4), 9, "float32")
    run(mod["main"], np.zeros((2, 0), "float32"), np.zeros((0, 4), "float32"), bias, out)
    np.testing.assert_array_equal(out, np.maximum([bias, bias], 0))


def test_others_are_left_to_other_rules() -> None:
    assert Empty().apply(matmul(1, 1, 1), SPR, False) is None
