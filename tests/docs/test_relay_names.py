"""The page of Relay says what is not there, and why."""

from __future__ import annotations

import pytest

from tests.docs import relay_names

pytestmark = pytest.mark.pure


def test_the_table_is_current() -> None:
    written = relay_names.PAGE.read_text(encoding="utf-8")
    assert written == relay_names.page(), "python -m tests.docs.relay_names --write"


def test_each_name_that_is_missing_has_a_reason() -> None:
    unexplained = [str(e) for e in relay_names.missing() if relay_names.kind_of(e) is None]
    assert not unexplained


def test_each_kind_is_of_names_that_are_missing() -> None:
    left = {relay_names.kind_of(entry) for entry in relay_names.missing()}
    assert not set(relay_names.KINDS) - left
