from __future__ import annotations

import threading

import pytest

from tvm.support.notes import note, unwatch, watch, watched, watching

pytestmark = pytest.mark.pure


def test_facts_reach_those_who_watch() -> None:
    seen: list[object] = []
    note("before")
    assert not watched()
    with watching(seen.append):
        assert watched()
        note("within")
    note("after")
    assert seen == ["within"]


def test_another_thread_has_its_own_watchers() -> None:
    seen: list[object] = []
    with watching(seen.append):
        thread = threading.Thread(target=note, args=("elsewhere",))
        thread.start()
        thread.join()
    assert seen == []


def test_who_does_not_watch_may_stop_watching() -> None:
    seen: list[object] = []
    watch(seen.append)
    unwatch(print)
    note(1)
    unwatch(seen.append)
    note(2)
    assert seen == [1]
