from __future__ import annotations

import json
import os
import signal
import sys
import time
from types import SimpleNamespace

import pytest

from tvm.error import CheckError, InternalError, TVMError
from tvm.exec import cli
from tvm.exec.command import Outcome

pytestmark = pytest.mark.pure


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """The command `run`, of which each test says what it does."""
    module = SimpleNamespace(configure=lambda parser: None)
    monkeypatch.setattr(cli, "_module", lambda name: module)
    return module


def _raiser(error: BaseException):
    def run(args: object) -> Outcome:
        raise error

    return run


def test_text_or_record(command: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    command.run = lambda args: Outcome("for people", {"n": 3})
    assert cli.main(["run"]) == cli.OK
    assert capsys.readouterr().out == "for people\n"
    assert cli.main(["run", "--json"]) == cli.OK
    assert json.loads(capsys.readouterr().out) == {"n": 3}


def test_mistake_has_a_message_and_no_traceback(
    command: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    for kind in (TVMError, CheckError):
        command.run = _raiser(kind("asked\n  found: this"))
        assert cli.main(["run", "-v"]) == cli.MISTAKE
        assert capsys.readouterr().err == "error: asked\n  found: this\n"


@pytest.mark.parametrize("error", [InternalError("broken"), ZeroDivisionError("broken")])
def test_fault_tells_how_to_see_the_traceback(
    error: Exception, command: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    command.run = _raiser(error)
    assert cli.main(["run"]) == cli.FAULT
    told = capsys.readouterr().err
    kind = type(error).__name__
    assert f"error: a fault of the compiler, not of the request: {kind}: broken" in told
    assert "the same command with -v prints the traceback" in told
    assert "Traceback" not in told

    assert cli.main(["run", "-v"]) == cli.FAULT
    assert "Traceback (most recent call last)" in capsys.readouterr().err


def test_what_the_machine_refuses_is_a_mistake(
    command: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    command.run = _raiser(OSError(28, "No space left on device", "m.so"))
    assert cli.main(["run"]) == cli.MISTAKE
    assert "No space left on device: 'm.so'" in capsys.readouterr().err


def test_errors_as_json(command: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    command.run = _raiser(TVMError("no"))
    assert cli.main(["run", "--json"]) == cli.MISTAKE
    assert json.loads(capsys.readouterr().out) == {"error": {"kind": "TVMError", "message": "no"}}


def test_interrupt(command: SimpleNamespace) -> None:
    command.run = _raiser(KeyboardInterrupt())
    assert cli.main(["run"]) == 130


def test_usage_errors_are_mistakes(
    command: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["run", "--no-such-option"]) == cli.MISTAKE
    assert "unrecognized arguments: --no-such-option" in capsys.readouterr().err
    assert cli.main(["runn"]) == cli.MISTAKE
    assert "did you mean 'run'?" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "legal"),
    [
        (["tune", "m.py", "-o", "m.so", "--budget", "4q"], "; legal: seconds, minutes or hours"),
        (["view", "m.py", "--port", "x"], "; legal: tvm view [-h] "),
    ],
)
def test_usage_errors_are_a_line(
    words: list[str], legal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(words) == cli.MISTAKE
    (line,) = capsys.readouterr().err.splitlines()
    assert legal in line
    assert line.count("legal: ") == 1


def test_a_request_to_end_leaves_as_an_exception(command: SimpleNamespace) -> None:
    """So that folders of half-written files go; what was there for the signal comes back."""
    before = signal.getsignal(signal.SIGTERM)
    tidied = []

    def run(args: object) -> Outcome:
        try:
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
        finally:
            tidied.append(True)
        raise AssertionError("it went on")

    command.run = run
    with pytest.raises(SystemExit) as left:
        cli.main(["run"])
    assert (left.value.code, tidied) == (128 + signal.SIGTERM, [True])
    assert signal.getsignal(signal.SIGTERM) is before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_within_a_destructor_is_heard(
    command: SimpleNamespace, number: signal.Signals
) -> None:
    class Dropped:
        def __del__(self) -> None:
            os.kill(os.getpid(), number)
            time.sleep(0.2)  # the handler raises here

    def run(args: object) -> Outcome:
        made = Dropped()
        del made
        time.sleep(60)
        return Outcome("nobody stopped it", {})

    command.run = run
    hook, before = sys.unraisablehook, signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a test's process may ignore
    try:
        if number == signal.SIGINT:
            assert cli.main(["run"]) == cli.INTERRUPTED
        else:
            with pytest.raises(SystemExit):
                cli.main(["run"])
    finally:
        signal.signal(signal.SIGINT, before)
    assert sys.unraisablehook is hook


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("asked", "asked"),
        ("asked\n  found: this\n  legal: that", "asked; found: this; legal: that"),
        (
            "asked\n  found: this\n  where: x:1,\n           ^\n  legal: that",
            "asked; found: this; legal: that (-v shows where)",
        ),
        ("asked\n  found: this\n         and that", "asked\n  found: this\n         and that"),
        ("several:\n- one\n- two", "several:\n- one\n- two"),
    ],
)
def test_messages_are_told_in_a_line(text: str, line: str) -> None:
    assert cli.in_a_line(text) == line


def test_all_of_a_message_with_v(
    command: SimpleNamespace, capsys: pytest.CaptureFixture[str]
) -> None:
    command.run = _raiser(TVMError("asked\n  found: this"))
    assert cli.main(["run"]) == cli.MISTAKE
    assert capsys.readouterr().err == "error: asked; found: this\n"
