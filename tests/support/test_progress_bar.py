"""A bar where somebody looks: on a terminal, in a notebook."""

from __future__ import annotations

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tvm.support import progress_bar
from tvm.support.progress import advance
from tvm.support.progress_bar import ProgressBar

pytestmark = pytest.mark.pure


def test_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressBar() as bar:
        advance("lower", 1, 3)
        assert not bar.shows
    assert capsys.readouterr() == ("", "")


def test_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with ProgressBar() as bar:
        advance("schedule conv", 1, 3)
        (task,) = bar._bar.tasks
        assert (task.description, task.completed, task.total) == ("schedule conv", 1, 3)
        advance("schedule dense", 2, 3)
        began = task.start_time
        assert (task.completed, task.description) == (2, "schedule dense")
        advance("machine code", 0, 8)
        assert (task.completed, task.total) == (0, 8)
        assert task.start_time >= began, "time left is counted from the begin of a stage"


@pytest.fixture
def cell(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a notebook's cell shows, one after the other."""
    shown: list[str] = []
    handle = SimpleNamespace(update=shown.append)

    def display(first: str, display_id: bool) -> Any:
        shown.append(first)
        return handle

    shell: Any = ModuleType("IPython")
    pictures: Any = ModuleType("IPython.display")
    shell.get_ipython = lambda: SimpleNamespace(kernel=object())
    pictures.HTML, pictures.display = str, display
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "IPython.display", pictures)
    return shown


def test_in_a_notebook(cell: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    now = [10.0]
    monkeypatch.setattr(progress_bar.time, "monotonic", lambda: now[0])
    with ProgressBar():
        advance("schedule <conv>", 0, 4)
        now[0] += 2
        advance("schedule dense", 1, 4)
        advance("not drawn: too soon", 2, 4)
    first, begun, further, end = cell
    assert (first, end) == ("", ""), "nothing stays"
    assert "schedule &lt;conv&gt;: 0 of 4</div>" in begun
    assert '<progress value="1" max="4" aria-label="schedule dense">' in further
    assert "schedule dense: 1 of 4, 6 s left" in further


def test_a_shell_without_pictures_is_no_notebook(
    cell: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", SimpleNamespace)
    with ProgressBar() as bar:
        assert not bar.shows
    assert cell == []
