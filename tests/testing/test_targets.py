"""Which targets tests run on."""

from __future__ import annotations

import pytest

import tvm
import tvm.testing

pytestmark = pytest.mark.pure


def test_the_host_is_enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_TEST_TARGETS", "llvm -mcpu=x86-64; unheard")
    assert tvm.testing.enabled_targets() == [("llvm -mcpu=x86-64", tvm.cpu())]
    assert tvm.testing.device_enabled("llvm")
    assert not tvm.testing.device_enabled("vulkan -from_device=0")


def test_targets_that_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_TEST_TARGETS", "unheard")
    with pytest.raises(tvm.TVMError, match="found: none of unheard can run here"):
        tvm.testing.enabled_targets()


def test_devices_are_asked_for_by_text() -> None:
    with pytest.raises(TypeError, match="legal: a string"):
        tvm.testing.device_enabled(3)
