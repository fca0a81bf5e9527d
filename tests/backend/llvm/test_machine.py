"""What LLVM says of this machine, and which triples mean the same."""

from __future__ import annotations

import platform
from dataclasses import replace

import pytest

from tvm.backend.llvm import machine

pytestmark = pytest.mark.cpu


def test_triples_of_one_platform_match() -> None:
    assert machine.llvm_triples_match("x86_64-unknown-linux-gnu", "x86_64-linux-gnu")
    assert machine.llvm_triples_match("arm64-apple-darwin23", "arm64-apple-macos")
    assert not machine.llvm_triples_match("x86_64-linux-gnu", "aarch64-linux-gnu")


def test_the_host_is_described_in_full() -> None:
    host = machine.host_machine()
    assert host.cpu
    assert host.triple
    assert "+" in host.features or host.features == ""
    assert len(machine.llvm_version()) == 3


def test_features_that_rules_use_on_arm_are_llvms_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM would end the process over an instruction that it was not told of."""
    from tvm.target import host_cpu

    model = replace(host_cpu.host_cpu(), features=frozenset(("neon", "dotprod")))
    monkeypatch.setattr(machine, "_host", None)
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    monkeypatch.setattr(host_cpu, "host_cpu", lambda: model)
    words = machine.host_machine().features.split(",")
    told = machine.binding().get_host_cpu_features()
    assert all(f"+{name}" in words for name in ("neon", "dotprod") if not told.get(name))
    assert words[-1] != "-dotprod"
