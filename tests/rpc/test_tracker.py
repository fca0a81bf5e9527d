"""Trackers lend servers out and take them back."""

from __future__ import annotations

import gc
import socket
import time
from collections.abc import Callable, Iterator

import pytest

from tvm import rpc
from tvm.error import RPCError
from tvm.exec import query_rpc_tracker
from tvm.rpc import base
from tvm.rpc import server as rpc_server
from tvm.rpc.base import TrackerCode
from tvm.rpc.tracker import PriorityScheduler, Tracker

pytestmark = pytest.mark.cpu


@pytest.fixture
def tracker() -> Iterator[Tracker]:
    found = Tracker("127.0.0.1", port=9500, port_end=9700, silent=True)
    yield found
    found.terminate()


def server(tracker: Tracker, key: str = "board") -> rpc.Server:
    return rpc.Server(
        "127.0.0.1", port=9700, port_end=9900, key=key, silent=True,
        tracker_addr=("127.0.0.1", tracker.port), custom_addr="127.0.0.1",
    )  # fmt: skip


def until(true: Callable[[], bool]) -> None:
    """Wait for what other processes do."""
    for _ in range(12000):
        if true():
            return
        time.sleep(0.05)
    raise AssertionError("it did not happen")


def test_servers_are_lent_and_come_back(tracker: Tracker) -> None:
    servers = [server(tracker), server(tracker)]
    client = rpc.connect_tracker("127.0.0.1", tracker.port)

    def free(count: int) -> bool:
        return client.summary()["queue_info"].get("board") == {"free": count, "pending": 0}

    until(lambda: free(2))
    places = [info["addr"] for info in client.summary()["server_info"]]
    assert sorted(places) == sorted(["127.0.0.1", s.port] for s in servers)
    assert {info["key"] for info in client.summary()["server_info"]} == {"server:board"}
    sess = client.request("board")
    assert sess.get_function("rpc.test.addone")(1) == 2
    assert free(1)
    del sess
    gc.collect()
    until(lambda: free(2))
    assert client.request_and_run("board", lambda s: s.get_function("rpc.test.addone")(5)) == 6
    servers[0].terminate()
    until(lambda: free(1))
    assert len(client.summary()["server_info"]) == 1
    assert f"127.0.0.1:{servers[1].port}" in client.text_summary()
    servers[1].terminate()


def test_a_server_is_known_once_it_has_started(tracker: Tracker) -> None:
    client = rpc.connect_tracker("127.0.0.1", tracker.port)
    for count in range(1, 4):
        board = server(tracker)
        assert client.summary()["queue_info"]["board"] == {"free": 1, "pending": 0}, count
        board.terminate()
        until(lambda: not client.summary()["server_info"])


def test_a_server_may_start_before_its_tracker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rpc_server, "_RETRY_S", 0.01)
    monkeypatch.setattr(base, "connect_with_retry", socket.create_connection)
    with socket.create_server(("127.0.0.1", 0)) as place:
        port = place.getsockname()[1]
    board = rpc_server.PopenRPCServerState(
        "127.0.0.1", 9700, 9900, key="board", tracker_addr=("127.0.0.1", port), silent=True
    )
    late = Tracker("127.0.0.1", port=port, port_end=port + 1, silent=True)
    client = rpc.connect_tracker("127.0.0.1", port)
    until(lambda: len(client.summary()["server_info"]) == 1)
    assert client.request("board").get_function("rpc.test.addone")(1) == 2
    assert board.port >= 9700
    late.terminate()


def test_a_server_that_fails_is_given_up(tracker: Tracker) -> None:
    board = server(tracker)
    client = rpc.connect_tracker("127.0.0.1", tracker.port)
    calls = []

    def run(sess: rpc.RPCSession) -> None:
        calls.append(sess.get_function("rpc.test.addone")(1))
        raise RPCError("broken")

    with pytest.raises(RuntimeError, match="Failed to run on board after 2 retry"):
        client.request_and_run("board", run)
    assert calls == [2, 2]
    board.terminate()


