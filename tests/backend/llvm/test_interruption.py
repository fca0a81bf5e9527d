"""The text of polls: what is hidden in exported libraries, and that other systems have it."""

from __future__ import annotations

import pytest

from tvm.backend.llvm import host
from tvm.backend.llvm.interruption import interruption_text

pytestmark = pytest.mark.pure


def test_polls_of_exported_libraries_are_hidden() -> None:
    assert "define hidden i32 @tvm_rt_poll(ptr %name)" in interruption_text("hidden ")
    assert "define i32 @tvm_rt_poll(ptr %name)" in interruption_text("")


@pytest.mark.parametrize("triple", ["x86_64-linux-gnu", "aarch64-linux-gnu", "arm64-apple-macos"])
def test_they_are_part_of_the_host_functions(triple: str) -> None:
    text = host.host_text(host.pool_platform(triple, exported=True))
    assert text.count("@__tvm_rt_poll = global") == 1
    assert "call i32 @tvm_rt_poll(ptr @pool.name)" in text
