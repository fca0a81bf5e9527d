"""Offsets that were split into indices and put together again."""

from __future__ import annotations

import itertools

import pytest

from tvm import tir
from tvm.arith import Analyzer
from tvm.arith.merge_quotients import merge_quotients
from tvm.ir import structural_equal

pytestmark = pytest.mark.pure
K, P, S, M = (tir.Var(name, "int32") for name in "kpsm")


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_pairs_in_any_order(order: tuple[int, ...]) -> None:
    parts = [K % P // S * S, K % P % S, K // P * P]
    total = parts[order[0]] + parts[order[1]] + parts[order[2]]
    assert structural_equal(merge_quotients(total), K)
    assert structural_equal(merge_quotients(parts[0] + parts[1]), K % P)


def test_quotients_in_factors() -> None:
    """The places of rows in planes: ((i * p) + k // s) * s + k % s."""
    place = (M * P + K // S) * S + K % S
    assert structural_equal(merge_quotients(place), Analyzer().simplify(K + M * P * S))
    other = (M * P + K // S) * P + K % S
    assert structural_equal(merge_quotients(other), Analyzer().simplify(other))


def test_other_sums_are_only_simplified() -> None:
    for total in (K // S * P + K % S, K // S * S + K % P, K // S * S + P % S):
        assert structural_equal(merge_quotients(total), total)


def test_offsets_of_buffers() -> None:
    buffer = tir.decl_buffer((M, S))
    for row, column, offset in (
        (K // S, K % S, K),
        (K % P // S, K % P % S, K % P),
        (K % P // S, K % P % S + K // P * P, K),
    ):
        [found] = buffer.offset_of((row, column))
        assert structural_equal(found, offset)
    strided = tir.decl_buffer((3, 3), strides=[M, 2], elem_offset=50)
    assert str(strided.offset_of((2, 3))[0]) == "m * 2 + 56"


def test_an_offset_among_four_axes() -> None:
    i, j, k = (tir.Var(name, "int32") for name in "ijk")
    x = i * 1152 + j * 640 + k
    indices = (x // 32 // 6 // 6, x // 32 // 6 % 6, x // 32 % 6, x % 32)
    [found] = tir.decl_buffer((1, 6, 6, 32)).offset_of(indices)
    assert structural_equal(found, x)
