"""Options of measuring, and the way to other machines."""

from __future__ import annotations

import pytest

from tvm.meta_schedule.runner import EvaluatorConfig, RPCConfig

pytestmark = pytest.mark.pure


def test_defaults() -> None:
    assert EvaluatorConfig() == (3, 1, 100, False, None)
    assert EvaluatorConfig._normalized(None) == EvaluatorConfig()
    assert EvaluatorConfig._normalized(EvaluatorConfig(number=1)).number == 1


def test_the_environment_says_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_TRACKER_HOST", "127.0.0.1")
    monkeypatch.setenv("TVM_TRACKER_PORT", "9190")
    monkeypatch.setenv("TVM_TRACKER_KEY", "board")
    full = RPCConfig._normalized(RPCConfig(tracker_key="phone", session_timeout_sec=60))
    assert full == ("127.0.0.1", "9190", "phone", 1, 60)


def test_what_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOST", "PORT", "KEY"):
        monkeypatch.delenv(f"TVM_TRACKER_{name}", raising=False)
    with pytest.raises(ValueError, match=r"found: no tracker_port, tracker_key\n.*TVM_TRACKER_KEY"):
        RPCConfig(tracker_host="here").connect_tracker()
