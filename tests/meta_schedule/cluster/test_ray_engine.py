"""Tuning on a Ray cluster of this machine."""

from __future__ import annotations

import importlib.util

import pytest

from tests.meta_schedule.cluster.searched import found_on

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.long,  # ten processes start
    # seconds to import, which each collection would pay
    pytest.mark.skipif(
        importlib.util.find_spec("ray") is None, reason="the extra tvm-py[ray] is not installed"
    ),
]


def test_tuned_on_ray() -> None:
    assert found_on("ray://local") == 4
