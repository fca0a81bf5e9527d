"""The optimizer of SPIR-V, if one is installed."""

from __future__ import annotations

from pathlib import Path

from . import utils
from .tools import run_tool


def optimize(spv_bin: bytes | bytearray) -> bytearray:
    """The binary of a SPIR-V module after `spirv-opt -O`; a RuntimeError without the program."""
    temp = utils.tempdir()
    before, after = Path(temp.relpath("before.spv")), Path(temp.relpath("after.spv"))
    before.write_bytes(bytes(spv_bin))
    run_tool(["spirv-opt", "-O", str(before), "-o", str(after)], "SPIRV-Tools")
    return bytearray(after.read_bytes())
