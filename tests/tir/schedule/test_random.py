"""Random schedules keep the meaning; random requests are served or refused, nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from tests.dlight.programs import conv, matmul, reduction, softmax
from tests.tir.schedule.cases import chain, matmul_relu, outputs, stencil
from tvm import tir
from tvm.tir.schedule import LoopRV, Schedule, ScheduleError
from tvm.tir.schedule.testing import verify_trace_roundtrip

WORKLOADS: dict[str, Callable[[], tir.PrimFunc]] = {
    "matmul": lambda: matmul(6, 8, 10),
    "batched": lambda: matmul(4, 6, 5, batch=(2,), transposed=True, epilogue=True),
    "relu": lambda: matmul_relu(6, 8, 4),
    "chain": lambda: chain(6, 10),
    "stencil": lambda: stencil(12),
    "conv": lambda: conv(1, 2, 3, 4, epilogue=True),
    "strided": lambda: conv(1, 2, 2, 6, stride=2),
    "softmax": lambda: softmax(3, 8),
    "rows": lambda: reduction((4, 12), (1,)),
    "columns": lambda: reduction((12, 4), (0,)),
}


class Scheduler:
    """Asks for one random thing after another."""

    def __init__(self, func: tir.PrimFunc, seed: int) -> None:
        self.rng = random.Random(seed)
        self.sch = Schedule(func, debug_mask="all", error_render_level="none")

    def blocks(self) -> list:
        return self.sch.get_child_blocks(self.sch.get_block("root"))

    def block(self):
        return self.rng.choice(self.blocks())

    def loop(self) -> LoopRV | None:
        loops = self.sch.get_loops(self.block())
        return self.rng.choice(loops) if loops else None

    def step(self) -> None:
        rng, sch = self.rng, self.sch
        block, loop = self.block(), self.loop()
        loops, iters = sch.get_loops(block), sch.get(block).iter_vars
        requests: list[Callable[[], object]] = [
            lambda: sch.split(loop, factors=[None, rng.choice([1, 2, 3, 4])]),
            lambda: sch.split(loop, factors=[rng.choice([2, 3]), None, 2]),
            lambda: sch.fuse(*loops[: rng.randint(1, 3)]),
            lambda: sch.fuse(*loops[-2:]),
            lambda: sch.reorder(*rng.sample(loops, min(len(loops), rng.randint(2, 4)))),
            lambda: sch.merge(loop, self.loop() or loop),
            lambda: sch.compute_at(block, loop, preserve_unit_loops=rng.random() < 0.3),
            lambda: sch.reverse_compute_at(block, loop),
            lambda: sch.compute_inline(block),
            lambda: sch.reverse_compute_inline(block),
            lambda: sch.cache_read(block, rng.randint(0, 1), "local"),
            lambda: sch.cache_write(block, 0, "local"),
            lambda: sch.decompose_reduction(block, loop),
            lambda: sch.rfactor(loop, rng.choice([0, -1])),
            lambda: sch.blockize(loop),
            lambda: sch.reindex(block, (rng.choice(["read", "write"]), 0)),
            lambda: sch.pad_einsum(block, [rng.choice([1, 2, 4]) for _ in iters]),
            lambda: sch.transform_layout(block, ("write", 0), lambda *i: [*i[1:], i[0]]),
            lambda: sch.transform_layout(
                block, ("write", 0), lambda *i: [i[0] // 2, *i[1:], i[0] % 2]
            ),
            lambda: sch.transform_block_layout(block, lambda *i: [*i[1:], i[0]]),
            lambda: sch.set_scope(block, 0, "shared"),
            lambda: sch.add_unit_loop(rng.choice([block, loop])),
            lambda: sch.parallel(loop),
            lambda: sch.vectorize(loop),
            lambda: sch.unroll(loop),
            lambda: sch.reorder_block_iter_var(block, list(range(len(iters)))[::-1]),
        ]
        request = rng.choice(requests)
        if loop is None:
            return
        before = sch.mod
        try:
            request()
        except ScheduleError:
            assert sch.mod is before, "a refusal leaves the program as it was"


@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("seed", range(10))
def test_meaning_is_kept(name: str, seed: int) -> None:
    func = WORKLOADS[name]()
    scheduler = Scheduler(func, seed)
    for _ in range(12):
        scheduler.step()
    (after,) = scheduler.sch.mod.functions.values()
    assert isinstance(after, tir.PrimFunc)
    if shapes(after) == shapes(func):  # else a parameter got another layout
        expected, found = outputs(func, func), outputs(func, after)
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    verify_trace_roundtrip(scheduler.sch, func, text_format="json")


def shapes(func: tir.PrimFunc) -> list[list[int]]:
    return [[int(extent) for extent in func.buffer_map[p].shape] for p in func.params]
