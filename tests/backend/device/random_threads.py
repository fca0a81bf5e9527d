"""Random kernels with threads: shared memory, barriers, reductions over threads, odd extents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.backend.device.random_words import THREADS, Made, Rng, flip, odd, pick
from tvm import te, tir

# --- programs ---


def _terms(rng: Rng, x: Any, y: Any) -> Any:
    """An expression of two values that stays small."""
    form = pick(rng, ("sum", "max", "select", "mix", "min"))
    if form == "sum":
        return x + y * tir.const(2, x.dtype)
    if form == "max":
        return tir.max(x, y) - tir.min(y, tir.const(1, y.dtype))
    if form == "select":
        return tir.Select(x < y, x - y, y)
    if form == "min":
        return tir.min(x * y, x + tir.const(3, x.dtype))
    return x - y


def _elementwise(rng: Rng, dtype: str) -> list[Any]:
    shape = tuple(odd(rng, 40) for _ in range(int(rng.integers(1, 4))))
    a, b = te.placeholder(shape, dtype, "a"), te.placeholder(shape[-1:], dtype, "b")
    mid = te.compute(shape, lambda *i: _terms(rng, a[i], b[i[-1]]), name="mid")
    return [a, b, te.compute(shape, lambda *i: _terms(rng, mid[i], a[i]), name="out")]


def _neighbours(rng: Rng, dtype: str) -> list[Any]:
    rows, columns, reach = odd(rng, 30), odd(rng, 90) + 4, int(rng.integers(1, 4))
    a = te.placeholder((rows, columns + reach), dtype, "a")
    mid = te.compute(a.shape, lambda i, j: a[i, j] + tir.const(1, dtype), name="mid")
    turned = flip(rng)
    return [a, te.compute(
        (rows, columns),
        lambda i, j: _terms(rng, mid[i, j], mid[i, columns - 1 - j if turned else j + reach]),
        name="out")]  # fmt: skip


def _transposed(rng: Rng, dtype: str) -> list[Any]:
    m, n = odd(rng), odd(rng)
    a, b = te.placeholder((m, n), dtype, "a"), te.placeholder((n, m), dtype, "b")
    mid = te.compute((m, n), lambda i, j: a[i, j] * tir.const(2, dtype), name="mid")
    return [a, b, te.compute((n, m), lambda i, j: _terms(rng, mid[j, i], b[i, j]), name="out")]


def _reduced(rng: Rng, dtype: str) -> list[Any]:
    m, n = odd(rng, 30), odd(rng, 300)
    a = te.placeholder((m, n), dtype, "a")
    k = te.reduce_axis((0, n), "k")
    how = pick(rng, (te.sum, te.max, te.min))
    return [a, te.compute((m,), lambda i: how(a[i, k], k), name="out")]


def _normalised(rng: Rng, dtype: str) -> list[Any]:
    m, n = odd(rng, 20), odd(rng, 200)
    a = te.placeholder((m, n), dtype, "a")
    k, l = te.reduce_axis((0, n), "k"), te.reduce_axis((0, n), "l")
    most = te.compute((m,), lambda i: te.max(a[i, k], k), name="most")
    total = te.compute((m,), lambda i: te.sum(a[i, l] - most[i], l), name="total")
    return [a, te.compute((m, n), lambda i, j: a[i, j] * most[i] - total[i], name="out")]


def _product(rng: Rng, dtype: str) -> list[Any]:
    m, n, depth = odd(rng, 50), odd(rng, 50), odd(rng, 60)
    a, b = te.placeholder((m, depth), dtype, "a"), te.placeholder((depth, n), dtype, "b")
    k = te.reduce_axis((0, depth), "k")
    return [a, b, te.compute((m, n), lambda i, j: te.sum(a[i, k] * b[k, j], k), name="out")]


# --- schedules ---


def _bind_rest(sch: tir.Schedule, block: Any, rng: Rng) -> Any:
    """Blocks and threads over the fused loops of a block; the loop over blocks."""
    fused = sch.fuse(*sch.get_loops(block))
    bx, tx = sch.split(fused, [None, pick(rng, THREADS)])
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    return bx


def _fused_below(sch: tir.Schedule, block: Any, depth: int) -> Any:
    """The loops of a block from a depth on as one; a moved block has no loops of one iteration."""
    inner = sch.get_loops(block)[depth:]
    return sch.fuse(*inner) if inner else sch.add_unit_loop(block)


def _spread(sch: tir.Schedule, block: Any, depth: int, threads: int) -> None:
    """The loops of a stage within a block go over its threads."""
    _, tx = sch.split(_fused_below(sch, block, depth), [None, threads])
    sch.bind(tx, "threadIdx.x")


def _stage_shared(sch: tir.Schedule, rng: Rng) -> None:
    """out by rows of blocks; what it reads of `mid` waits in shared memory."""
    out, mid = sch.get_block("out"), sch.get_block("mid")
    loops = sch.get_loops(out)
    first = loops[0] if len(loops) == 1 else sch.fuse(*loops[:-1])
    threads = pick(rng, THREADS)
    if len(loops) == 1:
        bx, inner = sch.split(first, [None, pick(rng, (16, 37, 64))])
    else:
        bx, inner = first, sch.get_loops(out)[-1]
    sch.bind(bx, "blockIdx.x")
    _, tx = sch.split(inner, [None, threads])
    sch.bind(tx, "threadIdx.x")
    sch.set_scope(mid, 0, "shared")
    sch.compute_at(mid, bx)
    _spread(sch, mid, 1, threads)


def _schedule_maps(sch: tir.Schedule, rng: Rng) -> str:
    mid = sch.get_block("mid")
    form = pick(rng, ("shared", "inline", "apart", "local"))
    if form == "shared":
        _stage_shared(sch, rng)
    elif form == "inline":
        sch.compute_inline(mid)
        _bind_rest(sch, sch.get_block("out"), rng)
    elif form == "apart":
        _bind_rest(sch, mid, rng)
        _bind_rest(sch, sch.get_block("out"), rng)
    else:
        out = sch.get_block("out")
        bx = _bind_rest(sch, out, rng)
        assert bx is not None
        tx = sch.get_loops(out)[-1]
        sch.set_scope(mid, 0, "local")
        sch.compute_at(mid, tx)
    return form


def _reduce_over_threads(sch: tir.Schedule, block: Any, depth: int, threads: int) -> None:
    """The last loop of a block, which reduces, goes over threads."""
    _, tx = sch.split(_fused_below(sch, block, depth), [None, threads])
    sch.bind(tx, "threadIdx.x")


def _schedule_reduced(sch: tir.Schedule, rng: Rng) -> str:
    out = sch.get_block("out")
    form = pick(rng, ("threads", "rows of threads", "rfactor", "serial"))
    rows, loop = sch.get_loops(out)
    threads = pick(rng, THREADS)
    if form == "serial":
        bx, tx = sch.split(rows, [None, threads])
        sch.bind(bx, "blockIdx.x")
        sch.bind(tx, "threadIdx.x")
    elif form == "rfactor":
        _, inner = sch.split(loop, [None, threads])
        partial = sch.rfactor(inner, 0)
        for block in (partial, out):
            loops = sch.get_loops(block)
            sch.bind(loops[0], "blockIdx.x")
            sch.bind(loops[-1], "threadIdx.x")
    else:
        if form == "threads":
            sch.bind(rows, "blockIdx.x")
        else:
            bx, ty = sch.split(rows, [None, int(rng.integers(2, 5))])
            sch.bind(bx, "blockIdx.x")
            sch.bind(ty, "threadIdx.y")
        _reduce_over_threads(sch, out, 1 if form == "threads" else 2, threads)
    return f"{form} {threads}"


def _schedule_normalised(sch: tir.Schedule, rng: Rng) -> str:
    out = sch.get_block("out")
    threads = pick(rng, THREADS)
    bx, inner = sch.get_loops(out)
    sch.bind(bx, "blockIdx.x")
    _, tx = sch.split(inner, [None, threads])
    sch.bind(tx, "threadIdx.x")
    for name in ("total", "most"):
        block = sch.get_block(name)
        sch.set_scope(block, 0, "shared")
        sch.compute_at(block, bx)
        _reduce_over_threads(sch, block, 1, threads)
    return str(threads)


def _schedule_product(sch: tir.Schedule, rng: Rng) -> str:
    out = sch.get_block("out")
    i, j, k = sch.get_loops(out)
    ty, tx = (pick(rng, (2, 3, 4, 7)) for _ in range(2))
    size = int(rng.integers(1, 4))
    i0, i1, i2 = sch.split(i, [None, ty, size])
    j0, j1, j2 = sch.split(j, [None, tx, int(rng.integers(1, 4))])
    k0, k1 = sch.split(k, [None, pick(rng, (4, 5, 8))])
    sch.reorder(i0, j0, i1, j1, k0, k1, i2, j2)
    for loop, tag in ((i0, "blockIdx.y"), (j0, "blockIdx.x"), (i1, "threadIdx.y"),
                      (j1, "threadIdx.x")):  # fmt: skip
        sch.bind(loop, tag)
    if flip(rng):
        sch.unroll(k1)
    if flip(rng):
        kept = sch.cache_write(out, 0, "local")
        sch.reverse_compute_at(kept, j1)
    if flip(rng, 0.7):
        for number in range(2):
            copy = sch.cache_read(out, number, "shared")
            sch.compute_at(copy, k0)
            _, y, x = sch.split(_fused_below(sch, copy, 5), [None, ty, tx])
            sch.bind(y, "threadIdx.y")
            sch.bind(x, "threadIdx.x")
    return f"{ty} x {tx}"


_FORMS: tuple[tuple[Callable[[Rng, str], list[Any]], Callable[[tir.Schedule, Rng], str]], ...] = (
    (_elementwise, _schedule_maps),
    (_neighbours, _schedule_maps),
    (_transposed, _schedule_maps),
    (_reduced, _schedule_reduced),
    (_normalised, _schedule_normalised),
    (_product, _schedule_product),
)


def made(seed: int) -> Made:
    """The kernel of a number."""
    rng = np.random.default_rng(seed)
    while True:
        try:
            return _made(rng)
        except tir.ScheduleError:  # some guards are beyond what a move of blocks proves
            continue


def _made(rng: Rng) -> Made:
    program, schedule = pick(rng, _FORMS)
    dtype = pick(rng, ("float32", "float32", "int32"))
    tensors = program(rng, dtype)
    plain = te.create_prim_func(tensors)
    sch = tir.Schedule(plain)
    words = schedule(sch, rng)
    shapes = tuple((tuple(int(x) for x in t.shape), str(t.dtype)) for t in tensors)
    return Made(sch.mod["main"], plain, shapes, f"{program.__name__[1:]} {dtype}: {words}")
