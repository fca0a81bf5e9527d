"""Builder and runner by kind, by object, and by the address of a cluster."""

from __future__ import annotations

import pytest

from tests.meta_schedule.cluster.fake import FakeEngine
from tvm.meta_schedule import where_measured
from tvm.meta_schedule.builder import BuilderResult, ClusterBuilder, PyBuilder
from tvm.meta_schedule.cluster import Cluster, Node
from tvm.meta_schedule.runner import ClusterRunner, PyRunner
from tvm.meta_schedule.where_measured import builder_and_runner
from tvm.target import Target

pytestmark = pytest.mark.pure


class Own(PyBuilder):
    warm = 0

    def warm_up(self) -> None:
        self.warm += 1

    def build(self, build_inputs: object) -> list[BuilderResult]:
        return []


def test_objects_stay() -> None:
    builder, runner = Own(), PyRunner()
    with builder_and_runner(builder, runner, None) as found:
        assert found == (builder, runner)
    assert builder.warm == 1


def test_a_cluster_builds_and_measures_and_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = FakeEngine(Node("a", "znver4", 1))
    monkeypatch.setattr(where_measured, "cluster_at", lambda address: Cluster(engine))
    target = Target("llvm -mcpu=haswell")
    with builder_and_runner("local", "ray://head", target) as (builder, runner):
        assert isinstance(builder, ClusterBuilder)
        assert isinstance(runner, ClusterRunner)
        assert runner.machine == "haswell"
        assert builder.cluster is runner.cluster
    assert engine.closed
    own = Own()
    with builder_and_runner(own, "ray://head", target) as (builder, _):
        assert builder is own
