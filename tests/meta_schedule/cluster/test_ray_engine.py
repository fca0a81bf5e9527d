"""Tuning on a Ray cluster of this machine."""

from __future__ import annotations

import pytest

from tests.meta_schedule.cluster.searched import found_on

pytest.importorskip("ray", reason="the extra tvm-py[ray] is not installed")
pytestmark = [pytest.mark.cpu, pytest.mark.long]  # ten processes start


def test_tuned_on_ray() -> None:
    assert found_on("ray://local") == 4
