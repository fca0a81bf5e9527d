"""Pools of memory that a command line tells of."""

from __future__ import annotations

import argparse
from typing import Any

import pytest

import tvm
from tvm.driver.tvmc import TVMCException
from tvm.driver.tvmc.workspace_pools import (
    generate_workspace_pools_args,
    workspace_pools_recombobulate,
)

pytestmark = pytest.mark.pure


def test_pools_of_memory() -> None:
    parser = argparse.ArgumentParser()
    generate_workspace_pools_args(parser)
    targets = [tvm.target.Target("c"), tvm.target.Target("llvm")]

    def read(*words: str) -> Any:
        more = [f"--workspace-pools{word}" for word in words]
        return workspace_pools_recombobulate(parser.parse_args(more), targets, [])

    assert read() is None
    sram, flash = read(
        "=sram,flash", "-targets=sram:c,llvm", "-targets=flash:c", "-size-hint-bytes=sram:400",
        "-size-hint-bytes=flash:9", "-read-latency-cycles=sram:7", "-target-burst-bytes=sram:c:4",
    ).pools  # fmt: skip
    assert (sram.pool_name, [t.kind.name for t in sram.targets]) == ("sram", ["c", "llvm"])
    assert (sram.size_hint_bytes, sram.read_latency_cycles, sram.clock_frequency_hz) == (400, 7, -1)
    assert {t.kind.name: size for t, size in sram.target_burst_bytes.items()} == {"c": 4}
    assert (flash.size_hint_bytes, flash.is_internal) == (9, False)
    for words, kind, told in (
        (("=sram",), TVMCException, "No target specified for Workspace Pool"),
        (("=sram", "-targets=sram:cuda"), TVMCException, "undefined Target"),
        (("=a", "-targets=a:c", "-target-burst-bytes=a:cuda:4"), TVMCException, "subset"),
        (("=a", "-targets=a"), ValueError, "legal: pool:value"),
        (("=a", "-targets=a:c", "-size-hint-bytes=a:x"), ValueError, "invalid literal"),
        (("=a", "-targets=a:c", "-target-burst-bytes=a:4"), ValueError, "pool:target:bytes"),
    ):
        with pytest.raises(kind, match=told):
            read(*words)
