"""Lengths of slices: their forms, and their values in both directions."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.arith import Analyzer
from tvm.arith.slice_length import simple_slice_length
from tvm.tir.interp import evaluate

Q = tir.Var("q", "int64")


def number(value: int) -> tir.IntImm:
    return tir.IntImm("int64", value)


def test_strides_of_known_sign_have_one_direction() -> None:
    size = tir.SizeVar("size", "int64")
    forms = [
        str(simple_slice_length(number(0), number(10), stride, False, Analyzer()))
        for stride in (number(3), size)
    ]
    assert forms == ["T.int64(4)", "T.int64(9) // size + T.int64(1)"]


def test_a_promised_direction_is_the_only_one() -> None:
    found = simple_slice_length(number(0), number(10), Q, True, Analyzer())
    assert str(found) == "(q + T.int64(9)) // q"


@pytest.mark.parametrize("q", [1, 2, 7, 20, -1, -2, -20])
def test_either_direction_counts(q: int) -> None:
    bounds = (2, 9) if q > 0 else (9, 2)
    found = simple_slice_length(*map(number, bounds), Q, False, Analyzer())
    assert evaluate(found, {Q: q}) == len(range(*bounds, q))
