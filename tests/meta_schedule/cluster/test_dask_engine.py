"""Tuning on a Dask cluster of this machine."""

from __future__ import annotations

import importlib.util
import tempfile

import pytest

from tests.meta_schedule.cluster.searched import found_on

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.skipif(  # long to import, which each collection would pay
        importlib.util.find_spec("distributed") is None,
        reason="the extra tvm-py[dask] is not installed",
    ),
]


def test_tuned_on_dask() -> None:
    from distributed import LocalCluster

    with tempfile.TemporaryDirectory() as folder, LocalCluster(  # type: ignore[no-untyped-call]  # Dask has no types
        n_workers=1, threads_per_worker=2, processes=False, protocol="tcp", dashboard_address=None,
        local_directory=folder,
    ) as local:  # fmt: skip
        assert found_on(local.scheduler_address) == 4
