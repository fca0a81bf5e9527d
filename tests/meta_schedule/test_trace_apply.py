"""Traces of one program on another with the same anchor."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import te, topi
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.meta_schedule.trace_apply import schedule_using_anchor_trace
from tvm.target import Target
from tvm.tir import Schedule
from tvm.tir.interp import run

pytestmark = pytest.mark.pure
LLVM = Target("llvm --num-cores=4")


def dense(*post: str) -> IRModule:
    """A product, and what comes behind it."""
    x = te.placeholder((16, 16), name="X")
    w = te.placeholder((16, 16), name="W")
    k = te.reduce_axis((0, 16), name="k")
    out = te.compute((16, 16), lambda i, j: te.sum(x[i, k] * w[k, j], axis=k), name="matmul")
    for name in post:
        step = {"relu": topi.nn.relu, "double": lambda t: topi.multiply(t, 2.0)}[name]
        out = step(out)
    return IRModule({"main": te.create_prim_func([x, w, out])})


def tile(sch: Schedule, cache: bool) -> None:
    """What a search may find for the product alone."""
    block = sch.get_block("matmul")
    i, j, k = sch.get_loops(block)
    i0, i1 = sch.split(i, sch.sample_perfect_tile(i, 2, decision=[4, 4]))
    j0, j1 = sch.split(j, sch.sample_perfect_tile(j, 2, decision=[2, 8]))
    sch.reorder(i0, j0, k, i1, j1)
    if cache:
        written = sch.cache_write(block, 0, "global")
        sch.reverse_compute_at(written, j0)
    sch.parallel(i0)


def anchored(cache: bool, *post: str) -> tuple[Schedule, Any]:
    source = Schedule(dense())
    tile(source, cache)
    mod = dense(*post)
    sch = Schedule(mod)
    schedule_using_anchor_trace(sch, source.trace, LLVM)
    return sch, mod


def check_results(sch: Schedule, mod: IRModule) -> None:
    x, w = np.random.default_rng(0).standard_normal((2, 16, 16)).astype("float32")
    outs = [np.zeros((16, 16), "float32") for _ in range(2)]
    run(mod["main"], x, w, outs[0])
    run(sch.mod["main"], x, w, outs[1])
    np.testing.assert_allclose(outs[1], outs[0], rtol=1e-5)


@pytest.mark.parametrize("cache", [False, True])
@pytest.mark.parametrize("post", [(), ("relu",), ("double", "relu"), ("relu", "double", "relu")])
def test_same_meaning(cache: bool, post: tuple[str, ...]) -> None:
    sch, mod = anchored(cache, *post)
    check_results(sch, mod)


def test_the_same_program_has_the_same_schedule() -> None:
    source = Schedule(dense())
    tile(source, True)
    sch, _ = anchored(True)
    assert sch.mod.script() == source.mod.script()


def test_what_follows_goes_into_the_tiles_written_back() -> None:
    sch, _ = anchored(True, "relu")
    text = sch.mod.script()
    assert "matmul_global" in text
    # with the root: the product, and one block that writes the relu back
    assert text.count("T.block(") == 3
    assert "for i_0 in T.parallel(4)" in text


def test_what_follows_is_parallel_if_there_is_nothing_to_go_into() -> None:
    text = anchored(False, "double", "relu")[0].mod.script()
    assert text.count("T.parallel(") == 2
    assert text.count("T.block(") == 3, "with the root"


def test_blocks_that_are_not_there() -> None:
    source = Schedule(dense("relu"))
    sch_relu = source.get_block("compute")
    source.vectorize(source.split(source.get_loops(sch_relu)[-1], [None, 4])[-1])
    tile(source, False)
    sch = Schedule(dense())
    schedule_using_anchor_trace(sch, source.trace, LLVM)
    assert "vectorized" not in sch.mod.script()
    check_results(sch, dense())


def test_too_much_is_left() -> None:
    empty = Schedule(dense()).trace
    with pytest.raises(TVMError, match=r"does not schedule: matmul, compute"):
        schedule_using_anchor_trace(Schedule(dense("relu")), empty, LLVM)
