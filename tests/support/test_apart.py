"""Work beside the main thread: results, errors, and signals while it goes on."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from tvm.support.apart import hearing_signals

pytestmark = pytest.mark.pure


def test_results_and_errors_come_back() -> None:
    assert hearing_signals(lambda: 3) == 3
    with pytest.raises(KeyError, match="key"):
        hearing_signals(lambda: {}["key"])


def test_other_threads_do_their_work_themselves() -> None:
    found: list[bool] = []

    def work() -> None:
        me = threading.get_ident()
        found.append(hearing_signals(threading.get_ident) == me)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [True]
    assert hearing_signals(threading.get_ident) != threading.get_ident()


@pytest.fixture
def interrupts() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where a shell started the tests with it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interrupts")
def test_a_signal_ends_the_wait_and_not_the_work() -> None:
    go_on, done = threading.Event(), threading.Event()

    def work() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        go_on.wait()
        done.set()

    with pytest.raises(KeyboardInterrupt):
        hearing_signals(work)
    go_on.set()
    assert done.wait(10)


def test_a_signal_ahead_of_the_wait_is_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing interrupts the wait then; it has to end by itself before Python looks."""
    go_on, wait = threading.Event(), threading.Event.wait
    asked: list[float | None] = []

    def noted(self: threading.Event, timeout: float | None = None) -> bool:
        if threading.current_thread() is threading.main_thread():
            asked.append(timeout)
            assert len(asked) < 3 or go_on.set() is None
        return wait(self, timeout)

    def work() -> None:
        wait(go_on)

    monkeypatch.setattr(threading.Event, "wait", noted)
    hearing_signals(work)
    assert None not in asked[1:]  # the first is that of the thread's start
