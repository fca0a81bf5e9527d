"""The descent, on seconds that a formula gives."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.meta_schedule.schedules import LLVM, commit
from tvm.meta_schedule.database import MemoryDatabase
from tvm.meta_schedule.post_optimization import Droplet
from tvm.meta_schedule.post_optimization.droplet import p_value
from tvm.meta_schedule.post_optimization.utils import write_file

pytestmark = pytest.mark.pure
Seconds = Callable[[int], list[float]]


def droplet(tmp_path: Path, seconds: Seconds, batch: int = 2, **options: Any) -> Droplet:
    """From tiles of one; each record's seconds follow from its inner tile."""
    record = commit(MemoryDatabase(), seconds(1), inner=1)
    path = write_file([[0, record.as_json()]], str(tmp_path / "record"))
    made = Droplet(path, record.workload.as_json(), LLVM, str(tmp_path / "log"), **options)
    made.batch, made.measured = batch, []  # type: ignore[attr-defined]
    made.visited = {made.best_choice}
    made._restart()

    def run(records: Any, log: str) -> list[list[float]]:
        inner = [config[0][1][0][1][1] for _, config in records]
        made.measured.extend(inner)  # type: ignore[attr-defined]
        return [seconds(size) for size in inner]

    made.space.run = run  # type: ignore[method-assign, assignment]
    return made


def best_tile(made: Droplet) -> int:
    (values,) = made.space.config_space.values()
    return values[made.best_choice[0]]


def test_it_goes_down_to_the_best(tmp_path: Path) -> None:
    made = droplet(tmp_path, lambda size: [abs(np.log2(size) - 3) + 1])
    made.tune()
    assert best_tile(made) == 8
    assert sorted(made.measured) == [2, 4, 8, 16]  # type: ignore[attr-defined]
    assert not made.has_next()


def test_trials_are_a_limit(tmp_path: Path) -> None:
    made = droplet(tmp_path, lambda size: [1.0 / size])
    made.tune(1)
    assert made.measured == [2]  # type: ignore[attr-defined]


def test_what_cannot_be_measured_is_no_way(tmp_path: Path) -> None:
    made = droplet(tmp_path, lambda size: [1e10] if size > 2 else [1.0 / size], batch=1)
    made.tune()
    assert best_tile(made) == 2


def test_noise_is_no_reason_to_move(tmp_path: Path) -> None:
    def seconds(size: int) -> list[float]:
        return [0.99 - 0.5 * (size > 1), 1.0, 1.01 + 0.45 * (size > 1)]

    made = droplet(tmp_path, seconds)
    made.tune()
    assert best_tile(made) == 1
    sure = droplet(tmp_path, seconds, pvalue=1.0)
    sure.tune()
    assert best_tile(sure) > 1


def test_moves(tmp_path: Path) -> None:
    made = droplet(tmp_path, lambda size: [1.0])
    made.space.dims = [5, 5, 5]
    assert made.num_to_bin(5, -2) == [-2, 0, -2]
    assert made.search_space(3) == [
        [0, 0, 3], [0, 0, -3], [0, 3, 0], [0, -3, 0], [3, 0, 0], [-3, 0, 0]]  # fmt: skip


def test_the_test() -> None:
    """By the table of Student's distribution: t = 2.776 for 4 degrees at 5 %."""
    first, second = np.array([-1.0, 0.0, 1.0]), np.array([-1.0, 0.0, 1.0])
    apart = 2.776 * np.sqrt(2 / 3)
    assert p_value(first + apart, second) == pytest.approx(0.05, abs=1e-4)
    assert p_value(first, second) == pytest.approx(1.0, abs=1e-4)
    assert p_value([1.0, 1.0], [2.0, 2.0]) == 0
