"""Each test that is promised for names of TOPI has to call them (see `calls.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.topi import calls

HERE = Path(__file__).parent
_seen: dict[str, tuple[set[str], bool]] = {}


@cache
def _promises() -> dict[str, set[str]]:
    by_test: dict[str, set[str]] = {}
    for name, test in calls.promised().items():
        by_test.setdefault(test, set()).add(name)
    return by_test


@cache
def _public() -> dict[object, str]:
    return dict(calls.public_functions())


@pytest.fixture(autouse=True)
def _keeps_its_promises(request: pytest.FixtureRequest) -> Iterator[None]:
    own = f"{request.path.relative_to(HERE)}::{request.node.name}"
    writing = request.config.getoption("--update-golden")
    wanted = _promises().get(own, set())
    if not writing and not wanted:
        yield
        return
    with calls.watched() as codes:
        yield
    names = {name for code, name in _public().items() if code in codes}
    _seen[own] = names, calls.compares(codes)
    if not writing:
        assert wanted <= names, f"not called: {', '.join(sorted(wanted - names))}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--update-golden") and _seen:
        calls.write(_seen)
