"""Compile on the nodes of a cluster."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any

from tvm.ir.json import save_json
from tvm.meta_schedule.cluster import node as at_node
from tvm.meta_schedule.cluster.address import cluster_at
from tvm.meta_schedule.cluster.cluster import Cluster
from tvm.meta_schedule.cluster.machine import machine_of
from tvm.support.checkpoint import wait_for
from tvm.support.scratch import scratch_folder
from tvm.target.target import Target

from .builder import BuilderInput, BuilderResult, PyBuilder


class ClusterBuilder(PyBuilder):
    """Compiles on all nodes of a cluster, or of the one at an address; files come back here.

    A target that names no CPU is for the CPU of this machine, wherever it is compiled.
    """

    def __init__(self, cluster: Cluster | str, *, timeout_sec: float = 30.0) -> None:
        super().__init__()
        self.cluster = cluster_at(cluster) if isinstance(cluster, str) else cluster
        self.timeout_sec = timeout_sec

    def build(self, build_inputs: Sequence[BuilderInput]) -> list[BuilderResult]:
        """One result an input."""
        started = [
            self.cluster.submit(
                "build", at_node.build, save_json(i.mod), _named(i.target), self.timeout_sec
            )
            for i in build_inputs
        ]
        try:
            return [_result(future) for future in started]
        except BaseException:  # Ctrl-C, or a time limit: nobody waits for the rest
            self.cluster.cancel(started)
            raise


def _named(target: Target) -> str:
    config = target.export()
    if target.kind.traits.machine_code:
        config["mcpu"] = machine_of(target)
    return json.dumps(config)


def _result(future: Future[Any]) -> BuilderResult:
    wait_for(future, "the next build")
    try:
        content, error = future.result()
    except Exception as err:
        content, error = None, f"ClusterBuilder: An exception occurred\n{err}"
    if content is None:
        return BuilderResult(None, error)
    path = os.path.join(scratch_folder("tvm-build-"), "tvm_tmp_mod.tar")
    Path(path).write_bytes(content)
    return BuilderResult(path, None)


class RayBuilder(ClusterBuilder):
    """Compiles on the nodes of a Ray cluster."""

    def __init__(self, address: Cluster | str = "ray://local", **options: Any) -> None:
        super().__init__(address, **options)


class DaskBuilder(ClusterBuilder):
    """Compiles on the workers of a Dask cluster."""

    def __init__(self, address: Cluster | str = "dask://local", **options: Any) -> None:
        super().__init__(address, **options)
