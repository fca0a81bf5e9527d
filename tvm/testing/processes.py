"""Helpers for tests of workers, and small matters of the command line."""

from __future__ import annotations

import inspect
import os
import runpy
import sys
import time
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest

from tvm.error import message

Value = TypeVar("Value")


def identity_after(x: Value, sleep: float) -> Value:
    """The argument, after so many seconds."""
    time.sleep(sleep)
    return x


def terminate_self() -> NoReturn:
    """End this process with a failure."""
    sys.exit(-1)


def strtobool(val: str) -> int:
    """1 or 0 for the usual words of configuration."""
    word = val.lower()
    if word in ("y", "yes", "t", "true", "on", "1"):
        return 1
    if word in ("n", "no", "f", "false", "off", "0"):
        return 0
    raise ValueError(
        message("read a truth value", found=repr(val), legal="yes, true, on, 1, no, false, off, 0")
    )


def install_request_hook(depth: int) -> None:
    """Under CI, let the repository's own hook answer the downloads of the calling script.

    The hook is the function `init` of `tests/scripts/request_hook/request_hook.py`, `depth`
    folders above the script. Elsewhere nothing happens.
    """
    if not os.environ.get("CI"):
        return
    folder = Path(inspect.stack()[1].filename).resolve()
    for _ in range(depth):
        folder = folder.parent
    path = folder / "tests" / "scripts" / "request_hook" / "request_hook.py"
    if not path.is_file():
        raise FileNotFoundError(
            message(
                "install the hook for downloads",
                found=f"no file {path}",
                legal="the number of folders from the script up to the repository's root",
            )
        )
    runpy.run_path(str(path))["init"]()


def main() -> NoReturn:
    """Run the tests of the file that calls this, with the arguments of the command line."""
    frame = inspect.stack()[1]
    sys.exit(pytest.main([frame.filename, *sys.argv[1:]]))
