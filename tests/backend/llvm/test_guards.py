"""Watches stand in the code only where somebody looks for faults."""

from __future__ import annotations

import pytest

import tvm
from tvm.backend.llvm import host
from tvm.backend.llvm.guards import CHECK, NAME, WORKSPACES
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@T.prim_func
def copy(a: T.Buffer((16,), "float32"), b: T.Buffer((16,), "float32")) -> None:
    for i in range(16):
        b[i] = a[i]


@pytest.mark.parametrize("asked", ["0", "1"])
def test_watches_are_asked_for(asked: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tvm.runtime.debug_memory.enabled", lambda: asked == "1")
    text = tvm.compile(copy, target="llvm -mtriple=aarch64-linux-gnu").mod.inspect_source("ll")
    for name in (NAME, CHECK):
        assert (f"@{name}(" in text) == (asked == "1")


def test_guarded_memory_comes_from_outside() -> None:
    text = host.host_text(host.pool_platform("x86_64-linux-gnu", exported=False), guarded=True)
    for name in WORKSPACES:
        assert f"@{name}(" in text
        assert not any(line.startswith("define") and name in line for line in text.splitlines())
    assert "store ptr %data, ptr %p.ctx" in text
