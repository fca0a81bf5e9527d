"""What parameters refuse, and how values are kept; the plugin's test runs them."""

from __future__ import annotations

import pytest

import tvm.testing
from tvm.testing.parameters import _cached

pytestmark = pytest.mark.pure


def test_what_is_refused() -> None:
    with pytest.raises(tvm.TVMError, match="found: by_dict beside values"):
        tvm.testing.parameter(1, by_dict={"a": 1})
    with pytest.raises(tvm.TVMError, match="found: sets of 1 and 2 values"):
        tvm.testing.parameters((1,), (1, 2))


def test_values_are_kept_by_arguments() -> None:
    calls = []
    kept = _cached(lambda *args: calls.append(args) or [len(calls)])
    assert kept([1, 2]) == kept([1, 2]) == [1]
    assert kept([1.0, 2]) == [2]
    with pytest.raises(tvm.TVMError, match="an argument of type bytearray"):
        kept(bytearray(b"a"))


class TestSessionScope:
    number = tvm.testing.parameter(1, 2)

    @pytest.fixture(scope="class")
    def doubled(self, number: int) -> int:
        return 2 * number

    def test_a_fixture_of_a_class_may_ask_for_one(self, number: int, doubled: int) -> None:
        assert doubled == 2 * number
