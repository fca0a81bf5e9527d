"""ONNX's own cases: none is wrong. A part of them here, all of them as a long test."""

from __future__ import annotations

import pytest

from tests.relax.frontend.onnx.conformance import (
    FROZEN,
    PAGE,
    PASSED,
    REFUSED,
    WRONG,
    Case,
    all_outcomes,
    group_of,
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


def _counted() -> dict[tuple[str, str], int]:
    """How many cases of an operator have each outcome, as the page says."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in PAGE.read_text().partition("## Operators")[2].splitlines()
        if line.startswith("|")
    ]
    return {
        (row[0], status): int(count)
        for row in rows[2:]
        for status, count in zip((PASSED, FROZEN, REFUSED), row[1:])
    }


@pytest.mark.slow
@pytest.mark.parametrize("slice_", range(SLICES))
def test_a_part_of_the_cases_ends_no_worse_than_the_page_says(slice_: int) -> None:
    cases = _sample(node_cases())[slice_::SLICES]
    assert len(cases) > 10
    counted, unlike = _counted(), []
    as_bad = {FROZEN: (FROZEN, REFUSED), REFUSED: (REFUSED,), WRONG: ()}
    for case in cases:
        outcome = run_case(case)
        # a case that passes by now is fine: the page is written by the long test
        group, legal = group_of(case), as_bad.get(outcome.status)
        if legal is not None and not any(counted.get((group, status)) for status in legal):
            unlike.append(f"{case.name}: {outcome.status}, {outcome.reason}")
    assert not unlike, "\n".join(unlike)


@pytest.mark.long
def test_all_cases_and_the_page_that_counts_them() -> None:
    cases = [*node_cases(), *stored_cases()]
    outcomes = all_outcomes(cases)
    wrong = [f"{name}: {o.reason}" for name, o in outcomes.items() if o.status == WRONG]
    assert not wrong, "\n".join(wrong)
    assert page(outcomes, cases) == PAGE.read_text()
