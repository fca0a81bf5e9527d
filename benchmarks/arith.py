"""The analyzer on index expressions: time to simplify, to prove a bound, and how both grow.

Expressions are those of tiled matmul, convolution and reshaping kernels. Each figure is a median of
fresh analyzers, so nothing is remembered from one run to the next.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from tvm import tir
from tvm.arith import Analyzer
from tvm.ir import PrimExpr, Range

NAMES = ("i0", "i1", "j0", "j1", "k0", "k1", "n", "h", "w", "kh", "kw", "ci", "co")
EXTENTS = (64, 16, 16, 64, 256, 4, 1, 28, 28, 3, 3, 64, 128)
REPEATS = 40


def variables() -> dict[str, tir.Var]:
    """The loop variables by name."""
    return {name: tir.Var(name, "int32") for name in NAMES}


def index_expressions(v: dict[str, tir.Var]) -> list[PrimExpr]:
    """Index expressions and guards as scheduled kernels have them."""
    fld, flm = tir.floordiv, tir.floormod
    row = v["i0"] * 16 + v["i1"]
    flat = v["i0"] * 4096 + v["i1"] * 256 + v["j1"]
    fused = v["i0"] * 1024 + v["i1"] * 4 + v["k1"]
    high, wide = v["h"] * 2 + v["kh"], v["w"] * 2 + v["kw"]
    return [
        row * 1024 + (v["k0"] * 4 + v["k1"]),
        (v["k0"] * 4 + v["k1"]) * 1024 + (v["j0"] * 64 + v["j1"]),
        (((v["n"] * 56 + high) * 56 + wide) * 64) + v["ci"],
        fld(row, 4),
        flm(row, 4) * 256 + fld(v["j0"] * 64 + v["j1"], 16),
        fld(fld(flat, 64), 56) * 64 + flm(flat, 64),
        flm(fld(fused, 14), 14) * 128 + flm(fused, 14),
        row < 1000,
        tir.all(high >= 1, high < 57, wide >= 1),
        tir.min(row + 16, 1000) - row,
        (fld(v["co"], 16) * 56 + v["h"]) * 896 + v["w"] * 16 + flm(v["co"], 16),
        row - v["i0"] * 16,
        fld(v["ci"], 8) * 8 + flm(v["ci"], 8),
    ]


def bounds_to_prove(v: dict[str, tir.Var]) -> list[PrimExpr]:
    """Conditions that hold, as lowering asks for them."""
    return [
        v["i0"] * 16 + v["i1"] < 1024,
        v["k0"] * 4 + v["k1"] >= 0,
        tir.floordiv(v["i0"] * 16 + v["i1"], 4) < 256,
        tir.floormod(v["co"], 16) + tir.floordiv(v["co"], 16) * 16 < 128,
        tir.all(v["h"] * 2 + v["kh"] < 57, v["w"] * 2 + v["kw"] >= 0),
    ]


def analyzer_with(v: dict[str, tir.Var]) -> Analyzer:
    """An analyzer that knows the ranges of the loops."""
    analyzer = Analyzer()
    for name, extent in zip(NAMES, EXTENTS):
        analyzer.bind(v[name], Range(0, extent))
    return analyzer


def median_us(v: dict[str, tir.Var], run: Callable[[Analyzer], object]) -> float:
    """The median time of `run` with a fresh analyzer, in microseconds."""
    times = []
    for _ in range(REPEATS):
        analyzer = analyzer_with(v)
        start = time.perf_counter()
        run(analyzer)
        times.append(time.perf_counter() - start)
    return statistics.median(times) * 1e6


def long_sum(terms: int) -> PrimExpr:
    """x0 * 1 + x1 * 2 + x0 * 3 + ..., over eight variables."""
    names = [tir.Var(f"x{i}", "int32") for i in range(8)]
    total: PrimExpr = names[0]
    for i in range(1, terms):
        total = total + names[i % 8] * (i % 5 + 1)
    return total


def main() -> None:
    """Print the tables."""
    v = variables()
    print("simplify, us      expression")
    found = []
    for expr in index_expressions(v):
        found.append(median_us(v, lambda a, expr=expr: a.simplify(expr)))
        print(f"{found[-1]:12.0f}      {expr}")
    print(f"{statistics.median(found):12.0f}      median\n")
    print("can_prove, us     condition")
    proofs = []
    for condition in bounds_to_prove(v):
        assert analyzer_with(v).can_prove(condition), condition
        proofs.append(median_us(v, lambda a, c=condition: a.can_prove(c)))
        print(f"{proofs[-1]:12.0f}      {condition}")
    print(f"{statistics.median(proofs):12.0f}      median\n")
    print("terms of a sum    simplify, ms    us a term")
    for terms in (10, 100, 1000, 5000):
        total = long_sum(terms)
        start = time.perf_counter()
        Analyzer().simplify(total)
        spent = time.perf_counter() - start
        print(f"{terms:14d}    {spent * 1e3:12.2f}    {spent * 1e6 / terms:9.1f}")


if __name__ == "__main__":
    main()
