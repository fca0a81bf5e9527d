"""A tracker and a server on this machine."""

from __future__ import annotations

import pytest

from tvm import rpc
from tvm.meta_schedule.testing.local_rpc import LocalRPC

pytestmark = pytest.mark.cpu


def test_both_are_there_and_go() -> None:
    with LocalRPC(tracker_key="board", silent=True) as local:
        tracker = rpc.connect_tracker(local.tracker_host, local.tracker_port)
        assert tracker.request(local.tracker_key).get_function("rpc.test.addone")(41) == 42
    with pytest.raises((OSError, RuntimeError)):
        tracker.request("board", max_retry=1)
