"""What LLVM says of this machine, and which triples mean the same."""

from __future__ import annotations

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
