"""What a builder sends to a cluster, and what it makes of the answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, cast

import pytest

from tests.meta_schedule.cluster.fake import FakeEngine
from tests.meta_schedule.programs import Matmul
from tvm.ir.module import IRModule
from tvm.meta_schedule.builder import Builder, BuilderInput, ClusterBuilder, DaskBuilder, RayBuilder
from tvm.meta_schedule.cluster import Cluster, Node
from tvm.meta_schedule.cluster.machine import describe
from tvm.meta_schedule.utils import remove_build_dir
from tvm.target import Target

pytestmark = pytest.mark.pure


class Answers(FakeEngine):
    """Answers without building."""

    def submit(self, node: Node, func: Any, args: Any) -> Any:
        _, target, _ = args
        answer = (target.encode(), None) if "haswell" in target else (None, "does not compile")
        return super().submit(node, lambda *_: answer, args)


def test_answers() -> None:
    cluster = Cluster(Answers(Node("a", "znver4", 1), at_once=True))
    mod = cast(IRModule, Matmul)
    targets = [Target("llvm -mcpu=haswell"), Target("llvm")]
    good, bad = ClusterBuilder(cluster).build([BuilderInput(mod, t) for t in targets])
    assert good.artifact_path is not None
    assert json.loads(Path(good.artifact_path).read_bytes())["mcpu"] == "haswell"
    remove_build_dir(good.artifact_path)
    assert (bad.artifact_path, bad.error_msg) == (None, "does not compile")
    sent = [json.loads(started.args[1])["mcpu"] for started in cluster.engine.started]  # type: ignore[attr-defined]
    assert sent == ["haswell", describe()[0]], "this machine's CPU, wherever it is compiled"
    cluster.close()


def test_kinds() -> None:
    cluster = Cluster(FakeEngine(Node("a", "znver4", 1)))
    assert isinstance(Builder.create("ray", cluster), RayBuilder)
    assert isinstance(Builder.create("dask", cluster), DaskBuilder)
    cluster.close()
