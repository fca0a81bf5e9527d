"""Channels within a process, over pipes and over sockets."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable

import pytest

from tvm.runtime.disco.channel import Channel, PipeChannel, SocketChannel, queue_pair

pytestmark = pytest.mark.cpu


def pipes() -> tuple[Channel, Channel]:
    (read_a, write_a), (read_b, write_b) = os.pipe(), os.pipe()
    return (
        PipeChannel(os.fdopen(read_a, "rb"), os.fdopen(write_b, "wb")),
        PipeChannel(os.fdopen(read_b, "rb"), os.fdopen(write_a, "wb")),
    )


def sockets() -> tuple[Channel, Channel]:
    with socket.create_server(("localhost", 0)) as server:
        mine = socket.create_connection(server.getsockname())
        theirs, _ = server.accept()
    return SocketChannel(mine), SocketChannel(theirs)


@pytest.mark.parametrize("make", [queue_pair, pipes, sockets])
def test_messages_go_both_ways_until_the_end(
    make: Callable[[], tuple[Channel, Channel]],
) -> None:
    mine, theirs = make()
    mine.send(["call", 1, [2.5]])
    mine.send(["stop"])
    assert theirs.receive() == ["call", 1, [2.5]]
    assert theirs.receive() == ["stop"]
    theirs.send(["answer", True, None])
    assert mine.receive() == ["answer", True, None]
    mine.close()
    assert theirs.receive() is None
