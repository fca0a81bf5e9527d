"""Remainders."""

from __future__ import annotations

import pytest

from tests.arith.fuzz import Source, Undefined, evaluate, points
from tvm import tir
from tvm.arith import Analyzer, ModularSet
from tvm.arith.modular_set import intersect_residues, union_residues
from tvm.tir import expr as e

pytestmark = pytest.mark.pure
x, y = e.Var("x", "int32"), e.Var("y", "int32")
fld, flm = tir.floordiv, tir.floormod

CASES = [
    (e.Cast("int32", e.Call("int32", "tir.tvm_context_id", [])), (1, 0)),
    (x * 2 + 1, (2, 1)),
    (x * 6 + y * 4 + 3, (2, 1)),
    ((x * 4 + 2) * (y * 6 + 1), (4, 2)),
    (x * 4 - y * 6 + 5, (2, 1)),
    (fld(x * 4 + 2, 2), (2, 1)),
    (flm(x * 4 + 3, 8), (4, 3)),
    (flm(x * 8 + 3, 4), (4, 3)),
    (tir.truncmod(x * 4 + 3, 2), (1, 0)),  # of either sign
    (tir.truncmod(x * 4 + 2, 2), (2, 0)),
    (tir.min(x * 3, y * 9), (3, 0)),
    (tir.max(x * 3 + 1, y * 9 + 4), (3, 1)),
    (tir.Select(x > 0, x * 16 + 16, y * 16 + 16), (16, 0)),
    (x << 3, (8, 0)),
    ((x * 8) >> 2, (2, 0)),
    ((x * 8 + 5) & 3, (4, 1)),
    (e.IntImm("int32", 7), (0, 7)),
]


@pytest.mark.parametrize(("expr", "expected"), CASES)
def test_residues(expr, expected) -> None:
    found = Analyzer().modular_set(expr)
    assert (found.coeff, found.base) == expected


def test_facts() -> None:
    analyzer = Analyzer()
    with analyzer.constraint_scope(flm(x, 3) == 2):
        assert repr(analyzer.modular_set(x)) == "ModularSet(coeff=3, base=2)"
        with analyzer.constraint_scope(flm(x, 4) == 1):
            assert analyzer.residue(x) == (12, 5)
        with analyzer.constraint_scope(y == x * 2):
            assert analyzer.residue(y) == (6, 4)
    assert analyzer.residue(x) == (1, 0)
    analyzer.update(x, ModularSet(4, 1))
    assert analyzer.residue(x * 2) == (8, 2)


def test_sets_of_residues() -> None:
    for a in [(0, 3), (4, 1), (6, 3), (1, 0), (5, 2)]:
        for b in [(0, 9), (4, 3), (6, 5), (1, 0), (10, 7)]:
            in_a = {v for v in range(-60, 61) if _has(a, v)}
            in_b = {v for v in range(-60, 61) if _has(b, v)}
            assert in_a | in_b <= {v for v in range(-60, 61) if _has(union_residues(a, b), v)}
            both = intersect_residues(a, b)
            assert in_a & in_b <= {v for v in range(-60, 61) if _has(both, v)}


def _has(residue: tuple[int, int], value: int) -> bool:
    coeff, base = residue
    return (value - base) % coeff == 0 if coeff else value == base


def test_residues_hold_for_random_expressions() -> None:
    for seed in range(1000, 1600):
        source = Source(seed)
        ranges, expr = source.ranges(), source.integer(3)
        residue = Analyzer().residue(expr)
        for values in points(ranges):
            try:
                assert _has(residue, evaluate(expr, values))
            except Undefined:
                continue


def test_small_types_wrap() -> None:
    v = e.Var("v", "uint8")
    assert Analyzer().residue(v * e.IntImm("uint8", 6)) == (2, 0)
