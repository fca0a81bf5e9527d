"""Certificates made on the command line."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from tvm import rpc
from tvm.error import RPCError
from tvm.exec import rpc_certificate
from tvm.runtime import tls

pytestmark = pytest.mark.cpu


def test_an_authority_and_two_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("cryptography")
    first, second, other = tmp_path / "first", tmp_path / "second", tmp_path / "other"
    rpc_certificate.main([str(first)])
    assert capsys.readouterr().out == f"TVM_RPC_TLS={first}\n"
    rpc_certificate.main([str(first), "--new", str(second)])
    rpc_certificate.main([str(other), "--days=2"])
    assert sorted(path.name for path in second.iterdir()) == ["ca.pem", "cert.pem", "key.pem"]
    assert {stat.S_IMODE(path.stat().st_mode) for path in first.iterdir()} == {0o600}
    assert (first / "key.pem").read_bytes() != (second / "key.pem").read_bytes()
    monkeypatch.setenv("TVM_RPC_TLS", str(first))
    server = rpc.Server("127.0.0.1", silent=True)
    monkeypatch.setenv("TVM_RPC_TLS", str(second))
    assert rpc.connect("127.0.0.1", server.port).get_function("rpc.test.addone")(1) == 2
    monkeypatch.setenv("TVM_RPC_TLS", str(other))
    with pytest.raises(RPCError, match="certificate verify failed"):
        tls.dial(("127.0.0.1", server.port), 600)
    server.terminate()
    for again in ([str(first)], [str(first), "--new", str(second)]):
        with pytest.raises(SystemExit, match="already there"):
            rpc_certificate.main(again)
    with pytest.raises(SystemExit, match="legal: a folder that"):
        rpc_certificate.main([str(second), "--new", str(tmp_path / "third")])


def test_days_that_are_none(tmp_path: Path) -> None:
    for days in ("0", "-3", "99999999"):
        with pytest.raises(SystemExit, match="1 to 36499 days"):
            rpc_certificate.main([str(tmp_path / "a"), f"--days={days}"])
