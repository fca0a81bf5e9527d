"""Processes of their own for work of LLVM's that may end a process, or never end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Final, NamedTuple

from tvm.support.apart import hearing_signals

_SIGNALS: Final = {s.value: s.name for s in signal.Signals}


class Answer(NamedTuple):
    """What a process wrote, and why that is not all: empty when it ended well."""

    content: bytes
    reason: str


def ask(
    module: str, arguments: Sequence[str], given: bytes, seconds: float | None = None
) -> Answer:
    """Run `python -m module arguments` on bytes, for `seconds` at most; it ends with this one."""
    # modules are found where we find them; tvm_ffi need not look for torch
    env = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(p for p in sys.path if p),
        "TVM_FFI_DISABLE_TORCH_C_DLPACK": "1",
    }
    command, pipe = [sys.executable, "-m", module, *arguments], subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, env=env) as process:
        try:
            content, said = hearing_signals(lambda: process.communicate(given, seconds))
        except subprocess.TimeoutExpired:
            process.kill()
            return Answer(b"", f"it takes LLVM more than {seconds:g} seconds")
        except BaseException:
            process.kill()  # nobody waits for it
            raise
    if process.returncode == 0:
        return Answer(content, "")
    lines = said.decode(errors="replace").strip().splitlines()
    number = -process.returncode
    if number in _SIGNALS:
        return Answer(b"", f"LLVM ends of it with {_SIGNALS[number]}")
    return Answer(b"", lines[-1] if lines else f"LLVM ends with code {process.returncode}")
