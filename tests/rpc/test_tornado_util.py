"""Connections of an event loop: order, waiting, closing."""

from __future__ import annotations

import asyncio
import socket

from tvm.rpc.tornado_util import TCPHandler


class Recorder(TCPHandler):
    def __init__(self, sock: socket.socket) -> None:
        super().__init__(sock)
        self.came: list[bytes] = []
        self.gone, self.room = asyncio.Event(), asyncio.Event()

    def on_message(self, message: bytes) -> None:
        self.came.append(message)

    def on_close(self) -> None:
        self.gone.set()

    def on_drained(self) -> None:
        self.room.set()


def test_much_waits_its_turn_and_comes_in_order() -> None:
    async def main() -> bytes:
        left, right = socket.socketpair()
        sender, taker = Recorder(left), Recorder(right)
        taker.rest()
        sender.write_message("text ", binary=False)
        for number in range(64):
            sender.write_message(bytes([number]) * (1 << 17))
        assert sender.is_full
        assert not taker.came
        sender.signal_close()
        sender.write_message(b"too late")
        taker.go_on()
        await asyncio.wait_for(taker.gone.wait(), 30)
        assert sender.gone.is_set()
        assert sender.room.is_set()
        return b"".join(taker.came)

    wanted = b"text " + b"".join(bytes([n]) * (1 << 17) for n in range(64))
    assert asyncio.run(main()) == wanted


def test_a_connection_that_is_reset() -> None:
    async def main() -> None:
        left, right = socket.socketpair()
        handler = Recorder(left)
        right.close()
        await asyncio.wait_for(handler.gone.wait(), 30)
        handler.write_message(b"nobody listens")
        handler.close()

    asyncio.run(main())
