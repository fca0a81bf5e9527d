"""The worker's side, in this process."""

from __future__ import annotations

import gc
import io
import threading
import weakref
from typing import ClassVar

import pytest

from tvm.contrib.by_value import from_bytes, to_bytes
from tvm.contrib.popen_worker import BEGUN, read_message, serve, write_message

pytestmark = pytest.mark.cpu


def answers(*tasks: object) -> list[object]:
    source, sink = io.BytesIO(), io.BytesIO()
    write_message(source, b"start")
    for task in tasks:
        write_message(source, to_bytes(task))
    source.seek(0)
    serve(source, sink)
    sink.seek(0)
    assert read_message(sink) == b"ready"
    found = []
    while (data := read_message(sink)) is not None:
        if not data.startswith(BEGUN):
            found.append(from_bytes(data))
    return found


def test_each_task_has_an_answer() -> None:
    first, second, third = answers(
        (divmod, (7, 2), {}), (divmod, (1, 0), {}), (threading.Lock, (), {})
    )
    assert first == (True, (3, 1))
    assert isinstance(second[1], ZeroDivisionError)
    assert "the result cannot be sent back" in str(third[1])


class Connection:
    """Stands for something that closes when nobody holds it."""

    opened: ClassVar[list[weakref.ref[Connection]]] = []


def _fails_with_a_connection() -> None:
    connection = Connection()
    Connection.opened.append(weakref.ref(connection))
    raise ValueError("broken")


def test_what_a_task_had_goes_with_its_error() -> None:
    gc.disable()  # which would hide a circle of references
    try:
        ((done, _),) = answers((_fails_with_a_connection, (), {}))
        still_open = [ref for ref in Connection.opened if ref() is not None]
    finally:
        gc.enable()
    assert (done, still_open) == (False, [])
    assert Connection.opened


class Pieces(io.BytesIO):
    """A pipe that gives a little at a time, as real ones do of long messages."""

    def read(self, size: int | None = -1) -> bytes:
        return super().read(3 if size is None else min(size, 3))


def test_messages_come_in_pieces() -> None:
    assert read_message(Pieces(b"\x05\0\0\0\0\0\0\0abcde")) == b"abcde"


def test_a_message_that_is_cut_ends_it() -> None:
    assert read_message(io.BytesIO(b"\x05\0\0\0\0\0\0\0abc")) is None
    assert read_message(io.BytesIO(b"\x05\0")) is None
    serve(io.BytesIO(), io.BytesIO())
