"""What each mutator changes of a trace."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.workloads import (
    LLVM,
    TURING,
    WORKLOADS,
    context,
    matmul,
    row_sum,
    softmax,
)
from tvm import meta_schedule as ms
from tvm.error import TVMError
from tvm.meta_schedule import mutator as M
from tvm.meta_schedule.mutator.decisions import annotated, decided, plain
from tvm.meta_schedule.search_strategy.decision_space import random_trace, samples_of
from tvm.meta_schedule.structure import PARALLEL
from tvm.meta_schedule.tune_context import TuneContext
from tvm.tir.function import PrimFunc
from tvm.tir.schedule import Instruction, Schedule, Trace
from tvm.tir.schedule.random_engine import RandomEngine

pytestmark = pytest.mark.pure


def made(mutator: M.Mutator, func: PrimFunc, target: str = LLVM) -> tuple[M.Mutator, list[Trace]]:
    """The mutator in a search, and the traces of the default space."""
    parts: Any = {"postprocs": [], "mutator_probs": {mutator: 1.0}}
    if target == TURING:
        parts["sch_rules"] = "cuda"
    ctx = context(func, target, **parts)
    assert ctx.space_generator is not None
    (only,) = ctx.space_generator.mutator_probs or ()
    return only, [sch.trace for sch in ctx.generate_design_space()]


def differing(old: Trace, new: Trace) -> list[Instruction]:
    return [i for i in old.insts if plain(old.get_decision(i)) != plain(new.get_decision(i))]


def test_tiles_keep_their_product() -> None:
    mutator, traces = made(M.MutateTileSize(), matmul(64, 64, 64))
    found = set()
    for _ in range(200):
        new = mutator.apply(traces[2])
        assert new is not None
        (inst,) = differing(traces[2], new)
        decision = plain(new.get_decision(inst))
        assert prod(decision) == 64
        assert decision[-1] <= 64
        found.add(tuple(decision))
    assert len(found) > 15


def test_tiles_keep_to_the_innermost_limit() -> None:
    sch = Schedule(matmul(64, 64, 64))
    loop = sch.get_loops(sch.get_block("C"))[0]
    sch.split(loop, [*sch.sample_perfect_tile(loop, n=2, max_innermost_factor=4, decision=[32, 2])])
    mutator, _ = made(M.MutateTileSize(), matmul())
    for _ in range(50):
        new = mutator.apply(sch.trace)
        assert new is not None
        ((_, decision),) = decided(new, "SamplePerfectTile")
        assert decision in ([16, 4], [64, 1])


def test_nothing_to_change() -> None:
    sch = Schedule(matmul())
    value = sch.sample_categorical([3], [1.0])
    sch.annotate(sch.get_block("C"), "meta_schedule.cooperative_fetch", value)
    for mutator in (M.MutateTileSize(), M.MutateUnroll(), M.MutateThreadBinding()):
        only, _ = made(mutator, matmul())
        assert only.apply(sch.trace) is None


def test_widths_of_fetches() -> None:
    sch = Schedule(matmul())
    value = sch.sample_categorical([1, 2, 4], [0.3, 0.3, 0.4], decision=1)
    sch.annotate(sch.get_block("C"), "meta_schedule.cooperative_fetch", value)
    only, _ = made(M.MutateTileSize(), matmul())
    found = {plain(_only_decision(only.apply(sch.trace))) for _ in range(40)}
    assert found == {0, 2}


def _only_decision(trace: Trace | None) -> Any:
    assert trace is not None
    (decision,) = trace.decisions.values()
    return decision


def test_unroll_steps() -> None:
    mutator, traces = made(M.MutateUnroll(), matmul())
    (inst, old) = next(decided(traces[0], "SampleCategorical"))
    found = set()
    for _ in range(60):
        new = mutator.apply(traces[0])
        assert new is not None
        assert differing(traces[0], new) == [inst]
        found.add(plain(new.get_decision(inst)))
    assert found == {0, 1, 2, 3} - {old}


def test_threads() -> None:
    mutator, traces = made(M.MutateThreadBinding(), row_sum(2, 512), TURING)
    (trace,) = [t for t in traces if any(len(plain(i.attrs[0])) == 8 for i in threads_of(t))]
    found = set()
    for _ in range(80):
        new = mutator.apply(trace)
        assert new is not None
        (inst,) = differing(trace, new)
        assert inst in threads_of(trace)
        found.add(plain(new.get_decision(inst)))
    assert len(found) == 7


def threads_of(trace: Trace) -> list[Instruction]:
    """The samples that are not of unroll steps."""
    return [i for i, _ in decided(trace, "SampleCategorical") if len(plain(i.attrs[0])) != 5]


def test_compute_locations() -> None:
    mutator, traces = made(M.MutateComputeLocation(), softmax())
    trace = traces[-1]
    assert list(decided(trace, "SampleComputeLocation"))
    for _ in range(10):
        new = mutator.apply(trace)
        assert new is not None
        assert len(differing(trace, new)) == 1
        new.apply_to_schedule(Schedule(softmax()), remove_postproc=True)
    assert made(M.MutateComputeLocation(), matmul())[0].apply(Schedule(matmul()).trace) is None


def test_parallel_limits() -> None:
    mutator, traces = made(M.MutateParallel(max_jobs_per_core=16), softmax())
    old, new = next((t, n) for t in traces if (n := mutator.apply(t)) is not None)
    values = [
        plain(inst.inputs[1])
        for trace in (old, new)
        for inst in trace.insts
        if inst.kind.name == "Annotate" and plain(inst.attrs[0]) == "meta_schedule.parallel"
    ]
    assert values[0] == 64
    assert values[1] != 64
    new.apply_to_schedule(Schedule(softmax()), remove_postproc=True)


def test_locations_left_open_are_drawn_from_the_search_s_engine() -> None:
    def texts(seed: int) -> list[str]:
        mutator, traces = made(M.MutateParallel(max_jobs_per_core=16), softmax())
        mutator.use_engine(RandomEngine(seed))
        location = M.MutateComputeLocation()
        location.use_engine(RandomEngine(1))
        open_ones = [t for trace in traces if (t := location.vary(trace)) is not None]
        assert open_ones
        return [str(mutator.apply(trace)) for trace in open_ones for _ in range(4)]

    assert texts(5) == texts(5)


@ms.derived_object
class Empty(M.PyMutator):
    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        pass

    def apply(self, trace: Trace, _: Any) -> Trace | None:  # type: ignore[override]
        return Trace(trace.insts, {})

    def clone(self) -> M.Mutator:
        return Empty()


def test_mutators_of_users() -> None:
    sch = Schedule(Matmul)
    loop = sch.get_loops(sch.get_block("matmul"))[0]
    sch.sample_perfect_tile(loop, n=2)
    new = Empty().apply(sch.trace)  # type: ignore[call-arg]
    assert new is not None
    assert not new.decisions
    assert isinstance(Empty(), M.Mutator)
    assert str(Empty()).startswith("meta_schedule.Empty(0x")


def test_defaults() -> None:
    probs = {type(m).__name__: p for m, p in M.Mutator.create("llvm").items()}
    assert probs == {
        "MutateTileSize": 0.9, "MutateComputeLocation": 0.05, "MutateUnroll": 0.03,
        "MutateParallel": 0.02,
    }  # fmt: skip
    with pytest.raises(ValueError, match="kind of mutators: metal"):
        M.Mutator.create("metal")
    with pytest.raises(TVMError, match="Mutator's Apply method not implemented"):
        M.Mutator().apply(Trace())


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_products_are_those_of_a_replay(name: str) -> None:
    func = WORKLOADS[name]
    mutator, traces = made(M.MutateParallel(max_jobs_per_core=16), func)
    assert isinstance(mutator, M.MutateParallel)
    engine = RandomEngine(3)
    for trace in traces:
        if not list(annotated(trace, [PARALLEL])):
            continue
        for _ in range(5):
            other = random_trace(trace.simplified(remove_postproc=True), engine)
            replayed = [[total for total, _ in block] for block in mutator._replayed(other)]
            if all(other.get_decision(i) is not None for i in samples_of(other)):
                assert mutator._products(other) == replayed
    assert len(mutator._known) <= 2 * len(traces), "tiles of all sizes are one form"
