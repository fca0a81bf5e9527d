"""Time of scheduling: a convolution's schedule applied, replayed from JSON, and a state copied.

    python benchmarks/schedule.py            the three figures
    python benchmarks/schedule.py --profile  where the time of applying goes

The schedule tiles a 3x3 convolution into registers, keeps the sums local, and moves what follows it
into its loops: 20 primitives that change the program, and the questions in between.
"""

from __future__ import annotations

import argparse
import cProfile
import pstats
import statistics
import time
from collections.abc import Callable

from tvm import te, tir
from tvm.tir.schedule import Schedule, Trace


def conv2d(channels: int = 64, size: int = 56) -> tir.PrimFunc:
    """A padded 3x3 convolution with bias and rectification.   (1, c, s, s) -> (1, c, s, s)"""
    x = te.placeholder((1, channels, size, size), name="X")
    w = te.placeholder((channels, channels, 3, 3), name="W")
    bias = te.placeholder((channels,), name="bias")
    zero = tir.const(0.0, "float32")
    inner = (1, size)

    def padded(n: tir.Var, c: tir.Var, i: tir.Var, j: tir.Var) -> tir.PrimExpr:
        inside = tir.all(inner[0] <= i, i <= inner[1], inner[0] <= j, j <= inner[1])
        return tir.if_then_else(inside, x[n, c, i - 1, j - 1], zero)

    pad = te.compute((1, channels, size + 2, size + 2), padded, name="pad")
    axes = (("c", channels), ("ry", 3), ("rx", 3))
    c, ry, rx = [te.reduce_axis((0, extent), name=name) for name, extent in axes]
    conv = te.compute(
        (1, channels, size, size),
        lambda n, f, i, j: te.sum(pad[n, c, i + ry, j + rx] * w[f, c, ry, rx], axis=[c, ry, rx]),
        name="conv",
    )
    add = te.compute(conv.shape, lambda n, f, i, j: conv[n, f, i, j] + bias[f], name="add")
    relu = te.compute(add.shape, lambda *i: tir.max(add[i], zero), name="relu")
    return te.create_prim_func([x, w, bias, relu])


def tile(sch: Schedule) -> Schedule:
    """The schedule that is timed."""
    sch.compute_inline(sch.get_block("add"))
    conv = sch.get_block("conv")
    n, f, i, j, c, ry, rx = sch.get_loops(conv)
    f_outer, f_inner = sch.split(f, factors=[None, 16])
    j_outer, j_inner = sch.split(j, factors=[None, 14])
    c_outer, c_inner = sch.split(c, factors=[None, 8])
    sch.reorder(n, f_outer, i, j_outer, c_outer, ry, rx, c_inner, j_inner, f_inner)
    sums = sch.cache_write(conv, 0, "local")
    sch.reverse_compute_at(sums, j_outer)
    relu = sch.get_block("relu")
    sch.reverse_compute_at(relu, j_outer)
    sch.reverse_compute_inline(relu)
    weights = sch.cache_read(conv, 1, "global")
    sch.transform_layout(weights, ("write", 0), lambda o, q, y, x: [o // 16, q, y, x, o % 16])
    pad = sch.get_block("pad")
    rows = sch.fuse(*sch.get_loops(pad)[:3])
    sch.parallel(rows)
    tiles = sch.fuse(n, f_outer, i)
    sch.parallel(tiles)
    sch.vectorize(f_inner)
    sch.unroll(j_inner)
    sch.vectorize(sch.get_loops(weights)[-1])
    sch.annotate(tiles, "pragma_auto_unroll_max_step", 64)
    sch.decompose_reduction(conv, c_outer)
    return sch


def timed(run: Callable[[], object], times: int) -> tuple[float, float]:
    """Least and median time in milliseconds."""
    found: list[float] = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append((time.perf_counter() - start) * 1e3)
    return min(found), statistics.median(found)


def main() -> None:
    """Print the figures, or the profile."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", action="store_true")
    func = conv2d()
    sch = tile(Schedule(func))
    if parser.parse_args().profile:
        profile = cProfile.Profile()
        profile.enable()
        for _ in range(10):
            tile(Schedule(func))
        profile.disable()
        pstats.Stats(profile).sort_stats("cumulative").print_stats(40)
        return
    stored = sch.trace.as_json()
    changes = [inst for inst in sch.trace.insts if not inst.kind.is_pure]
    print(f"{len(changes)} primitives, {len(sch.trace.insts)} instructions")

    def replay() -> None:
        Trace.apply_json_to_schedule(stored, Schedule(func))

    for what, limit, (least, median) in (
        ("apply", 25, timed(lambda: tile(Schedule(func)), 25)),
        ("replay of JSON", 25, timed(replay, 25)),
        ("state copy", 0.2, timed(sch.state.copy, 200)),
    ):
        print(f"{what:16s} {least:8.3f} ms least, {median:8.3f} ms median   (asked: {limit} ms)")


if __name__ == "__main__":
    main()
