"""Guards that lowering leaves in kernels, and why: conditions, minima, quotients and remainders.

    python benchmarks/guards.py
    python benchmarks/guards.py --write         docs/guards.md anew

A guard is tried out on the iterations that reach it. One that is true on all of them is needless:
the analyzer should have removed it. The others say in what share of the iterations they hold.
"""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import onnx

import tvm
from tvm import dlight, relax, te, tir
from tvm.ir import PrimExpr
from tvm.ir.transform import PassContext, Sequential
from tvm.relax.frontend.onnx import from_onnx
from tvm.tir.pipeline import lowering_passes

ROOT = Path(__file__).resolve().parents[1]
MODEL = ROOT / "examples" / "digits" / "digits.onnx"
PAGE = ROOT / "docs" / "guards.md"
TARGET = "llvm -mcpu=sapphirerapids"
TRIES = 4096

Values = dict[tir.Var, np.ndarray]
Known = np.ndarray | int | bool
BINARY: dict[type, Callable[..., Known]] = {
    tir.Add: np.add, tir.Sub: np.subtract, tir.Mul: np.multiply, tir.Min: np.minimum,
    tir.Max: np.maximum, tir.FloorDiv: np.floor_divide, tir.FloorMod: np.mod, tir.LT: np.less,
    tir.LE: np.less_equal, tir.GT: np.greater, tir.GE: np.greater_equal, tir.EQ: np.equal,
    tir.NE: np.not_equal, tir.And: np.logical_and, tir.Or: np.logical_or,
}  # fmt: skip


def evaluate(expr: PrimExpr, values: Values) -> Known | None:
    """The expression on all tries at once; None where it hangs on data."""
    if isinstance(expr, tir.IntImm):
        return int(expr.value)
    if isinstance(expr, tir.Var):
        return values.get(expr)
    if isinstance(expr, (tir.Not, tir.Cast)):
        inner = evaluate(expr.a if isinstance(expr, tir.Not) else expr.value, values)
        return inner if inner is None or isinstance(expr, tir.Cast) else np.logical_not(inner)
    if isinstance(expr, tir.Call) and getattr(expr.op, "name", "") == "tir.likely":
        return evaluate(expr.args[0], values)
    if isinstance(expr, (tir.Ramp, tir.Broadcast)):
        return _lanes(expr, values)
    rule = BINARY.get(type(expr))
    if rule is None:
        return None
    a, b = evaluate(expr.a, values), evaluate(expr.b, values)
    return None if a is None or b is None else rule(a, b)


def _lanes(expr: tir.Ramp | tir.Broadcast, values: Values) -> Known | None:
    """A column for each lane."""
    base = evaluate(expr.base if isinstance(expr, tir.Ramp) else expr.value, values)
    step = evaluate(expr.stride, values) if isinstance(expr, tir.Ramp) else 0
    if base is None or step is None:
        return None
    wide = np.reshape(base, (-1, 1)) if np.ndim(base) else base
    return wide + np.reshape(step, (-1, 1)) * np.arange(expr.dtype.lanes)


