"""What a session may take."""

from __future__ import annotations

import pytest

import tvm
from tvm import rpc
from tvm.error import RPCError
from tvm.rpc import limits

pytestmark = pytest.mark.cpu


def test_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(limits.SECONDS, raising=False)
    assert [limits.seconds(0, None), limits.seconds(0, 7), limits.seconds(3, 7)] == [0, 7, 3]
    monkeypatch.setenv(limits.SECONDS, "5")
    assert [limits.seconds(0, None), limits.seconds(0, 7), limits.seconds(3, 7)] == [5, 5, 3]


@pytest.mark.parametrize("name", [limits.MEMORY, limits.SECONDS])
@pytest.mark.parametrize("value", ["abc", "-1", "inf", "1e400", "4X", "nan", "9" * 5000])
def test_limits_that_are_none(name: str, value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(RPCError, match=r"the limit|the time of a session"):
        limits.check()


@pytest.mark.parametrize("name", [limits.MEMORY, limits.SECONDS])
def test_no_server_starts_with_a_limit_that_is_none(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "4X")
    with pytest.raises(RPCError, match=r"the limit|the time of a session"):
        rpc.Server("127.0.0.1", silent=True)


def test_memory_of_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.MEMORY, "256M")
    server = rpc.Server("127.0.0.1", silent=True)
    sess = rpc.connect("127.0.0.1", server.port)
    for _ in range(3):  # and the session goes on
        with pytest.raises(RPCError, match="MemoryError"):
            tvm.runtime.empty((1 << 30,), "uint8", sess.cpu())
        some = tvm.runtime.empty((1 << 20,), "uint8", sess.cpu())
        assert some.shape == (1 << 20,)
    server.terminate()


def _use(sess: rpc.RPCSession) -> None:
    for _ in range(1_000_000):
        sess.get_function("rpc.test.addone")(1)


def test_time_of_a_session(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(limits.SECONDS, "0.5")
    server = rpc.Server("127.0.0.1", silent=True)
    sess = rpc.connect("127.0.0.1", server.port)
    with pytest.raises(RPCError, match="closed the session"):
        _use(sess)
    assert rpc.connect("127.0.0.1", server.port).get_function("rpc.test.addone")(1) == 2
    server.terminate()
