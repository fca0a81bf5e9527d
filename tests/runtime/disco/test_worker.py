"""One worker, told what to do by hand."""

from __future__ import annotations

import threading

import pytest

from tvm.runtime.disco.channel import Channel, queue_pair
from tvm.runtime.disco.worker import Worker
from tvm.runtime.wire import Ref

pytestmark = pytest.mark.cpu


def started() -> tuple[Channel, threading.Thread]:
    mine, theirs = queue_pair()
    thread = threading.Thread(target=Worker(0, 1, 1, theirs).run)
    thread.start()
    return mine, thread


def test_commands_in_order() -> None:
    channel, thread = started()
    channel.send(["set", 1, len])
    channel.send(["call", 2, Ref(1), [[5, 6]]])
    channel.send(["get", 2])
    assert channel.receive() == ["answer", True, 2]
    channel.send(["drop", 2])
    channel.send(["get", 2])
    assert channel.receive()[:2] == ["answer", False]
    channel.send(["sync"])
    assert channel.receive() == ["answer", True, None]
    channel.send(["stop"])
    assert channel.receive() is None
    thread.join()


def test_the_first_failure_is_told() -> None:
    channel, thread = started()
    channel.send(["set", 1, len])
    channel.send(["call", 2, Ref(1), [3]])
    channel.send(["call", 3, Ref(1), [Ref(2)]])
    channel.send(["sync"])
    kind, good, (name, text) = channel.receive()
    assert (kind, good, name) == ("answer", False, "TypeError")
    assert "has no len()" in text
    channel.send(["nonsense"])
    channel.send(["sync"])
    assert channel.receive()[2][0] == "KeyError"
    channel.send(["stop"])
    thread.join()