@dataclass
class Found:
    """What is left in one kernel."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    needless: list[str] = field(default_factory=list)


class Finder(tir.PyStmtExprVisitor):
    """Goes through a lowered kernel with tries of all loop variables in hand."""

    def __init__(self) -> None:
        super().__init__()
        self.random = np.random.default_rng(0)
        self.values: Values = {}
        self.reached = np.ones(TRIES, bool)
        self.found = Found()

    def visit_for_(self, op: tir.For) -> None:
        """Values of the loop variable: its ends, and others at random."""
        self.visit_expr(op.min)
        self.visit_expr(op.extent)
        low, extent = evaluate(op.min, self.values), evaluate(op.extent, self.values)
        if low is not None and extent is not None:
            share = self.random.choice([0.0, 1.0, 2.0], TRIES)
            spread = np.where(share == 2.0, self.random.random(TRIES), share)
            last = np.maximum(np.asarray(extent) - 1, 0)
            self.values[op.loop_var] = low + np.rint(spread * last).astype(int)
        self.visit_stmt(op.body)

    def visit_let_stmt_(self, op: tir.LetStmt) -> None:
        """A name for a value."""
        self.visit_expr(op.value)
        value = evaluate(op.value, self.values)
        if value is not None:
            self.values[op.var] = np.asarray(value)
        self.visit_stmt(op.body)

    def visit_if_then_else_(self, op: tir.IfThenElse) -> None:
        """The branches are reached by a part of the tries each."""
        holds = self.guard("if", op.condition)
        self.visit_expr(op.condition)
        before = self.reached
        for branch, taken in ((op.then_case, holds), (op.else_case, np.logical_not(holds))):
            if branch is not None:
                self.reached = before & taken
                self.visit_stmt(branch)
        self.reached = before

    def visit_call_(self, op: tir.Call) -> None:
        """Choices within expressions, and masks."""
        if getattr(op.op, "name", "") == "tir.if_then_else":
            self.guard("if_then_else", op.args[0])
        super().visit_call_(op)

    def visit_floor_div_(self, op: tir.FloorDiv) -> None:
        """Counted."""
        self.found.counts["//"] += 1
        super().visit_floor_div_(op)

    def visit_floor_mod_(self, op: tir.FloorMod) -> None:
        """Counted."""
        self.found.counts["%"] += 1
        super().visit_floor_mod_(op)

    def visit_min_(self, op: tir.Min) -> None:
        """A minimum of indices is a guard too."""
        self.extremum("min", op)
        super().visit_min_(op)

    def visit_max_(self, op: tir.Max) -> None:
        """A maximum of indices is a guard too."""
        self.extremum("max", op)
        super().visit_max_(op)

    def extremum(self, kind: str, op: tir.Min | tir.Max) -> None:
        """One that always has the same side is needless."""
        if not op.dtype.is_integer:
            return
        first, second = (op.a, op.b) if kind == "min" else (op.b, op.a)
        holds = evaluate(tir.LE(first, second), self.values)
        self.judge(kind, holds, str(op), both=True)

    def guard(self, kind: str, condition: PrimExpr) -> np.ndarray:
        """Counts and judges a condition; where it holds."""
        holds = evaluate(condition, self.values)
        self.judge(kind, holds, str(condition))
        if holds is None:
            return self.reached
        every = np.asarray(holds)
        return np.broadcast_to(every.any(axis=1) if every.ndim == 2 else every, TRIES)

    def judge(self, kind: str, holds: Known | None, text: str, both: bool = False) -> None:
        """Files a guard under the reason why it is left."""
        self.found.counts[kind] += 1
        if holds is None:
            self.found.reasons["hangs on data"] += 1
            return
        every = np.asarray(holds)
        every = every if every.ndim == 2 else np.broadcast_to(every, TRIES).reshape(-1, 1)
        if not self.reached.any():
            self.found.reasons["not reached by a try"] += 1
            return
        kept = every[self.reached] if len(every) == TRIES else every
        if kept.all() or (both and not kept.any()):
            self.found.needless.append(f"{kind} {text}")
            self.found.reasons["NEEDLESS"] += 1
        else:
            self.found.reasons["holds in a part of the iterations"] += 1


def guards(func: tir.PrimFunc) -> Found:
    """What lowering leaves in a scheduled kernel."""
    target = tvm.target.Target(TARGET)
    mod = tvm.IRModule({"main": func.with_attrs({"global_symbol": "main", "target": target})})
    with target, PassContext() as ctx:
        lowered = Sequential(lowering_passes(ctx))(mod)["main"]
    finder = Finder()
    for buffer in lowered.buffer_map.values():
        for extent in buffer.shape:
            if isinstance(extent, tir.Var):             # a size that the caller chooses
                finder.values[extent] = finder.random.integers(1, 64, TRIES)
    finder.visit_stmt(lowered.body)
    return finder.found


# --- kernels ---


def scheduled(func: tir.PrimFunc) -> tir.PrimFunc:
    """The function after the rules for CPUs."""
    with tvm.target.Target(TARGET):
        mod = tvm.IRModule({"main": func})
        return dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(mod)["main"]


def matmul(m: int | tir.Var, n: int, k: int) -> tir.PrimFunc:
    """A @ B."""
    a, b = te.placeholder((m, k), name="A"), te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    return te.create_prim_func(
        [a, b, te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")]
    )


def by_rows(rows: int | tir.Var) -> Iterator[tuple[str, tir.PrimFunc]]:
    """Elementwise functions, reductions, and the parts of attention over `rows` rows."""
    a, b = te.placeholder((rows, 512), name="A"), te.placeholder((rows, 512), name="B")
    yield f"add {rows} x 512", te.create_prim_func([a, b, tvm.topi.add(a, b)])
    yield f"sum over {rows} x 512", te.create_prim_func([a, tvm.topi.sum(a, axis=1)])
    yield f"softmax {rows} x 512", te.create_prim_func([a, tvm.topi.nn.softmax(a, axis=1)])
    q, k = (te.placeholder((8, rows, 64), name=name) for name in "QK")
    scores = tvm.topi.nn.batch_matmul(q, k, transpose_b=True)
    yield f"attention scores 8 x {rows} x {rows}", te.create_prim_func([q, k, scores])


def conv(channels: int, filters: int, size: int, kernel: int, stride: int) -> tir.PrimFunc:
    """A convolution, NCHW, with half padding."""
    pad = kernel // 2
    x = te.placeholder((1, channels, size, size), name="X")
    w = te.placeholder((filters, channels, kernel, kernel), name="W")
    return te.create_prim_func([x, w, tvm.topi.nn.conv2d(x, w, stride, pad, 1)])


def kernels() -> Iterator[tuple[str, tir.PrimFunc]]:
    """The kernels by name, scheduled."""
    yield from digits()
    for m, n, k in ((512, 512, 512), (128, 96, 72), (127, 253, 61), (1, 1000, 512)):
        yield f"matmul {m} x {n} x {k}", scheduled(matmul(m, n, k))
    n, m = (tir.Var(name, "int64") for name in "nm")
    yield "matmul n x 512 x 512", scheduled(matmul(n, 512, 512))
    yield "matmul n x m x 512", scheduled(matmul(n, m, 512))
    for name, func in by_rows(n):
        yield name, scheduled(func)
    for name, func in by_rows(64):
        yield name, scheduled(func)
    for shape in ((64, 64, 56, 3, 1), (64, 128, 56, 3, 2), (64, 256, 56, 1, 1), (3, 64, 224, 7, 2)):
        channels, filters, size, window, stride = shape
        name = f"conv {channels}->{filters}, {size}x{size}, {window}x{window} / {stride}"
        yield name, scheduled(conv(*shape))


def digits() -> Iterator[tuple[str, tir.PrimFunc]]:
    """The kernels of the digits model, as `tvm.compile` makes them."""
    target = tvm.target.Target(TARGET)
    mod = from_onnx(onnx.load(MODEL), keep_params_in_input=False)
    with target, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mod = Sequential(relax.pipeline.legalize_passes(target))(mod)
    for var, func in mod.functions.items():
        if isinstance(func, tir.PrimFunc):
            yield f"digits: {var.name_hint}", func


HEAD = """# Guards that are left in kernels

