"""Damaged inputs are refused by an error for users, or read; nothing else comes of them."""

from __future__ import annotations

import pytest

from benchmarks import hostile
from benchmarks.hostile_inputs import AREAS

pytestmark = pytest.mark.cpu

# read here, in this process: none of these runs code that came with the input
READ = (
    "ONNX models", "Relay text", "TVMScript", "programs as JSON", "traces of schedules",
    "tuning databases", "parameters", "parameter files", "GGUF files", "safetensors files",
    "configurations of models",
)  # fmt: skip
BAD = ("raw", "crash", "hang", "wrong")


@pytest.mark.parametrize("name", READ)
def test_some(name: str) -> None:
    area = AREAS[name]()
    for number in range(120):
        outcome, note = hostile.outcome_of(area, hostile.attempt(area, number, seed=3))
        assert outcome in ("same", "refused"), f"{outcome} {note}, attempt {number}"


def test_stablehlo() -> None:
    pytest.importorskip("jaxlib")
    area = AREAS["StableHLO text"]()
    for number in range(120):
        outcome, note = hostile.outcome_of(area, hostile.attempt(area, number, seed=3))
        assert outcome in ("same", "refused"), f"{outcome} {note}, attempt {number}"


@pytest.mark.long
@pytest.mark.parametrize("name", [*READ, "ONNX operators", "ONNX operators, run"])
def test_many(name: str) -> None:
    found, notes = hostile.count_area(name, 500 if name.endswith("run") else 5000, seed=4)
    assert not any(found[outcome] for outcome in BAD), notes


def test_attempts_are_repeated_by_their_number() -> None:
    area = AREAS["traces of schedules"]()
    made = [hostile.attempt(area, number, seed=1) for number in range(20)]
    assert made == [hostile.attempt(area, number, seed=1) for number in range(20)]
    assert len(set(made)) > 15
    assert hostile.outcome_of(area, area.corpus[0]) == ("same", "")
