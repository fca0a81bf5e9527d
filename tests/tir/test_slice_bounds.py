"""Symbolic bounds of slices, checked against Python's."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.arith import Analyzer
from tvm.tir.slice_bounds import LARGEST, canonical_bound, slice_length

pytestmark = pytest.mark.pure

N, Q, S = (tir.Var(name, "int64") for name in "nqs")


def const(value: int) -> tir.IntImm:
    return tir.IntImm("int64", value)


@pytest.mark.parametrize("stride", [1, 2, -1, -3])
def test_length_is_that_of_a_python_slice(stride: int) -> None:
    """Of slices that do not end before they begin."""
    length = slice_length(N, Q, const(stride), const(10), inbound=False)
    symbolic = slice_length(N, Q, S, const(10), inbound=False)
    for begin in range(-10, 11):
        for end in range(-10, 11):
            wanted = len(range(10)[begin:end:stride])
            if not wanted:
                continue
            assert tir.interp.evaluate(length, {N: begin, Q: end}) == wanted
            assert tir.interp.evaluate(symbolic, {N: begin, Q: end, S: stride}) == wanted


def test_bounds_are_written_shortly() -> None:
    one = const(1)
    assert canonical_bound(N, N, one) is N
    assert canonical_bound(const(LARGEST), N, one) is N
    assert str(canonical_bound(const(2), N, one)) == "T.min(T.int64(2), n)"
    assert str(canonical_bound(const(-2), N, one)) == "T.min(T.max(T.int64(-2) + n, T.int64(0)), n)"
    from_end = "T.if_then_else(n - T.int64(1) < T.int64(0), n - T.int64(1) + n, n - T.int64(1))"
    assert str(canonical_bound(N - 1, N, one)) == f"T.min(T.max({from_end}, T.int64(0)), n)"


def test_what_is_promised_to_be_inside_is_not_clipped() -> None:
    found = slice_length(N, Q, const(1), const(10), inbound=True)
    assert str(Analyzer().simplify(found)) == "q - n"
    assert tir.interp.evaluate(slice_length(N, Q, const(-2), const(10), True), {N: 9, Q: -1}) == 5
