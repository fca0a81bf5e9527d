"""The number of threads."""

from __future__ import annotations

import pytest

from tvm import runtime
from tvm.runtime import threads
from tvm.runtime.attributes import host_cores

pytestmark = pytest.mark.pure


@pytest.fixture(autouse=True)
def clean(monkeypatch: pytest.MonkeyPatch):
    for name in ("TVM_NUM_THREADS", "OMP_NUM_THREADS"):
        monkeypatch.delenv(name, raising=False)
    yield
    threads.config_threads(0)


def test_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runtime.num_threads() == host_cores()
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert runtime.num_threads() == 3
    monkeypatch.setenv("TVM_NUM_THREADS", "5")
    assert runtime.num_threads() == 5
    monkeypatch.setenv("TVM_NUM_THREADS", "many")
    assert runtime.num_threads() == 3


def test_a_configured_number_wins_and_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[int] = []
    monkeypatch.setattr(threads, "_listeners", [told.append])
    threads.config_threads(7)
    assert runtime.num_threads() == 7
    threads.on_change(told.append)
    assert told == [7, 7]


@pytest.mark.parametrize("count", [-1, 2000])
def test_numbers_out_of_range_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match="0 to 1024; 0: by environment"):
        threads.config_threads(count)
