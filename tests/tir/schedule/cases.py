"""Programs to schedule, and the checks that every schedule of them has to pass."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te, tir
from tvm.ir.structural import structural_equal
from tvm.tir.interp import run
from tvm.tir.schedule import Schedule, ScheduleError
from tvm.tir.schedule.testing import verify_trace_roundtrip


def matmul(m: int = 8, n: int = 12, k: int = 16) -> tir.PrimFunc:
    """C = A @ B."""
    a = te.placeholder((m, k), name="A")
    b = te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    return te.create_prim_func([a, b, c])


def matmul_relu(m: int = 8, n: int = 12, k: int = 16) -> tir.PrimFunc:
    """D = max(A @ B, 0)."""
    a = te.placeholder((m, k), name="A")
    b = te.placeholder((k, n), name="B")
    r = te.reduce_axis((0, k), name="k")
    c = te.compute((m, n), lambda i, j: te.sum(a[i, r] * b[r, j], axis=r), name="C")
    zero = tir.const(0.0, "float32")
    d = te.compute((m, n), lambda i, j: tir.max(c[i, j], zero), name="D")
    return te.create_prim_func([a, b, d])


def chain(n: int = 16, m: int = 16) -> tir.PrimFunc:
    """B = A * 2; C = B + 1; D = C * C."""
    a = te.placeholder((n, m), name="A")
    b = te.compute((n, m), lambda i, j: a[i, j] * 2.0, name="B")
    c = te.compute((n, m), lambda i, j: b[i, j] + 1.0, name="C")
    d = te.compute((n, m), lambda i, j: c[i, j] * c[i, j], name="D")
    return te.create_prim_func([a, d])


def stencil(n: int = 16) -> tir.PrimFunc:
    """B = A * 2; C[i] = B[i] + B[i + 1] + B[i + 2]."""
    a = te.placeholder((n + 2,), name="A")
    b = te.compute((n + 2,), lambda i: a[i] * 2.0, name="B")
    c = te.compute((n,), lambda i: b[i] + b[i + 1] + b[i + 2], name="C")
    return te.create_prim_func([a, c])


def row_sum(n: int = 6, m: int = 32) -> tir.PrimFunc:
    """B[i] = sum over k of A[i, k]."""
    a = te.placeholder((n, m), name="A")
    k = te.reduce_axis((0, m), name="k")
    return te.create_prim_func([a, te.compute((n,), lambda i: te.sum(a[i, k], axis=k), name="B")])


def greatest_pairs(
    n: int = 6, m: int = 32, *, least: bool = False, tie: bool = False
) -> tir.PrimFunc:
    """The greatest (or least) number of a row, and the place that is noted for it."""
    place, data = te.placeholder((n, m), "int32", name="place"), te.placeholder((n, m), name="data")
    k = te.reduce_axis((0, m), name="k")

    def better(x: list, y: list, strict: bool) -> tir.PrimExpr:
        if strict:
            return x[1] < y[1] if least else x[1] > y[1]
        return x[1] <= y[1] if least else x[1] >= y[1]

    def choose(x: list, y: list) -> tuple:
        first = better(x, y, tie)
        if tie:
            first = tir.Or(first, tir.And(tir.EQ(x[1], y[1]), tir.LT(x[0], y[0])))
        return tir.Select(first, x[0], y[0]), tir.Select(better(x, y, tie), x[1], y[1])

    def start(places: str, numbers: str) -> tuple:
        end = tir.max_value(numbers) if least else tir.min_value(numbers)
        return tir.const(-1, places), end

    best = te.comm_reducer(choose, start, name="best")
    found = te.compute((n,), lambda i: best((place[i, k], data[i, k]), axis=k), name="best")
    return te.create_prim_func([place, data, *found])


def elementwise(*shape: int) -> tir.PrimFunc:
    """B = A + 1."""
    a = te.placeholder(shape, name="A")
    return te.create_prim_func([a, te.compute(shape, lambda *i: a[i] + 1.0, name="B")])


def inputs(func: tir.PrimFunc) -> list[np.ndarray]:
    """Fixed random arrays for the parameters; the last one, which is written, holds no numbers."""
    rng = np.random.default_rng(7)
    buffers = [func.buffer_map[p] for p in func.params]
    arrays = [
        rng.standard_normal([int(d) for d in b.shape]).astype(str(b.dtype)) for b in buffers
    ]
    if arrays[-1].dtype.kind == "f":
        arrays[-1][...] = np.nan
    return arrays


def outputs(func: tir.PrimFunc, mod: object) -> np.ndarray:
    """What the last parameter holds after a run on fixed random inputs."""
    arrays = inputs(func)
    run(mod, *arrays)
    return arrays[-1]


def check(sch: Schedule, func: tir.PrimFunc) -> None:
    """The schedule keeps the meaning of the function, and its trace replays."""
    np.testing.assert_allclose(outputs(func, sch.mod), outputs(func, func), rtol=1e-5, atol=1e-5)
    verify_trace_roundtrip(sch, func)


def check_native(sch: Schedule, func: tir.PrimFunc) -> None:
    """The schedule, compiled for this machine, computes what the function means."""
    built = tvm.compile(sch.mod, target="llvm")
    arrays = inputs(func)
    tensors = [tvm.runtime.tensor(array) for array in arrays]
    (name,) = [f.attrs.get("global_symbol", g.name_hint) for g, f in sch.mod.functions.items()]
    built[str(name)](*tensors)
    np.testing.assert_allclose(
        tensors[-1].numpy(), outputs(func, func), rtol=1e-4, atol=1e-5
    )


def refuses(sch: Schedule, reason: str, primitive: str, *args: object, **options: object) -> str:
    """A primitive raises ScheduleError with the reason and leaves the schedule as it was."""
    before, trace = sch.mod, str(sch.trace)
    with pytest.raises(ScheduleError) as caught:
        getattr(sch, primitive)(*args, **options)
    message = str(caught.value)
    assert reason in message, message
    assert f"in sch.{primitive}(" in message
    assert structural_equal(sch.mod, before)
    assert str(sch.trace) == trace
    return message


def open_schedule(func: tir.PrimFunc) -> Schedule:
    """A schedule that checks itself after each step."""
    return Schedule(func, debug_mask="all")
