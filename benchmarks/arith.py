"""The analyzer on index expressions: time to simplify, to prove a bound, and how both grow.

    python benchmarks/arith.py

Expressions are the indices and guards of this project's own kernels (matmul, convolution, attention
and the digits model), as they stand before the pass `tir.Simplify`. Each figure is the least of
some runs, each with a fresh analyzer that knows the loops, so nothing is remembered in between.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator

import guards

import tvm
from tvm import te, tir
from tvm.arith import Analyzer
from tvm.ir import PrimExpr, Range
from tvm.ir.transform import PassContext, Sequential
from tvm.tir.functor import walk
from tvm.tir.pipeline import lowering_passes

REPEATS = 15
Loops = dict[tir.Var, Range]


def attention(tokens: int, width: int) -> Iterator[tir.PrimFunc]:
    """softmax(Q K^T) and its product with V, as two kernels."""
    q, k = (te.placeholder((8, tokens, width), name=name) for name in "QK")
    p = te.placeholder((8, tokens, tokens), name="P")
    v = te.placeholder((8, tokens, width), name="V")
    yield te.create_prim_func([q, k, tvm.topi.nn.batch_matmul(q, k, transpose_b=True)])
    yield te.create_prim_func([p, v, tvm.topi.nn.batch_matmul(p, v, transpose_b=False)])
    yield te.create_prim_func([p, tvm.topi.nn.softmax(p, axis=2)])


def before_simplify(func: tir.PrimFunc) -> tir.PrimFunc:
    """The function as the pass Simplify gets it."""
    target = tvm.target.Target(guards.TARGET)
    mod = tvm.IRModule({"main": func.with_attrs({"global_symbol": "main", "target": target})})
    with target, PassContext() as ctx:
        passes = lowering_passes(ctx)
        end = [one.info.name for one in passes].index("tir.Simplify")
        return Sequential(passes[:end])(mod)["main"]


class Collector(tir.PyStmtExprVisitor):
    """Indices and conditions, and the ranges of the loops around them."""

    def __init__(self) -> None:
        super().__init__()
        self.loops: Loops = {}
        self.found: list[PrimExpr] = []

    def visit_for_(self, op: tir.For) -> None:
        """A range."""
        self.loops[op.loop_var] = Range.from_min_extent(op.min, op.extent)
        super().visit_for_(op)

    def visit_buffer_load_(self, op: tir.BufferLoad) -> None:
        """Indices."""
        self.found.extend(op.indices)
        super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op: tir.BufferStore) -> None:
        """Indices."""
        self.found.extend(op.indices)
        super().visit_buffer_store_(op)

    def visit_if_then_else_(self, op: tir.IfThenElse) -> None:
        """A guard."""
        self.found.append(op.condition)
        super().visit_if_then_else_(op)

    def visit_call_(self, op: tir.Call) -> None:
        """A guard within an expression."""
        if getattr(op.op, "name", "") == "tir.if_then_else":
            self.found.append(op.args[0])
        super().visit_call_(op)


def collected() -> list[tuple[PrimExpr, Loops]]:
    """Different index expressions of all kernels."""
    kernels = [func for _, func in guards.kernels()]
    kernels += [guards.scheduled(func) for func in attention(64, 64)]
    different: dict[str, tuple[PrimExpr, Loops]] = {}
    for func in kernels:
        collector = Collector()
        collector.visit_stmt(before_simplify(func).body)
        for expr in collector.found:
            if not isinstance(expr, (tir.IntImm, tir.Var)):
                different.setdefault(str(expr), (expr, collector.loops))
    return list(different.values())


def analyzer_for(expr: PrimExpr, loops: Loops) -> Analyzer:
    """An analyzer that knows the loops of an expression."""
    analyzer = Analyzer()
    for node in walk(expr):
        if isinstance(node, tir.Var) and node in loops:
            analyzer.bind(node, loops[node], allow_override=True)
    return analyzer


def least_us(expr: PrimExpr, loops: Loops, run: Callable[[Analyzer, PrimExpr], object]) -> float:
    """The least time of `run` with a fresh analyzer, in microseconds."""
    times = []
    for _ in range(REPEATS):
        analyzer = analyzer_for(expr, loops)
        start = time.perf_counter()
        run(analyzer, expr)
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def bound_of(expr: PrimExpr, loops: Loops) -> PrimExpr | None:
    """A bound of the expression that holds, as a condition; None where it has none."""
    if not (expr.dtype.is_int and expr.dtype.is_scalar):
        return None
    high = analyzer_for(expr, loops).const_int_bound(expr).max_value
    return expr <= tir.const(high, expr.dtype) if high < 1 << 30 else None


def sums(nodes: int) -> PrimExpr:
    """x0 + x1 * 2 + x2 * 3 + ..., over eight variables."""
    names = [tir.Var(f"x{i}", "int32") for i in range(8)]
    total: PrimExpr = names[0]
    for i in range(1, max(2, nodes // 4)):
        total = total + names[i % 8] * (i % 5 + 1)
    return total


def quotients(nodes: int) -> PrimExpr:
    """A sum of digits, (x0 * 8 + x1) // 4 + (x1 * 8 + x2) % 5 + ..."""
    names = [tir.Var(f"x{i}", "int32") for i in range(8)]
    total: PrimExpr = names[0]
    for i in range(max(1, nodes // 8)):
        part = names[i % 8] * 8 + names[(i + 1) % 8]
        total = total + (part // 4 if i % 2 else part % 5)
    return total


def minima(nodes: int) -> PrimExpr:
    """min(min(x0 + 1, x1 + 2), ...), over as many variables."""
    total: PrimExpr = tir.Var("x", "int32")
    for i in range(max(1, nodes // 4)):
        total = tir.min(total, tir.Var(f"x{i}", "int32") + i)
    return total


def conditions(nodes: int) -> PrimExpr:
    """x0 < 1 and x1 < 2 and ..., over as many variables."""
    total: PrimExpr = tir.Var("x", "int32") < 7
    for i in range(max(1, nodes // 4)):
        total = tir.And(total, tir.Var(f"x{i}", "int32") < i + 3)
    return total


def main() -> None:
    """Print the tables."""
    found = collected()
    simplify = [least_us(x, loops, Analyzer.simplify) for x, loops in found]
    bounds = [(bound_of(x, loops), loops) for x, loops in found]
    prove = [least_us(x, loops, Analyzer.can_prove) for x, loops in bounds if x is not None]
    for name, times in (("simplify", simplify), ("can_prove a bound", prove)):
        times.sort()
        print(f"{name}: {len(times)} expressions, median {statistics.median(times):.0f} us, "
              f"90 % below {times[len(times) * 9 // 10]:.0f} us")  # fmt: skip
    shapes = (sums, quotients, minima, conditions)
    print("\nnodes   " + "".join(f"{make.__name__:>18s}" for make in shapes))
    for nodes in (10, 100, 1000, 5000):
        row = []
        for make in shapes:
            expr = make(nodes)
            start = time.perf_counter()
            Analyzer().simplify(expr)
            spent = time.perf_counter() - start
            row.append(f"{spent * 1e3:7.2f} ms {spent * 1e6 / nodes:5.1f} us")
        print(f"{nodes:5d}   " + "".join(f"{cell:>18s}" for cell in row))
    print("        (time in all, and per node)")


if __name__ == "__main__":
    main()
