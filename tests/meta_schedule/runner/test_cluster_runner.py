"""What a runner sends to a cluster, and what it makes of the answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.meta_schedule.cluster.fake import FakeEngine
from tvm.meta_schedule.cluster import Cluster, Node
from tvm.meta_schedule.cluster.machine import describe
from tvm.meta_schedule.runner import ClusterRunner, DaskRunner, RayRunner, Runner, RunnerInput

pytestmark = pytest.mark.pure


def test_measurements_are_sent_with_the_best_time(tmp_path: Path) -> None:
    engine = FakeEngine(Node("a", "znver4", 1))
    runner = ClusterRunner(Cluster(engine), machine="znver4", timeout_sec=7.0)
    file = tmp_path / "a.tar"
    file.write_bytes(b"code")
    (future,) = runner.run([RunnerInput(str(file), "llvm", [], best_s=0.5)])
    assert not future.done()
    while not engine.started:
        pass
    (started,) = engine.started
    assert started.args[:3] == (b"code", "a.tar", "llvm")
    assert started.args[-2:] == (7.0, 0.5)
    started.future.set_result(([0.25], None))
    assert future.result().run_secs == [0.25]
    runner.cluster.close()


def test_errors_are_results(tmp_path: Path) -> None:
    engine = FakeEngine()
    runner = ClusterRunner(Cluster(engine, patience_s=0.0))
    assert runner.machine == describe()[0]
    (tmp_path / "a.tar").touch()
    (future,) = runner.run([RunnerInput(str(tmp_path / "a.tar"), "llvm", [])])
    result = future.result()
    assert result.run_secs is None
    assert "nodes of no kind" in str(result.error_msg)
    runner.cluster.close()


def test_kinds() -> None:
    cluster = Cluster(FakeEngine(Node("a", "znver4", 1)))
    assert isinstance(Runner.create("ray", cluster), RayRunner)
    assert isinstance(Runner.create("dask", cluster), DaskRunner)
    cluster.close()
