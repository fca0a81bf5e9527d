"""ONNX's own cases: none is wrong. A part of them here, all of them as a long test."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.relax.frontend.onnx.conformance import (
    FROZEN,
    PAGE,
    PASSED,
    WRONG,
    Case,
    all_outcomes,
    node_cases,
    page,
    run_case,
    stored_cases,
)

pytestmark = pytest.mark.cpu
# Cases of these are run each time; of all others, each case of which the number ends so.
ALWAYS = ("test_adam", "test_ai_onnx_ml", "test_det", "test_tfidf", "test_momentum", "test_if",
          "test_adagrad", "test_tensorscatter", "test_nesterov")  # fmt: skip
STEP = 23
SLICES = 6  # so that several processes share them


def _sample(cases: list[Case]) -> list[Case]:
    return [
        case
        for number, case in enumerate(cases)
        if number % STEP == 0 or case.name.startswith(ALWAYS)
    ]


def _outcomes(cases: list[Case]) -> Counter[str]:
    found: Counter[str] = Counter()
    wrong = []
    for case in cases:
        outcome = run_case(case)
        found[outcome.status] += 1
        if outcome.status == WRONG:
            wrong.append(f"{case.name}: {outcome.reason}")
    assert not wrong, "\n".join(wrong)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("slice_", range(SLICES))
def test_a_part_of_the_cases(slice_: int) -> None:
    cases = _sample(node_cases())[slice_::SLICES]
    found = _outcomes(cases)
    assert found[PASSED] + found[FROZEN] >= 0.7 * len(cases), found  # a few cases each


@pytest.mark.long
def test_all_cases_and_the_page_that_counts_them() -> None:
    cases = [*node_cases(), *stored_cases()]
    outcomes = all_outcomes(cases)
    wrong = [f"{name}: {o.reason}" for name, o in outcomes.items() if o.status == WRONG]
    assert not wrong, "\n".join(wrong)
    assert page(outcomes, cases) == PAGE.read_text()
