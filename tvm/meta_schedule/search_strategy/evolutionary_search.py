"""Evolution of decisions: the better a schedule, the more variants of it are tried.

As in Ansor (Zheng et al., OSDI 2020) and MetaSchedule (Shao et al., NeurIPS 2022), but a generation
is made and scored as decisions only, by a surrogate; the best are replayed and scored by the cost
model, and the best of these are measured.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tvm.error import message
from tvm.ir.structural import structural_hash
from tvm.meta_schedule.measure_candidate import MeasureCandidate
from tvm.meta_schedule.mutator import Mutator
from tvm.tir.schedule import Schedule, Trace
from tvm.tir.schedule.random_engine import RandomEngine

from .decision_space import Key, key_of, random_trace, samples_of
from .search_strategy import Rounds, StrategyInRounds, require_spaces
from .surrogate import Surrogate
from .trace_replay import candidate, replayer

if TYPE_CHECKING:
    from tvm.meta_schedule.cost_model import CostModel
    from tvm.meta_schedule.database import Database
    from tvm.meta_schedule.runner import RunnerResult
    from tvm.meta_schedule.tune_context import TuneContext

_LOGGER = logging.getLogger(__name__)
MAX_EMPTY_ROUNDS = 5
MAX_KEPT = 512  # schedules that were replayed but not chosen
REPLAYS_PER_TRIAL = 2  # of the best by the surrogate, for a cost model to choose from


class EvolutionarySearch(StrategyInRounds["_Search"]):
    """Searches by mutation and selection.

    A population has `population_size` schedules: the share `init_measured_ratio` from the database,
    the rest random ones, at least `init_min_unmeasured`. In each of `genetic_num_iters` generations
    a schedule is mutated with `genetic_mutate_prob`. The share `eps_greedy` of what is measured is
    random. `max_fail_count` rounds of replays without a legal schedule end the search.
    """

    def __init__(
        self,
        *,
        population_size: int = 512,
        init_measured_ratio: float = 0.2,
        init_min_unmeasured: int = 50,
        max_fail_count: int = 5,
        genetic_num_iters: int = 4,
        genetic_mutate_prob: float = 0.85,
        genetic_max_fail_count: int = 10,
        eps_greedy: float = 0.05,
    ) -> None:
        _require_share("init_measured_ratio", init_measured_ratio)
        _require_share("genetic_mutate_prob", genetic_mutate_prob)
        _require_share("eps_greedy", eps_greedy)
        self.population_size = population_size
        self.init_measured_ratio = init_measured_ratio
        self.init_min_unmeasured = init_min_unmeasured
        self.max_fail_count = max_fail_count
        self.genetic_num_iters = genetic_num_iters
        self.genetic_mutate_prob = genetic_mutate_prob
        self.genetic_max_fail_count = genetic_max_fail_count
        self.eps_greedy = eps_greedy
        super().__init__()

    def _begin(
        self,
        rounds: Rounds,
        design_spaces: list[Schedule],
        database: Database | None,
        cost_model: CostModel | None,
    ) -> _Search:
        require_spaces(design_spaces)
        if database is None:
            raise ValueError(
                message(
                    "Database is not supplied in PreTuning",
                    legal="a database: evolutionary search starts from its records",
                )
            )
        return _Search(self, self._context, rounds, design_spaces, database, cost_model)

    def clone(self) -> EvolutionarySearch:
        """Another one with the same figures, not in a search."""
        return EvolutionarySearch(
            population_size=self.population_size,
            init_measured_ratio=self.init_measured_ratio,
            init_min_unmeasured=self.init_min_unmeasured,
            max_fail_count=self.max_fail_count,
            genetic_num_iters=self.genetic_num_iters,
            genetic_mutate_prob=self.genetic_mutate_prob,
            genetic_max_fail_count=self.genetic_max_fail_count,
            eps_greedy=self.eps_greedy,
        )


class _Individual(NamedTuple):
    space: int
    trace: Trace

    def key(self) -> tuple[int, Key]:
        return self.space, key_of(self.trace)


class _Replayed(NamedTuple):
    who: _Individual
    candidate: MeasureCandidate


class _Search:
    """What a search knows from round to round."""

    def __init__(
        self,
        options: EvolutionarySearch,
        context: TuneContext | None,
        rounds: Rounds,
        spaces: list[Schedule],
        database: Database,
        cost_model: CostModel | None,
    ) -> None:
        self._options = options
        self._replayer, seed = replayer(context)
        assert context is not None, "refused by replayer"
        self._context = context
        self._rounds = rounds
        self._spaces = [s.trace.simplified(remove_postproc=True) for s in spaces]
        self._database, self._model = database, cost_model
        self._engine = RandomEngine(seed)
        self._surrogate = Surrogate()
        self._done: set[tuple[int, Key]] = set()  # decisions that were sent or refused
        self._legal: dict[tuple[int, Key], _Replayed] = {}  # replayed, and not sent yet
        self._any_legal = False
        self._measured: set[int] = set()  # hashes of modules
        self._sent: dict[int, _Individual] = {}  # by identity of the schedule
        self._empty_rounds = 0
        space = context.space_generator
        self._mutators = dict((space.mutator_probs if space is not None else None) or {})
        for mutator in self._mutators:
            mutator.use_engine(self._engine)

    # --- a round ---

    def round(self) -> list[MeasureCandidate] | None:
        count = self._rounds.next_count
        if count == 0:
            return None
        unmeasured = self._random_individuals()
        replays = count * REPLAYS_PER_TRIAL if self._model_knows() else count
        best = self._evolve([*self._from_database(), *unmeasured], replays)
        picks = self._pick(best, unmeasured, count)
        if picks is None:
            _LOGGER.warning("no legal schedule found:\n%s", self._replayer.summary())
            return None
        if not picks:
            self._empty_rounds += 1
            if self._empty_rounds >= MAX_EMPTY_ROUNDS:
                return None
        return [made.candidate for made in picks]

    def _random_individuals(self) -> list[_Individual]:
        options = self._options
        wanted = round(options.population_size * (1 - options.init_measured_ratio))
        found = []
        for _ in range(max(wanted, options.init_min_unmeasured)):
            space = self._engine.below(len(self._spaces))
            found.append(_Individual(space, random_trace(self._spaces[space], self._engine)))
        return found

    def _from_database(self) -> list[_Individual]:
        count = int(self._options.population_size * self._options.init_measured_ratio)
        mod = self._context.mod
        assert mod is not None, "refused by replayer"
        if count == 0 or not self._database.has_workload(mod):
            return []
        records = self._database.get_top_k(self._database.commit_workload(mod), count)
        traces = [record.trace.simplified(remove_postproc=True) for record in records]
        # what has no decisions, such as the schedule of a rule, has no variants
        return [_Individual(self._space_of(t), t) for t in traces if samples_of(t)]

    def _space_of(self, trace: Trace) -> int:
        """The space whose instructions a trace has; a number of its own for others."""
        shape = _shape(trace)
        for number, space in enumerate(self._spaces):
            if _shape(space) == shape:
                return number
        self._spaces.append(trace)
        return len(self._spaces) - 1

    def _evolve(self, population: list[_Individual], count: int) -> list[_Individual]:
        """The best of all generations that were not measured, best first."""
        seen: dict[tuple[int, Key], tuple[float, _Individual]] = {}
        for generation in range(self._options.genetic_num_iters + 1):
            scores = self._surrogate.predict(
                [who.space for who in population], [who.trace for who in population]
            )
            for who, score in zip(population, scores):
                key = who.key()
                if key not in self._done:
                    seen.setdefault(key, (float(score), who))
            if generation < self._options.genetic_num_iters:
                population = self._next_generation(population, scores)
        ranked = sorted(seen.values(), key=lambda pair: -pair[0])
        return [who for _, who in ranked[:count]]

    def _next_generation(
        self, population: list[_Individual], scores: np.ndarray
    ) -> list[_Individual]:
        spread = float(scores.std()) or 1.0
        weights = np.cumsum(np.exp(np.clip((scores - scores.max()) / spread, -30.0, 0.0)))
        return [self._child(population, weights) for _ in range(self._options.population_size)]

    def _child(self, population: list[_Individual], weights: np.ndarray) -> _Individual:
        parent = population[0]
        for _ in range(self._options.genetic_max_fail_count + 1):
            at = float(weights[-1]) * self._engine.uniform()
            parent = population[min(int(np.searchsorted(weights, at)), len(population) - 1)]
            if self._engine.uniform() >= self._options.genetic_mutate_prob or not self._mutators:
                return parent
            made = self._draw_mutator().vary(parent.trace)
            if made is not None:
                return _Individual(parent.space, made)
        return parent

    def _draw_mutator(self) -> Mutator:
        mutators = list(self._mutators)
        return mutators[self._engine.weighted(list(self._mutators.values()))]

    def _model_knows(self) -> bool:
        return self._model is not None and self._model.knows(self._context)

    # --- what is measured ---

    def _pick(
        self, best: list[_Individual], unmeasured: list[_Individual], count: int
    ) -> list[_Replayed] | None:
        """Replay, score, and choose; None if no schedule at all is legal."""
        random_count = int(count * self._options.eps_greedy)
        for _ in range(self._options.max_fail_count):
            ranked = self._ranked(self._replay(best, len(best)))
            missing = max(random_count, count - len(ranked))
            others = self._replay(self._shuffled(unmeasured), missing)
            picks = self._distinct([*ranked[: count - random_count], *others, *ranked], count)
            # different decisions may make the same program: others replace it
            while len(picks) < count and (
                more := self._replay(self._shuffled(unmeasured), count - len(picks))
            ):
                picks += self._distinct(more, count - len(picks))
            if picks:
                return picks
            best, unmeasured = [], self._random_individuals()
        return [] if self._any_legal else None

    def _shuffled(self, pool: list[_Individual]) -> list[_Individual]:
        rest, found = list(pool), []
        while rest:
            found.append(rest.pop(self._engine.below(len(rest))))
        return found

    def _replay(self, individuals: list[_Individual], count: int) -> list[_Replayed]:
        """Up to `count` legal ones that were not sent yet."""
        found: dict[tuple[int, Key], _Replayed] = {}
        for who in individuals:
            if len(found) == count:
                break
            key = who.key()
            if key in self._done or key in found:
                continue
            made = self._legal.get(key) or self._replay_one(who)
            if made is not None and made.who.key() not in self._done:
                found.setdefault(made.who.key(), made)
        return list(found.values())

    def _replay_one(self, who: _Individual) -> _Replayed | None:
        sch = self._replayer.apply(who.trace, self._engine.fork())
        if sch is None:
            key = who.key()
            if None not in key[1]:
                self._done.add(key)  # what is open may be drawn in another way again
            return None
        self._any_legal = True
        trace = sch.trace.simplified(remove_postproc=True)
        made = _Replayed(_Individual(who.space, trace), candidate(sch))
        while len(self._legal) >= MAX_KEPT:
            self._legal.pop(next(iter(self._legal)))
        self._legal[made.who.key()] = made
        return made

    def _ranked(self, replayed: list[_Replayed]) -> list[_Replayed]:
        """Best first by the cost model, which teaches the surrogate."""
        if not replayed or self._model is None or not self._model_knows():
            return replayed
        candidates = [made.candidate for made in replayed]
        scores = np.asarray(self._model.predict(self._context, candidates), dtype=np.float64)
        for made, score in zip(replayed, scores):
            self._surrogate.learn(made.who.space, made.who.trace, float(score))
        return [replayed[i] for i in np.argsort(-scores, kind="stable")]

    def _distinct(self, replayed: list[_Replayed], count: int) -> list[_Replayed]:
        """The first ones whose modules were not measured."""
        found: list[_Replayed] = []
        for made in replayed:
            if len(found) == count:
                break
            key, number = (
                made.who.key(),
                structural_hash(made.candidate.sch.mod, map_free_vars=True),
            )
            self._done.add(key)
            self._legal.pop(key, None)
            if number not in self._measured:
                self._measured.add(number)
                self._sent[id(made.candidate.sch)] = made.who
                found.append(made)
        return found

    def notify(self, candidates: list[MeasureCandidate], results: list[RunnerResult]) -> None:
        """Go on to the next round; measured schedules teach the surrogate until a model does."""
        self._rounds.advance()
        for measured, result in zip(candidates, results):
            who = self._sent.pop(id(measured.sch), None)
            if who is None or self._model_knows() or not result.run_secs:
                continue
            mean = float(np.mean([float(s) for s in result.run_secs]))
            self._surrogate.learn(who.space, who.trace, -float(np.log(max(mean, 1e-12))))


def _shape(trace: Trace) -> tuple[str, ...]:
    return tuple([inst.kind.name for inst in trace.insts])


def _require_share(name: str, value: float) -> None:
    if not 0.0 <= value <= 1.0:
        raise ValueError(
            message(
                f"EvolutionarySearch: {name} should be within [0, 1]",
                found=f"`{name} = {value}`",
            )
        )
