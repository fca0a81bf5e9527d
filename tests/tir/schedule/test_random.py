"""Random schedules keep the meaning; random requests are served or refused, nothing else."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import numpy as np
import pytest

from tests.tir.schedule.cases import inputs
from tests.tir.schedule.hazards import HAZARDS, given
from tests.tir.schedule.workloads import WORKLOADS
from tvm import tir
from tvm.tir.interp import run
from tvm.tir.schedule import BlockRV, LoopRV, Schedule, ScheduleError
from tvm.tir.schedule.testing import verify_trace_roundtrip

Request = Callable[[], object]
Arrays = Callable[[tir.PrimFunc], list[np.ndarray]]


class Scheduler:
    """Asks for one random thing after another; counts what was done and what was refused."""

    def __init__(self, func: tir.PrimFunc, seed: int) -> None:
        self.rng = random.Random(seed)
        self.sch = Schedule(func, debug_mask="all", error_render_level="none")
        self.served: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()

    def blocks(self) -> list[BlockRV]:
        found = self.sch.get_child_blocks(self.sch.get_block("root"))
        inner = [b for outer in found for b in self.sch.get_child_blocks(outer)]
        return [*found, *inner]

    def block(self) -> BlockRV:
        return self.rng.choice(self.blocks())

    def loop(self) -> LoopRV:
        """A loop; one of a single iteration is made where the block has none."""
        block = self.block()
        loops = self.sch.get_loops(block)
        return self.rng.choice(loops) if loops else self.sch.add_unit_loop(block)

    def requests(self) -> dict[str, Request]:
        """Sensible requests, many of which the program does not allow."""
        rng, sch = self.rng, self.sch
        block, loop = self.block(), self.loop()
        other = self.loop()
        loops, iters = sch.get_loops(block), sch.get(block).iter_vars
        return {
            "split": lambda: sch.split(loop, factors=[None, rng.choice([1, 2, 3, 4])]),
            "split without units": lambda: sch.split(
                loop, factors=[None, rng.choice([2, 3])], preserve_unit_iters=False
            ),
            "split in three": lambda: sch.split(loop, factors=[rng.choice([2, 3]), None, 2]),
            "loop_partition": lambda: sch.loop_partition(loop, [rng.choice([1, 2]), None]),
            "fuse": lambda: sch.fuse(*loops[: rng.randint(1, 3)]),
            "fuse inner": lambda: sch.fuse(*loops[-2:]),
            "reorder": lambda: sch.reorder(*rng.sample(loops, min(len(loops), rng.randint(2, 4)))),
            "merge": lambda: sch.merge(loop, other),
            "compute_at": lambda: sch.compute_at(
                block, loop, preserve_unit_loops=rng.random() < 0.3
            ),
            "reverse_compute_at": lambda: sch.reverse_compute_at(block, loop),
            "compute_inline": lambda: sch.compute_inline(block),
            "reverse_compute_inline": lambda: sch.reverse_compute_inline(block),
            "cache_read": lambda: sch.cache_read(block, rng.randint(0, 1), "local"),
            "cache_write": lambda: sch.cache_write(block, 0, "local"),
            "cache_index": lambda: sch.cache_index(block, "global", rng.randint(0, 2)),
            "cache_inplace": lambda: sch.cache_inplace(block, 0, "local"),
            "read_at": lambda: sch.read_at(loop, block, rng.randint(0, 1), "shared"),
            "write_at": lambda: sch.write_at(loop, block, 0, "shared"),
            "decompose_reduction": lambda: sch.decompose_reduction(block, loop),
            "decompose_padding": lambda: sch.decompose_padding(block, loop),
            "rfactor": lambda: sch.rfactor(loop, rng.choice([0, -1])),
            "rolling_buffer": lambda: sch.rolling_buffer(block, 0),
            "blockize": lambda: sch.blockize(loop),
            "blockize blocks": lambda: sch.blockize(
                sch.get_child_blocks(other), preserve_unit_iters=rng.random() < 0.5
            ),
            "reindex": lambda: sch.reindex(block, (rng.choice(["read", "write"]), 0)),
            "pad_einsum": lambda: sch.pad_einsum(block, [rng.choice([1, 2, 4]) for _ in iters]),
            "transform_layout": lambda: sch.transform_layout(
                block, ("write", 0), lambda *i: [*i[1:], *i[:1]]
            ),
            "packed layout": lambda: sch.transform_layout(
                block, ("write", 0), lambda *i: [i[0] // 2, *i[1:], i[0] % 2] if i else []
            ),
            "transform_block_layout": lambda: sch.transform_block_layout(
                block, lambda *i: [*i[1:], *i[:1]]
            ),
            "set_scope": lambda: sch.set_scope(block, 0, "shared"),
            "add_unit_loop": lambda: sch.add_unit_loop(rng.choice([block, loop])),
            "parallel": lambda: sch.parallel(loop),
            "vectorize": lambda: sch.vectorize(loop),
            "unroll": lambda: sch.unroll(loop),
            "reorder_block_iter_var": lambda: sch.reorder_block_iter_var(
                block, list(range(len(iters)))[::-1]
            ),
            "storage_align": lambda: sch.storage_align(block, 0, 0, 4, 1),
        }

    def step(self) -> None:
        name, request = self.rng.choice(list(self.requests().items()))
        self.ask(name, request)

    def ask(self, name: str, request: Request) -> bool:
        """Run a request; True if it was served. A refusal leaves everything as it was."""
        before, steps = self.sch.mod, len(self.sch.trace.insts)
        try:
            request()
        except ScheduleError:
            assert self.sch.mod is before, f"{name}: a refusal leaves the program as it was"
            asked = [inst.kind.is_pure for inst in self.sch.trace.insts[steps:]]
            assert all(asked), f"{name}: a refusal leaves no trace"
            self.refused[name] += 1
            return False
        self.served[name] += 1
        return True


def outputs(mod: object, arrays: list[np.ndarray]) -> list[np.ndarray]:
    run(mod, *arrays)
    return arrays


def shapes(func: tir.PrimFunc) -> list[list[int]]:
    return [[int(extent) for extent in func.buffer_map[p].shape] for p in func.params]


def keeps_meaning(
    func: tir.PrimFunc, seed: int, steps: int = 12, arrays: Arrays = inputs
) -> Scheduler:
    scheduler = Scheduler(func, seed)
    for _ in range(steps):
        scheduler.step()
    (after,) = scheduler.sch.mod.functions.values()
    assert isinstance(after, tir.PrimFunc)
    if shapes(after) == shapes(func):  # else a parameter got another layout
        for found, expected in zip(outputs(after, arrays(func)), outputs(func, arrays(func))):
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    verify_trace_roundtrip(scheduler.sch, func, text_format="json")
    return scheduler


@pytest.mark.covering(1)
@pytest.mark.parametrize("name", WORKLOADS)
@pytest.mark.parametrize("seed", range(2))
def test_meaning_is_kept(name: str, seed: int) -> None:
    keeps_meaning(WORKLOADS[name](), seed)


@pytest.mark.parametrize("name", HAZARDS)
def test_what_was_written_when_is_read(name: str) -> None:
    for seed in range(8):
        keeps_meaning(HAZARDS[name], seed, 6, given)


@pytest.mark.long
@pytest.mark.parametrize("name", WORKLOADS)
def test_a_hundred_schedules(name: str) -> None:
    for seed in range(100, 200):
        keeps_meaning(WORKLOADS[name](), seed)


@pytest.mark.long
@pytest.mark.parametrize("name", HAZARDS)
def test_hundreds_of_schedules_of_hazards(name: str) -> None:
    for seed in range(100, 500):
        keeps_meaning(HAZARDS[name], seed, 2 + seed % 8, given)


def senseless(scheduler: Scheduler) -> dict[str, Request]:
    """Requests with values that no program allows, or that fit other blocks."""
    rng, sch = scheduler.rng, scheduler.sch
    block, loop, other = scheduler.block(), scheduler.loop(), scheduler.loop()
    loops, many = sch.get_loops(block), rng.randint(5, 90)
    iters = sch.get(block).iter_vars
    odd = rng.choice([0, -2, -7, many])
    return {
        "get_block": lambda: sch.get_block(f"no_{many}"),
        "split by nothing": lambda: sch.split(loop, factors=[None, None]),
        "split by too little": lambda: sch.split(loop, factors=[1, 1, 1]),
        "split by a negative": lambda: sch.split(loop, factors=[rng.choice([0, -3]), None]),
        "partition over the end": lambda: sch.loop_partition(loop, [many, many]),
        "fuse none": lambda: sch.fuse(),
        "fuse twice": lambda: sch.fuse(loop, loop),
        "fuse backwards": lambda: sch.fuse(*([*loops[::-1]] if len(loops) > 1 else [loop, loop])),
        "merge one": lambda: sch.merge(loop),
        "merge itself": lambda: sch.merge(loop, loop),
        "reorder twice": lambda: sch.reorder(loop, loop),
        "compute_at": lambda: sch.compute_at(block, rng.choice(loops or [loop])),
        "reverse_compute_at": lambda: sch.reverse_compute_at(block, rng.choice(loops or [loop])),
        "compute_at, far": lambda: sch.compute_at(block, other, index=many),
        "cache_read": lambda: sch.cache_read(block, many, "local"),
        "cache_read, memory": lambda: sch.cache_read(block, 0, "nowhere"),
        "cache_write": lambda: sch.cache_write(block, many, "local"),
        "cache_index": lambda: sch.cache_index(block, "nowhere"),
        "reindex": lambda: sch.reindex(block, ("read", many)),
        "set_scope": lambda: sch.set_scope(block, 0, "nowhere"),
        "set_scope, number": lambda: sch.set_scope(block, odd or -1, "local"),
        "set_dtype": lambda: sch.unsafe_set_dtype(block, many, "float16"),
        "storage_align": lambda: sch.storage_align(block, 0, many, 4, 1),
        "storage_align, factor": lambda: sch.storage_align(block, 0, 0, -4, 1),
        "separators": lambda: sch.set_axis_separator(block, ("write", 0), [many]),
        "transform_layout": lambda: sch.transform_layout(
            block, ("write", 0), lambda *i: [i[0] // 2] if i else [0]
        ),
        "transform_block_layout": lambda: sch.transform_block_layout(
            block, lambda *i: [i[0] // 2] if i else [0]
        ),
        "reorder_block_iter_var": lambda: sch.reorder_block_iter_var(block, [0, 0, many]),
        "pad_einsum": lambda: sch.pad_einsum(block, [1] * (len(iters) + 1)),
        "pad_einsum, negative": lambda: sch.pad_einsum(block, [-1 for _ in iters]),
        "rolling_buffer": lambda: sch.rolling_buffer(block, many),
        "tensorize": lambda: sch.tensorize(loop, "no.such.intrinsic"),
        "unannotate": lambda: sch.unannotate(rng.choice([block, loop]), "missing"),
        "hide": lambda: sch.unsafe_hide_buffer_access(block, "read", [many]),
        "hide, kind": lambda: sch.unsafe_hide_buffer_access(block, "opaque", [0]),
        "annotate_access": lambda: sch.annotate_buffer_access(
            block, many, "read", lambda *i: [(0, 1)]
        ),
        "read_at": lambda: sch.read_at(other, block, many, "local"),
        "write_at": lambda: sch.write_at(other, block, many, "local"),
        "rfactor": lambda: sch.rfactor(loop, many),
        "blockize none": lambda: sch.blockize([]),
        "blockize twice": lambda: sch.blockize([block, block]),
        "bind": lambda: sch.bind(loop, "noIdx.q"),
        "sample": lambda: sch.sample_perfect_tile(loop, n=odd if odd <= 0 else -odd),
        "sample odd": lambda: sch.sample_categorical([1, 2], [0.5]),
        "sample decision": lambda: sch.sample_categorical([1, 2], [0.5, 0.5], decision=many),
    }


def ask_senseless(seed: int, asked: int) -> Scheduler:
    names = list(WORKLOADS)
    scheduler = Scheduler(WORKLOADS[names[seed % len(names)]](), seed)
    for _ in range(4):
        scheduler.step()
    while sum(scheduler.refused.values()) < asked:
        name, request = scheduler.rng.choice(list(senseless(scheduler).items()))
        scheduler.ask(name, request)
    return scheduler


@pytest.mark.parametrize("seed", range(20))
def test_illegal_requests_are_refused(seed: int) -> None:
    """A thousand in all."""
    assert sum(ask_senseless(seed, 50).refused.values()) >= 50
