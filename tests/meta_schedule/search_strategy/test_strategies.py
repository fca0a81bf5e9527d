"""What strategies propose, round by round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from tests.meta_schedule.programs import Matmul
from tests.meta_schedule.workloads import (
    LLVM,
    TURING,
    WORKLOADS,
    arguments,
    context,
    interpreted,
    matmul,
    samples,
)
from tvm import meta_schedule as ms
from tvm.error import TVMError
from tvm.meta_schedule import search_strategy as S
from tvm.meta_schedule.cost_model import PyCostModel
from tvm.meta_schedule.mutator import MutateParallel, MutateTileSize, PyMutator
from tvm.meta_schedule.postproc import Postproc, PyPostproc
from tvm.meta_schedule.search_strategy.decision_space import features_of, key_of, random_trace
from tvm.meta_schedule.search_strategy.surrogate import Surrogate
from tvm.meta_schedule.space_generator import ScheduleFn
from tvm.meta_schedule.tune_context import TuneContext
from tvm.target import Target
from tvm.tir.schedule import Schedule, Trace
from tvm.tir.schedule.random_engine import RandomEngine

pytestmark = pytest.mark.pure


def tile(sch: Schedule) -> None:
    block = sch.get_block("matmul")
    _, j, k = sch.get_loops(block)
    sch.split(j, [*sch.sample_perfect_tile(j, n=2)])
    sch.split(k, [*sch.sample_perfect_tile(k, n=2)])


class Result:
    """What a runner says of a candidate."""

    def __init__(self, secs: float = 0.1) -> None:
        self.run_secs = [secs]
        self.error_msg = None


class NoRecords:
    """A database in which nothing is."""

    def has_workload(self, mod: Any) -> bool:
        return False


class LikesWideTiles(PyCostModel):
    """A cost model that prefers long inner loops."""

    asked = 0

    def predict(
        self, context: TuneContext, candidates: Sequence[S.MeasureCandidate]
    ) -> Any:
        self.asked += len(candidates)
        return np.array([_inner(c.sch) for c in candidates], "float64")


def _inner(sch: Schedule) -> int:
    decisions = [d for i, d in sch.trace.decisions.items() if i.kind.name == "SamplePerfectTile"]
    return sum(int(d[-1]) for d in decisions)


@ms.derived_object
class Redraw(PyMutator):
    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        pass

    def apply(self, trace: Trace, _: Any) -> Trace | None:  # type: ignore[override]
        return Trace(trace.insts, {})

    def clone(self) -> Any:
        return Redraw()


@ms.derived_object
class Refuse(PyPostproc):
    def _initialize_with_tune_context(self, context: TuneContext) -> None:
        pass

    def apply(self, sch: Schedule) -> bool:
        return False

    def clone(self) -> Postproc:
        return Refuse()


def search(
    strategy: S.SearchStrategy, func: Any = tile, seed: int = 1, **parts: Any
) -> TuneContext:
    parts = {"sch_rules": [], "postprocs": [], "mutator_probs": {MutateTileSize(): 1.0}, **parts}
    return TuneContext(
        Matmul, target=Target("llvm"), space_generator=ScheduleFn(func, **parts),
        search_strategy=strategy, rand_state=seed, num_threads=1,
    )  # fmt: skip


def begin(ctx: TuneContext, trials: int, each: int, model: Any = None) -> None:
    assert ctx.search_strategy is not None
    ctx.search_strategy.pre_tuning(
        trials, each, ctx.generate_design_space(), NoRecords(), model or LikesWideTiles()  # type: ignore[arg-type]
    )


def rounds(ctx: TuneContext) -> list[list[Schedule]]:
    found: list[list[Schedule]] = []
    while (candidates := ctx.generate_measure_candidates()) is not None:
        found.append([c.sch for c in candidates])
        ctx.notify_runner_results(candidates, [Result() for _ in candidates])  # type: ignore[misc]
    ctx.post_tuning()
    return found


@pytest.mark.parametrize("kind", ["replay-trace", "replay-func"])
def test_replay(kind: str) -> None:
    ctx = search(S.SearchStrategy.create(kind))
    begin(ctx, 20, 7)
    found = rounds(ctx)
    assert [len(r) for r in found] == [7, 7, 6]
    names = [[i.kind.name for i in sch.trace.insts] for r in found for sch in r]
    expected = [i.kind.name for i in ctx.generate_design_space()[0].trace.insts]
    assert all(n == [*expected, "EnterPostproc"] for n in names)
    assert len({str(sch.mod) for r in found for sch in r}) > 5


@pytest.mark.parametrize("kind", ["replay-trace", "replay-func", "evolutionary"])
def test_same_seed_same_search(kind: str) -> None:
    def texts(seed: int) -> list[list[str]]:
        ctx = search(S.SearchStrategy.create(kind), seed=seed)
        begin(ctx, 12, 6)
        return [[str(s.trace) for s in r] for r in rounds(ctx)]

    assert texts(3) == texts(3)
    assert texts(3) != texts(4)


def small(**parts: Any) -> S.EvolutionarySearch:
    return S.EvolutionarySearch(
        population_size=5, init_measured_ratio=0.1, init_min_unmeasured=50, genetic_num_iters=3,
        genetic_mutate_prob=0.5, genetic_max_fail_count=10, eps_greedy=0.9, **parts,
    )  # fmt: skip


@pytest.mark.parametrize("mutator", [Redraw, MutateTileSize])
def test_evolution_finds_all_of_a_small_space(mutator: Any) -> None:
    ctx = search(small(), mutator_probs={mutator(): 1.0})
    begin(ctx, 2000, 10)
    counts = [len(r) for r in rounds(ctx)]
    assert sum(counts) == 25  # 64 = a * b with b <= 16 in five ways, twice
    assert counts.count(0) < 5


def test_evolution_ends_where_there_is_no_choice() -> None:
    ctx = search(small(), func=lambda sch: None)
    begin(ctx, 100, 10)
    assert [len(r) for r in rounds(ctx)] == [1, 0, 0, 0, 0]


def test_evolution_ends_where_nothing_is_legal() -> None:
    ctx = search(small(), postprocs=[Refuse()])
    begin(ctx, 100, 10)
    assert ctx.generate_measure_candidates() is None


def test_evolution_follows_the_model() -> None:
    ctx = search(S.EvolutionarySearch(population_size=64, eps_greedy=0.0))
    model = LikesWideTiles()
    begin(ctx, 4, 4, model)
    (first,) = rounds(ctx)
    assert max(map(_inner, first)) == 32
    assert np.mean([_inner(s) for s in first]) > 15
    assert model.asked >= 4


def test_evolution_starts_from_records() -> None:
    sch = ScheduleFn(tile).generate_design_space(Matmul)[0]

    class Record:
        trace = sch.trace

    class Records(NoRecords):
        def has_workload(self, mod: Any) -> bool:
            return True

        def commit_workload(self, mod: Any) -> str:
            return "workload"

        def get_top_k(self, workload: str, top_k: int) -> list[Any]:
            assert workload == "workload"
            return [Record()][:top_k]

    ctx = search(S.EvolutionarySearch(population_size=16))
    strategy = ctx.search_strategy
    assert strategy is not None
    strategy.pre_tuning(4, 4, ctx.generate_design_space(), Records(), LikesWideTiles())  # type: ignore[arg-type]
    assert [len(r) for r in rounds(ctx)] == [4]


def test_rejects_calls_out_of_turn() -> None:
    for kind in ("replay-trace", "replay-func", "evolutionary"):
        strategy = S.SearchStrategy.create(kind)
        with pytest.raises(TVMError, match="the strategy is in no search"):
            strategy.generate_measure_candidates()
        with pytest.raises(TVMError, match="without corresponding `PreTuning`") as raised:
            strategy.post_tuning()
        assert isinstance(raised.value, ValueError)
        ctx = search(strategy)
        begin(ctx, 4, 2)
        with pytest.raises(ValueError, match="`PreTuning` is already invoked"):
            begin(ctx, 4, 2)


def test_rejects_bad_options() -> None:
    with pytest.raises(ValueError, match="Unknown SearchStrategy: greedy"):
        S.SearchStrategy.create("greedy")
    with pytest.raises(ValueError, match=r"eps_greedy should be within \[0, 1\]"):
        S.EvolutionarySearch(eps_greedy=1.5)
    with pytest.raises(ValueError, match="max_trials is -1"):
        begin(search(S.ReplayTrace()), -1, 2)
    with pytest.raises(ValueError, match="there are no design spaces"):
        S.ReplayTrace().pre_tuning(1, 1, [])
    with pytest.raises(ValueError, match="Database is not supplied"):
        search(S.EvolutionarySearch()).search_strategy.pre_tuning(1, 1, [Schedule(Matmul)])  # type: ignore[union-attr]


def test_clones_search_on_their_own() -> None:
    one = S.EvolutionarySearch(population_size=7, max_fail_count=3)
    assert vars(one.clone()) == vars(one)
    assert S.ReplayTrace(5).clone().max_fail_count == 5
    assert isinstance(S.ReplayFunc().clone(), S.ReplayFunc)


# --- parts ---


def test_decisions_are_drawn_without_a_replay() -> None:
    (sch,) = ScheduleFn(tile).generate_design_space(Matmul)
    engine = RandomEngine(3)
    keys = {key_of(random_trace(sch.trace, engine)) for _ in range(300)}
    assert len(keys) == 25
    assert all(a * b == 64 and b <= 16 for key in keys for a, b in key)


def test_the_surrogate_learns() -> None:
    (sch,) = ScheduleFn(tile).generate_design_space(Matmul)
    engine = RandomEngine(3)
    traces = [random_trace(sch.trace, engine) for _ in range(60)]
    scores = [float(np.log2(key_of(t)[0][1]) - (np.log2(key_of(t)[1][1]) - 2) ** 2) for t in traces]
    model = Surrogate()
    assert (model.predict([0, 0], traces[:2]) == 0).all()
    for trace, score in zip(traces[:40], scores):
        model.learn(0, trace, score)
    model.learn(0, traces[0], float("-inf"))
    found = model.predict([0] * 20, traces[40:])
    assert np.corrcoef(found, scores[40:])[0, 1] > 0.9
    assert features_of(traces).shape[0] == 60


# --- random schedules of the default spaces ---


def check_samples(name: str, target: str, count: int) -> None:
    func = WORKLOADS[name]
    args = arguments(func)
    expected = interpreted(func, args)
    found = samples(func, target, count)
    assert found
    for sch in found:
        np.testing.assert_allclose(interpreted(sch.mod, args), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_samples_keep_the_meaning(name: str) -> None:
    check_samples(name, LLVM, 3)


@pytest.mark.parametrize("name", ["matmul", "softmax", "row_sum", "add_one"])
def test_samples_for_gpus_keep_the_meaning(name: str) -> None:
    check_samples(name, TURING, 1)


@pytest.mark.long
@pytest.mark.parametrize("target", [LLVM, TURING])
@pytest.mark.parametrize("name", list(WORKLOADS))
def test_many_samples_keep_the_meaning(name: str, target: str) -> None:
    check_samples(name, target, 100 if target == LLVM else 10)


def test_samples_are_legal() -> None:
    ctx = context(matmul(), LLVM)
    begin(ctx, 8, 8)
    found = ctx.generate_measure_candidates()
    assert found is not None
    assert len(found) == 8
    assert all([str(a) for a in c.args_info] == ['TensorInfo("float32", [16, 16])'] * 3
               for c in found)  # fmt: skip


def test_rounds_are_full_where_decisions_make_the_same_program() -> None:
    ctx = context(
        matmul(32, 32, 32), LLVM, mutator_probs={MutateParallel(max_jobs_per_core=16): 1.0}
    )
    ctx.search_strategy = S.EvolutionarySearch(population_size=32, init_min_unmeasured=64)
    ctx.search_strategy._initialize_with_tune_context(ctx)
    begin(ctx, 12, 4)
    assert [len(r) for r in rounds(ctx)] == [4, 4, 4]
