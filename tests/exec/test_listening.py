"""What the command lines that listen on a port have in common."""

from __future__ import annotations

import argparse
import logging

import pytest

from tvm.error import RPCError
from tvm.exec.listening import listen, listening_parser, log_level

pytestmark = pytest.mark.pure


def args_of(*given: str) -> argparse.Namespace:
    return listening_parser("rpc_example", "Serve.", "127.0.0.1", 9090).parse_args(given)


def test_where_to_listen() -> None:
    args = args_of()
    assert (args.host, args.port, args.port_end, args.silent) == ("127.0.0.1", 9090, 9199, False)
    assert args_of("--host=::1", "--port=7", "--silent").port == 7
    usage = listening_parser("rpc_example", "", "", 1).format_usage()
    assert "python -m tvm.exec.rpc_example" in usage


def test_the_port_is_told_unless_silence_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    listen(args_of(), lambda ready: ready(9123))
    assert capsys.readouterr().out == "bind to 127.0.0.1:9123\n"
    listen(args_of("--silent"), lambda ready: ready(9123))
    assert capsys.readouterr().out == ""


def test_how_serving_ends() -> None:
    def interrupted(ready: object) -> None:
        raise KeyboardInterrupt

    def taken(ready: object) -> None:
        raise RPCError("no free port")

    listen(args_of(), interrupted)
    with pytest.raises(SystemExit, match="no free port"):
        listen(args_of(), taken)


def test_silence_is_for_logs_too(monkeypatch: pytest.MonkeyPatch) -> None:
    levels: list[int] = []
    monkeypatch.setattr(logging, "basicConfig", lambda level: levels.append(level))
    log_level(args_of())
    log_level(args_of("--silent"))
    assert levels == [logging.INFO, logging.ERROR]
