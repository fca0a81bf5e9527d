"""The query's command line; tests/rpc/test_tracker.py asks a tracker."""

from __future__ import annotations

import pytest

from tvm.exec import query_rpc_tracker
from tvm.rpc import base

pytestmark = pytest.mark.cpu


def test_no_tracker(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: object) -> None:
        raise RuntimeError("Failed to connect")

    monkeypatch.setattr(base, "connect_with_retry", refuse)
    with pytest.raises(SystemExit, match=r"no tracker at 127\.0\.0\.1:1"):
        query_rpc_tracker.main(["--host=127.0.0.1", "--port=1"])
