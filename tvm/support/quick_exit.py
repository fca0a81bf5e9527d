"""Processes that end without taking apart what they have made.

A compiler that leaves has hundreds of thousands of nodes and a thousand modules. The system takes
their memory back at once; Python would do so piece by piece, for 0.1 to 0.5 s of the processor.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import sys
from collections.abc import Callable


def run_and_leave(work: Callable[[], int]) -> int:
    """The exit code that `work` gives, for `sys.exit`, which must follow.

    Threads are waited for and what `atexit` was given since is called first, as always. Where the
    process is traced (debuggers, coverage), it ends as others do.
    """
    code = 1

    def end() -> None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError, AttributeError):  # closed, or none
                stream.flush()
        os._exit(code)

    if sys.gettrace() is None and sys.getprofile() is None:
        atexit.register(end)  # the first that is registered is called last
    try:
        code = work()
    except SystemExit as leaving:
        code = leaving.code if isinstance(leaving.code, int) else int(leaving.code is not None)
        raise
    return code
