"""How much memory is left, and a limit to it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tvm.support import memory_limit
from tvm.support.memory_limit import memory_left

pytestmark = [
    pytest.mark.pure,
    pytest.mark.skipif(not Path("/proc/meminfo").exists(), reason="Linux tells how much is left"),
]


def test_no_more_is_left_than_the_group_has(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in (("memory.max", "5000000"), ("memory.current", "4000000")):
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(memory_limit, "GROUP", tmp_path)
    assert memory_left() == 1_000_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory_left() > 1_000_000


def test_what_is_beyond_the_limit_is_refused() -> None:
    script = (
        "from tvm.support.memory_limit import limit_memory\n"
        "limit_memory(64 << 20)\n"
        "some = bytearray(16 << 20)\n"
        "try:\n"
        "    bytearray(256 << 20)\n"
        "except MemoryError:\n"
        "    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("refused\n", 0), done.stderr
