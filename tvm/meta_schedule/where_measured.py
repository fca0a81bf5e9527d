"""The builder and the runner of a search: on this machine, or on a cluster by its address."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tvm.target.target import Target

from .builder import Builder
from .cluster import cluster_at, is_address
from .runner import Runner


@contextmanager
def builder_and_runner(
    builder: Any, runner: Any, target: Target | None, max_workers: int | None = None
) -> Iterator[tuple[Builder, Runner]]:
    """Both parts, which begin to load.

    With the address of a cluster for `runner`, a builder that is not an object builds there, too;
    the cluster is left at the end.
    """
    if not is_address(runner):
        if not isinstance(builder, Builder):
            options = {} if max_workers is None else {"max_workers": max_workers}
            builder = Builder.create(builder, **options)
        runner = Runner.create(runner)
        builder.warm_up()
        runner.warm_up()
        yield builder, runner
        return
    from .builder.cluster_builder import ClusterBuilder
    from .cluster.machine import machine_of
    from .runner.cluster_runner import ClusterRunner

    cluster = cluster_at(runner)
    try:
        if not isinstance(builder, Builder):
            builder = ClusterBuilder(cluster)
        machine = None if target is None else machine_of(target)
        yield builder, ClusterRunner(cluster, machine=machine)
    finally:
        cluster.close()