def test_the_query_on_the_command_line(
    tracker: Tracker, capsys: pytest.CaptureFixture[str]
) -> None:
    board = server(tracker, "phone")
    client = rpc.connect_tracker("127.0.0.1", tracker.port)
    until(lambda: "phone" in client.summary()["queue_info"])
    query_rpc_tracker.main(["--host", "127.0.0.1", "--port", str(tracker.port)])
    said = capsys.readouterr().out
    assert f"Tracker address 127.0.0.1:{tracker.port}" in said
    assert "server:phone" in said
    board.terminate()


def test_strangers_do_no_harm(tracker: Tracker) -> None:
    for data in (b"GET / HTTP/1.0\r\n\r\n", b"\x71\xf2\x02\x00\xff\xff\xff\x7f", b"\x71"):
        with socket.create_connection(("127.0.0.1", tracker.port)) as sock:
            sock.sendall(data)
    client = rpc.connect_tracker("127.0.0.1", tracker.port)
    for message in ([99], {}, [TrackerCode.PUT], [TrackerCode.UPDATE_INFO, 3]):
        other = rpc.connect_tracker("127.0.0.1", tracker.port)
        assert other._sock is not None
        base.sendjson(other._sock, message)
        with pytest.raises(OSError, match="connection reset"):
            base.recvjson(other._sock)
    assert client._sock is not None
    base.sendjson(client._sock, [TrackerCode.STOP, "wrong key"])
    assert base.recvjson(client._sock) == TrackerCode.FAIL
    base.sendjson(client._sock, [TrackerCode.PING])
    assert base.recvjson(client._sock) == TrackerCode.SUCCESS
    assert client.summary() == {"queue_info": {}, "server_info": []}


def test_the_key_stops_it(tracker: Tracker) -> None:
    client = rpc.connect_tracker("127.0.0.1", tracker.port)
    assert client._sock is not None
    base.sendjson(client._sock, [TrackerCode.STOP, tracker.stop_key])
    assert base.recvjson(client._sock) == TrackerCode.SUCCESS
    assert tracker.proc is not None
    assert tracker.proc._process is not None
    assert tracker.proc._process.wait(600) == 0


class _Owner:
    def __init__(self) -> None:
        self.pending_matchkeys = {"a", "b"}


def test_who_comes_first() -> None:
    queue, owner = PriorityScheduler("k"), _Owner()
    got: list[str] = []

    def wants(name: str, still: bool = True) -> Callable[[object], bool]:
        return lambda value: still and (got.append(name) or True)

    queue.request("", 1, wants("low"))
    queue.request("", 5, wants("high"))
    queue.request("", 9, wants("gone", still=False))
    queue.request("", 5, wants("high, later"))
    assert queue.summary() == {"free": 0, "pending": 4}
    for _ in range(3):
        queue.put((owner, 1, "a", None))
    assert got == ["high", "high, later", "low"]
    queue.put((owner, 1, "b", None))
    assert queue.summary() == {"free": 1, "pending": 0}
    queue.remove((owner, 1, "b", None))
    assert queue.summary() == {"free": 0, "pending": 0}


def test_who_does_not_know_the_secret_learns_nothing(
    tracker: Tracker, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A stranger can neither pose as a server nor see keys."""
    with monkeypatch.context() as other:
        other.setenv("TVM_RPC_TOKEN", "guess")
        with pytest.raises(RPCError, match="the secret of the other end differs"):
            rpc.connect_tracker("127.0.0.1", tracker.port)
    assert rpc.connect_tracker("127.0.0.1", tracker.port).summary()["server_info"] == []


@pytest.mark.parametrize(
    "text",
    [
        '[4, {}, [9, "k"], null]',
        '[4, ["a"], [9, "k"], null]',
        '[4, "a", [9, {}], null]',
        '[4, "a", [-9, "k"], null]',
        '[4, "a", [9, "k"], 7]',
        '[4, "a", 9, null]',
        '[5, "a", "b", Infinity]',
        '[5, "a", "b", NaN]',
        '[5, [], "b", 1]',
        "[" * 300_000,
        "7",
        "\xff",
    ],
)
def test_messages_without_meaning(tracker: Tracker, text: str) -> None:
    other = rpc.connect_tracker("127.0.0.1", tracker.port)
    assert other._sock is not None
    base.send_text(other._sock, text)
    with pytest.raises(OSError, match="reset"):
        base.recvjson(other._sock)
    assert rpc.connect_tracker("127.0.0.1", tracker.port).summary()["server_info"] == []
