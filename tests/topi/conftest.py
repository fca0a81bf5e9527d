"""Each test that is promised for names of TOPI has to call them (see `calls.py`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.topi import calls
from tests.unoptimised import code_as_it_is_written as code_as_it_is_written

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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A promised test is there, in each file that is collected whole."""
    if any("::" in arg for arg in config.args) or config.getoption("--update-golden"):
        return
    ours = [item for item in items if item.path.is_relative_to(HERE)]
    there = {_own_id(item) for item in ours}
    files = {test.partition("::")[0] for test in there}
    gone = {test for test in _promises() if test.partition("::")[0] in files} - there
    if gone:
        raise pytest.UsageError(
            f"{calls.RECORD}: no test {', '.join(sorted(gone))}; "
            "run pytest -n0 tests/topi --update-golden"
        )


def _own_id(item: pytest.Item) -> str:
    return f"{item.path.relative_to(HERE)}::{item.name}"


@pytest.fixture(autouse=True)
def _keeps_its_promises(request: pytest.FixtureRequest) -> Iterator[None]:
    own = _own_id(request.node)
    writing = request.config.getoption("--update-golden")
    wanted = _promises().get(own, set())
    if not writing and not wanted:
        yield
        return
    needed = {code for code, name in _public().items() if name in wanted}
    with calls.watched(frozenset() if writing else needed) as codes:
        yield
    names = {name for code, name in _public().items() if code in codes}
    _seen[own] = names, calls.compares(codes)
    if not writing:
        assert wanted <= names, f"not called: {', '.join(sorted(wanted - names))}"


def pytest_sessionfinish(session: pytest.Session) -> None:
    if session.config.getoption("--update-golden") and _seen:
        chosen = any("::" in arg for arg in session.config.args) or session.config.option.keyword
        calls.write(_seen, whole_files=not chosen)
