"""Programs of other toolkits: found on the path, run, and their complaints shown."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from tvm.error import message


def run_tool(command: Sequence[str], kit: str) -> str:
    """What a program prints; a RuntimeError if it is missing (`kit` has it) or fails."""
    if shutil.which(command[0]) is None:
        raise RuntimeError(
            message(f"run {command[0]}", found="none on PATH", legal=f"{command[0]} of {kit}")
        )
    done = subprocess.run(list(command), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip() or f"code {done.returncode}"
        raise RuntimeError(message(" ".join(command), found=said, legal="what the program takes"))
    return done.stdout.strip()
