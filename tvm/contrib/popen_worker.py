"""The other end of a PopenWorker: runs the functions that it is sent, until the pipe closes.

    python -m tvm.contrib.popen_worker READ_FD WRITE_FD
"""

from __future__ import annotations

import os
import select
import struct
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, BinaryIO, TypeAlias

_Reads: TypeAlias = Callable[[bytes], Any]
_Writes: TypeAlias = Callable[[Any], bytes]
HEAD = struct.Struct("<Q")  # the length of what follows
_GRACE_SECONDS = 0.2
BEGUN, CLOCK = b"begun", struct.Struct("<d")


def write_message(pipe: BinaryIO, data: bytes) -> None:
    """Send bytes with their length before them."""
    pipe.write(HEAD.pack(len(data)) + data)
    pipe.flush()


def read_message(pipe: BinaryIO) -> bytes | None:
    """The next message; None when the other end is gone."""
    head = _read(pipe, HEAD.size)
    return None if head is None else _read(pipe, HEAD.unpack(head)[0])


def _read(pipe: BinaryIO, size: int) -> bytes | None:
    """So many bytes, in whatever pieces a pipe gives them; None when the other end is gone."""
    found = bytearray()
    while len(found) < size:
        piece = pipe.read(min(size - len(found), 1 << 20))
        if not piece:
            return None
        found += piece
    return bytes(found)


def begun() -> bytes:
    """Says when a function began; the clock is the same for all processes."""
    return BEGUN + CLOCK.pack(time.monotonic())


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Answer each (function, arguments, keywords) with (True, result) or (False, exception).

    When the function begins, that is said first.
    """
    first = read_message(source)
    if first is None:
        return
    from . import by_value  # after the path of modules is known

    write_message(sink, b"ready")
    while (data := read_message(source)) is not None:
        write_message(sink, _reply(data, sink, by_value.from_bytes, by_value.to_bytes))


def _reply(data: bytes, sink: BinaryIO, from_bytes: _Reads, to_bytes: _Writes) -> bytes:
    """What comes of a message; nothing of it is held on to when this returns."""
    answer: tuple[bool, Any]
    try:
        func, args, kwargs = from_bytes(data)
        write_message(sink, begun())  # limits on time count from here: imports are over
        answer = True, func(*args, **(kwargs or {}))
    except Exception as err:
        # its traceback would keep what the function had, an open connection for one
        answer = False, err.with_traceback(None)
    try:
        return to_bytes(answer)
    except Exception as err:
        return to_bytes((False, TypeError(f"the result cannot be sent back: {err}")))


def end_with_pipe(read_fd: int) -> None:
    """End this process as soon as the other end of its pipe is gone, whatever it is at."""
    watch = select.poll()
    watch.register(read_fd, 0)  # hanging up is told unasked
    watch.poll()
    time.sleep(_GRACE_SECONDS)  # for a function that is done: `serve` returns by itself
    os._exit(1)


def main() -> None:
    """Serve on the pipes that the command line names."""
    read_fd, write_fd = (int(number) for number in sys.argv[1:3])
    if hasattr(select, "poll"):
        threading.Thread(target=end_with_pipe, args=(read_fd,), daemon=True).start()
    with os.fdopen(read_fd, "rb") as source, os.fdopen(write_fd, "wb") as sink:
        serve(source, sink)


if __name__ == "__main__":
    main()
