"""`tvm info`: what this installation is and has: versions, the processor, the compile cache."""

from __future__ import annotations

import argparse
import platform
from importlib import metadata

from tvm.backend.llvm import cache, jit
from tvm.exec.cache import described
from tvm.exec.command import Outcome


def configure(parser: argparse.ArgumentParser) -> None:
    """It takes no arguments of its own."""


def run(args: argparse.Namespace) -> Outcome:
    machine = jit.host_machine()
    try:
        version = metadata.version("tvm-py")
    except metadata.PackageNotFoundError:  # run from a source tree
        version = "(not installed)"
    record: dict[str, object] = {
        "version": version,
        "python": platform.python_version(),
        "llvm": ".".join(map(str, jit.llvm_version())),
        "triple": machine.triple,
        "cpu": machine.cpu,
        "cache": described(),
    }
    lines = [
        f"tvm-py  {version}",
        f"python  {record['python']}",
        f"llvm    {record['llvm']}",
        f"target  {machine.triple}, {machine.cpu}",
        f"cache   {cache.folder() if cache.enabled() else 'switched off (TVM_CACHE)'}",
    ]
    if cache.enabled():
        used = cache.usage()
        lines.append(f"        {used.files} files, {used.bytes:,} of {cache.limit():,} bytes")
    return Outcome("\n".join(lines), record)
