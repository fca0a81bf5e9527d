from __future__ import annotations

import argparse

import pytest

from tvm.exec.progress import Progress

pytestmark = pytest.mark.pure


@pytest.mark.parametrize(
    ("verbose", "json", "told"),
    [(True, False, "lower (1 of 3)\n"), (True, True, ""), (False, False, "")],
)
def test_lines_where_no_terminal_is(
    verbose: bool, json: bool, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with Progress(argparse.Namespace(verbose=verbose, json=json)) as progress:
        progress.update("lower", 1, 3)
    assert capsys.readouterr().err == told


def test_a_bar_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Progress(argparse.Namespace(verbose=False, json=False)) as progress:
        progress.update("lower", 1, 3)
        assert progress._bar is not None
        (task,) = progress._bar._bar.tasks
        assert (task.description, task.completed, task.total) == ("lower", 1, 3)
