"""Which node gets what, and what becomes of it when the node goes."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError

import pytest

from tests.meta_schedule.cluster.fake import FakeEngine, Gone
from tvm.meta_schedule.cluster import Cluster, LostError, Node, NoNodeError

pytestmark = pytest.mark.pure

ZEN, LAKE = Node("a", "znver4", 2), Node("b", "icelake-server", 2)
Made = Callable[..., tuple[Cluster, FakeEngine]]


@pytest.fixture
def made() -> Iterator[Made]:
    clusters: list[Cluster] = []

    def make(
        *nodes: Node, at_once: bool = False, patience_s: float = 60.0
    ) -> tuple[Cluster, FakeEngine]:
        engine = FakeEngine(*nodes, at_once=at_once)
        clusters.append(Cluster(engine, patience_s))
        return clusters[-1], engine

    yield make
    for cluster in clusters:
        cluster.close()


def until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 600
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.005)


def _has_started(engine: FakeEngine, count: int) -> bool:
    return len(engine.started) == count


def twice(x: int) -> int:
    return 2 * x


def test_results_come_back(made: Made) -> None:
    cluster, _ = made(ZEN, at_once=True)
    futures = [cluster.submit("build", twice, i) for i in range(20)]
    assert [f.result(10) for f in futures] == [2 * i for i in range(20)]


def test_errors_of_a_function_are_its_results(made: Made) -> None:
    cluster, engine = made(ZEN)
    future = cluster.submit("build", twice, 1)
    until(lambda: len(engine.started) == 1)
    engine.started[0].future.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        future.result(10)
    assert len(engine.started) == 1, "once"


def test_no_more_at_a_node_than_it_has_cores(made: Made) -> None:
    cluster, engine = made(ZEN, LAKE)
    futures = [cluster.submit("build", twice, i) for i in range(10)]
    until(lambda: len(engine.started) == 4)
    time.sleep(0.05)
    assert sorted(s.node for s in engine.started) == ["a", "a", "b", "b"]
    engine.started[0].finish()
    until(lambda: len(engine.started) == 5)
    assert engine.started[4].node == engine.started[0].node
    assert sum(f.done() for f in futures) == 1


def test_measurements_go_to_their_machine_and_one_waits(made: Made) -> None:
    cluster, engine = made(ZEN, LAKE)
    for i in range(5):
        cluster.submit("measure", twice, i, machine="icelake-server")
    until(lambda: len(engine.started) == 2)
    time.sleep(0.05)
    assert [s.node for s in engine.started] == ["b", "b"], "one runs and one is next"
    cluster.submit("build", twice, 0)
    until(lambda: len(engine.started) == 3)
    assert engine.started[2].args == (0,), "builds do not wait behind measurements"


def test_what_a_lost_node_had_is_done_elsewhere(made: Made) -> None:
    cluster, engine = made(ZEN)
    future = cluster.submit("build", twice, 4)
    until(lambda: len(engine.started) == 1)
    engine.there = {"b": LAKE}
    engine.started[0].future.set_exception(Gone())
    until(lambda: len(engine.started) == 2)
    assert engine.started[1].node == "b"
    engine.started[1].finish()
    assert future.result(10) == 8


def test_a_node_that_says_nothing_is_noticed(made: Made) -> None:
    cluster, engine = made(ZEN)
    future = cluster.submit("build", twice, 4)
    until(lambda: len(engine.started) == 1)
    engine.there = {"b": LAKE}  # the first one went, and its future never ends
    until(lambda: len(engine.started) == 2)
    assert engine.cancelled == [engine.started[0].future]
    engine.started[1].finish()
    engine.started[0].finish()  # too late, and of no account
    assert future.result(10) == 8


def test_what_ends_each_node_is_given_up(made: Made) -> None:
    cluster, engine = made(ZEN)
    future = cluster.submit("build", twice, 4)
    for i in range(3):
        until(functools.partial(_has_started, engine, i + 1))
        engine.started[i].future.set_exception(Gone())
    with pytest.raises(LostError, match="its node went 3 times"):
        future.result(10)


def test_no_node_of_the_kind(made: Made) -> None:
    cluster, engine = made(ZEN, patience_s=0.0)
    future = cluster.submit("measure", twice, 4, machine="cortex-a72")
    with pytest.raises(NoNodeError, match=r"for a machine cortex-a72\n.*nodes of znver4"):
        future.result(10)
    assert engine.started == []


def test_a_node_that_comes_later_is_used(made: Made) -> None:
    cluster, engine = made(ZEN)
    future = cluster.submit("measure", twice, 4, machine="icelake-server")
    engine.there["b"] = LAKE
    until(lambda: len(engine.started) == 1)
    engine.started[0].finish()
    assert future.result(10) == 8


def test_cancelled_tasks(made: Made) -> None:
    cluster, engine = made(Node("a", "znver4", 1))
    futures = [cluster.submit("build", twice, i) for i in range(3)]
    until(lambda: len(engine.started) == 1)
    cluster.cancel(futures)
    for future in futures:
        with pytest.raises(CancelledError):
            future.result(10)
    assert engine.cancelled == [engine.started[0].future]


def test_closing_drops_what_is_left() -> None:
    engine = FakeEngine(ZEN)
    cluster = Cluster(engine)
    futures = [cluster.submit("build", twice, i) for i in range(3)]
    cluster.close()
    assert engine.closed
    assert all(future.cancelled() for future in futures)
