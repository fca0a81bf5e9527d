"""The entry point of worker processes."""

from __future__ import annotations

import pytest

import tvm
from tvm.exec import disco_worker

pytestmark = pytest.mark.cpu


def test_its_functions_are_registered() -> None:
    callback = tvm.get_global_func("tests.disco.test_callback")(tvm.cpu())
    assert callback("a", 0).shape == (2, 2)
    assert callback("b", 1).numpy().tolist() == [2.0] * 4


def test_it_says_how_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.argv", ["disco_worker"])
    with pytest.raises(SystemExit, match="WORKER_ID NUM_WORKERS"):
        disco_worker.main()
