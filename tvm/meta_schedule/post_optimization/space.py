"""The schedules around one that was measured: a knob for each decision of its trace.

A tiling has a knob for each factor but the outermost, which takes what is left; a choice has one
for the number of what is chosen. A point of the space is a position for each knob.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from typing import Any

from tvm.error import TVMError, message
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.builder import BuilderInput, LocalBuilder
from tvm.meta_schedule.database import TuningRecord, Workload
from tvm.meta_schedule.runner import EvaluatorConfig, LocalRunner, RunnerInput
from tvm.meta_schedule.search_strategy.trace_replay import replayer
from tvm.meta_schedule.tune_context import TuneContext
from tvm.meta_schedule.utils import remove_build_dir
from tvm.target.target import Target
from tvm.tir.schedule import Schedule

from .utils import write_file

_UNMEASURED_SECS = 1e10


class Space:
    """The space of a record `[number, record as JSON]` of a workload."""

    def __init__(self, data: Any, workload: Any, target: Target) -> None:
        self.cfg = copy.deepcopy(data)
        self._id: int = data[0]
        made = isinstance(workload, Workload)
        self.workload = workload if made else Workload.from_json(workload)
        self.target = target if isinstance(target, Target) else Target(target)
        self.dev = self.get_device_type(self.target)
        self.config_space: dict[str, list[int]] = {}
        self.start: list[int] = []
        self.create_space()
        self.dims = [len(values) for values in self.config_space.values()]
        self.total_dims = math.prod(self.dims)

    def __repr__(self) -> str:
        knobs = ", ".join(f"{name}={values}" for name, values in self.config_space.items())
        return f"Space({knobs}, size={self.total_dims})"

    # --- positions ---

    def get_value(self, key: str, pos: int) -> int:
        """What the knob `key` says at a position."""
        return self.config_space[key][pos]

    def add_space(
        self, space_list: Sequence[int], element_list: list[int], limit: int = 10000
    ) -> list[int]:
        """`element_list` with the values that it lacks, none above `limit`."""
        more = [value for value in space_list if value not in element_list and value <= limit]
        return [*element_list, *dict.fromkeys(more)]

    def knob2point(self, knob: Sequence[int]) -> int:
        """The number of a point."""
        sizes = [math.prod(self.dims[:at]) for at in range(len(self.dims))]
        return sum(size * position for size, position in zip(sizes, knob))

    def point2knob(self, point: int) -> list[int]:
        """The point of a number."""
        knob = []
        for dim in self.dims:
            knob.append(point % dim)
            point //= dim
        return knob

    def power_of_two(self, min_value: int, max_value: int) -> list[int]:
        """The powers of two with these exponents, and those between."""
        return [1 << exponent for exponent in range(min_value, max_value + 1)]

    def get_index(self, array: Sequence[int], value: int) -> int:
        """Where a value stands; -1 if nowhere."""
        return list(array).index(value) if value in array else -1

    # --- knobs ---

    def create_space(self) -> None:
        """Find the knobs, and where the record stands."""
        self.template(create=True)

    def template(self, values: Sequence[int] | None = None, create: bool = True) -> Any:
        """With `create`, find the knobs; else the record at the positions `values`.

        None if the tiles there do not divide their loops.
        """
        if create:
            self._find_knobs()
            return None
        assert values is not None, "positions of all knobs"
        found = {key: self.get_value(key, at) for key, at in zip(self.config_space, values)}
        config = copy.deepcopy(self.cfg[1])
        for at, decision in self._decisions(config):
            if isinstance(decision, list):
                inner = [found[_tile(at, k)] for k in range(1, len(decision))]
                outer, rest = divmod(math.prod(decision), math.prod(inner))
                if rest:
                    return None
                decision[:] = [outer, *inner]
        trace = config[0]
        trace[1] = [[at, found.get(f"choice_{at}", value)] for at, value in trace[1]]
        return [self._id, config]

    def _decisions(self, config: Any) -> Iterator[tuple[int, Any]]:
        insts, decisions = config[0]
        for at, decision in decisions:
            if insts[at][0] in ("SamplePerfectTile", "SampleCategorical"):
                yield at, decision

    def _find_knobs(self) -> None:
        insts = self.cfg[1][0][0]
        for at, decision in self._decisions(self.cfg[1]):
            attrs = insts[at][2]
            if not isinstance(decision, list):
                self._add_knob(f"choice_{at}", range(len(attrs[0])), decision)
                continue
            extent, last = math.prod(decision), len(decision) - 1
            sizes = [size for size in range(1, extent + 1) if extent % size == 0]
            for k in range(1, len(decision)):
                limit = int(attrs[1]) if k == last and int(attrs[1]) > 0 else extent
                fitting = [size for size in sizes if size <= max(limit, decision[k])]
                self._add_knob(_tile(at, k), fitting, decision[k])

    def _add_knob(self, key: str, values: Sequence[int], now: int) -> None:
        self.config_space[key] = list(values)
        self.start.append(self.get_index(self.config_space[key], now))

    # --- measuring ---

    def get_device_type(self, target: Target) -> str:
        """The kind of device that measures."""
        kinds = {"llvm": "cpu", "c": "cpu", "cuda": "cuda"}
        if target.kind.name not in kinds:
            legal = ", ".join(kinds)
            raise RuntimeError(
                message("post optimization", found=f"target {target.kind.name}", legal=legal)
            )
        return kinds[target.kind.name]

    def save_log(self, path: str, record: TuningRecord, results: Sequence[float]) -> None:
        """Add a measured record to a file."""
        stored = record.as_json()
        stored[1] = [float(t) for t in results]
        write_file([[self._id, stored]], path, "a")

    def run(
        self,
        json_file_list: Sequence[Any],
        final_log: str,
        timeout: float = 10,
        number: int = 2,
        repeat: int = 3,
        min_repeat_ms: int = 0,
        cpu_cache: bool = False,
    ) -> list[list[float]]:
        """Measure records and add them to `final_log`; 1e10 stands for what cannot be measured."""
        config = EvaluatorConfig(number, repeat, min_repeat_ms, cpu_cache)
        builder = LocalBuilder(timeout_sec=timeout)
        runner = LocalRunner(timeout_sec=timeout, evaluator_config=config)
        found: list[list[float]] = []
        for given in json_file_list:
            sch = self._schedule(given)
            times = None if sch is None else self._measure(sch, builder, runner)
            found.append([_UNMEASURED_SECS] if times is None else times)
            if sch is not None:
                info = ArgInfo.from_entry_func(sch.mod, remove_preproc=True)
                made = TuningRecord(sch.trace, self.workload, found[-1], self.target, info)
                self.save_log(final_log, made, found[-1])
        return found

    def _schedule(self, record: Any) -> Schedule | None:
        """The record's schedule, finished by the postprocessors; None if it is not legal."""
        context = TuneContext(
            self.workload.mod, target=self.target, space_generator="post-order-apply"
        )
        replay, seed = replayer(context)
        try:
            trace = TuningRecord.from_json(record[1], self.workload).trace
        except TVMError:
            return None
        return replay.apply(trace, seed)

    def _measure(
        self, sch: Schedule, builder: LocalBuilder, runner: LocalRunner
    ) -> list[float] | None:
        (built,) = builder.build([BuilderInput(sch.mod, self.target)])
        if built.artifact_path is None:
            return None
        info = ArgInfo.from_entry_func(sch.mod, remove_preproc=True)
        (future,) = runner.run([RunnerInput(built.artifact_path, self.target.kind.name, info)])
        run_secs = future.result().run_secs
        remove_build_dir(built.artifact_path)
        return None if run_secs is None else [float(t) for t in run_secs]


def _tile(at: int, k: int) -> str:
    return f"tile_{at}_{k}"
