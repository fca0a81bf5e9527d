"""What a node does, and a whole search by way of it."""

from __future__ import annotations

from typing import cast

import pytest

from tests.meta_schedule.cluster.fake import FakeEngine
from tests.meta_schedule.programs import Matmul
from tvm.ir.module import IRModule
from tvm.meta_schedule.arg_info import ArgInfo
from tvm.meta_schedule.builder import BuilderInput, ClusterBuilder
from tvm.meta_schedule.cluster import Cluster, Node
from tvm.meta_schedule.cluster.machine import describe
from tvm.meta_schedule.cluster.node import measure
from tvm.meta_schedule.runner import ClusterRunner, EvaluatorConfig, RunnerInput
from tvm.meta_schedule.utils import remove_build_dir
from tvm.target import Target
from tvm.tir.function import PrimFunc

pytestmark = pytest.mark.cpu
ONCE = EvaluatorConfig(number=1, repeat=2, min_repeat_ms=0)


MATMUL: IRModule = cast(IRModule, Matmul)


def infos() -> list[ArgInfo]:
    func = MATMUL["main"]
    assert isinstance(func, PrimFunc)
    return ArgInfo.from_prim_func(func)


def test_built_and_measured_by_a_cluster() -> None:
    machine, cores = describe()
    cluster = Cluster(FakeEngine(Node("here", machine, cores), at_once=True))
    builder, runner = ClusterBuilder(cluster), ClusterRunner(cluster, evaluator_config=ONCE)
    broken = IRModule({})
    good, bad = builder.build([BuilderInput(m, Target("llvm")) for m in (MATMUL, broken)])
    assert good.artifact_path is not None
    assert bad.error_msg is not None
    (future,) = runner.run([RunnerInput(good.artifact_path, "llvm", infos())])
    remove_build_dir(good.artifact_path)  # it was sent already
    result = future.result()
    assert future.done()
    assert result.error_msg is None
    assert len(result.run_secs or ()) == 2
    cluster.close()


def test_a_file_that_is_none() -> None:
    seconds, error = measure(
        b"nothing", "a.tar", "llvm", [i.as_json() for i in infos()], tuple(ONCE), 30.0, None
    )
    assert seconds is None
    assert str(error).startswith("LocalRunner: An exception occurred")