Written by `python benchmarks/guards.py --write`. Kernels are scheduled for a CPU with AVX-512 and
lowered. A guard is a condition (`if`, `if_then_else`) or an extremum of indices; `//` and `%` are
the divisions that are left in indices. Every guard is tried out on random iterations that reach it:
a needless one is true on all of them. A guard that holds in a part of the iterations is needed: it
keeps the last, partial tile of a size that the tile does not divide, or that is known only when the
kernel runs, and the border of a padded image.

| kernel | left | why guards are left |
|---|---|---|
"""


def cells(name: str, found: Found) -> tuple[str, str, str]:
    """One row of the table."""
    counts = ", ".join(f"{n} {kind}" for kind, n in sorted(found.counts.items()))
    reasons = "; ".join(f"{n} {why}" for why, n in sorted(found.reasons.items()))
    return name, counts or "none", reasons


def main(write: bool) -> None:
    """Print the table, and every needless guard."""
    print(f"{'kernel':44s} {'left':32s} why guards are left")
    needless, rows = [], []
    for name, func in kernels():
        found = guards(func)
        rows.append(cells(name, found))
        print("{:44s} {:32s} {}".format(*rows[-1]), flush=True)
        needless += [f"{name}: {text}" for text in found.needless]
    print(f"\n{len(needless)} needless")
    for text in needless:
        print("   ", text)
    if write:
        lines = [f"| {' | '.join(row)} |".replace("  |", " |") for row in rows]
        PAGE.write_text(HEAD + "\n".join(lines) + f"\n\n{len(needless)} needless.\n", "utf-8")


if __name__ == "__main__":
    main("--write" in sys.argv)
