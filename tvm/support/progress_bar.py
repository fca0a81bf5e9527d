"""A bar for long work: in a notebook, on a terminal, and nothing elsewhere.

    with tvm.report.ProgressBar():
        executable = tvm.compile(mod, "llvm")      # schedule conv2d  ####----  14/32  0:00:03
"""

from __future__ import annotations

import html
import sys
import time
from contextlib import ExitStack
from typing import Any, Final

from typing_extensions import Self

from .progress import listening

_PAUSE_S: Final = 0.1  # between two pictures


class ProgressBar:
    """What is done, n of m, and the time left; `update` is called with each step.

    It hears of the stages of the compiler and of tuning within its context.
    """

    def __init__(self) -> None:
        self._within = ExitStack()
        self._bar: Any = None  # of rich
        self._task: Any = None
        self._cell: Any = None  # of a notebook
        self._total = 0
        self._done = 0
        self._first = 0  # of what is done, when the stage was first heard of
        self._began = 0.0
        self._shown = 0.0

    def __enter__(self) -> Self:
        if _in_notebook():
            from IPython.display import HTML, display

            self._cell = display(HTML(""), display_id=True)
        elif sys.stderr.isatty():
            self._begin_on_terminal()
        if self.shows:
            self._within.enter_context(listening(self.update))
        return self

    @property
    def shows(self) -> bool:
        """Whether there is somebody to look."""
        return self._bar is not None or self._cell is not None

    def __exit__(self, *exception: object) -> None:
        self._within.close()
        if self._bar is not None:
            self._bar.stop()
        if self._cell is not None:
            self._show("")
        self._bar = self._cell = None

    def update(self, what: str, done: int, of: int) -> None:
        """Say what begins now."""
        now = time.monotonic()
        anew = of != self._total or done < self._done
        self._total, self._done = of, done
        if anew:
            self._began, self._first = now, done
        if self._bar is not None:
            if anew:
                self._bar.reset(self._task)
            self._bar.update(self._task, description=what[:40], completed=done, total=of)
        elif self._cell is not None and now - self._shown >= _PAUSE_S:
            self._shown = now
            self._show(self._as_html(what, done - self._first, now - self._began))

    def _begin_on_terminal(self) -> None:
        from rich.console import Console  # only for people who watch
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._bar = Progress(
            TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(),
            TimeRemainingColumn(), console=Console(stderr=True), transient=True,
        )  # fmt: skip
        self._bar.start()
        self._task = self._bar.add_task("", total=None)

    def _as_html(self, what: str, since: int, seconds: float) -> str:
        done, of = self._done, self._total
        left = f", {seconds * (of - done) / since:.0f} s left" if since else ""
        what = html.escape(what)
        return (
            f'<div style="font-size:13px"><progress value="{done}" max="{max(of, 1)}" '
            f'aria-label="{what}"></progress> {what}: {done:,} of {of:,}{left}</div>'
        )

    def _show(self, text: str) -> None:
        from IPython.display import HTML

        self._cell.update(HTML(text))


def _in_notebook() -> bool:
    """Whether this process is the kernel of a notebook, which has pictures."""
    shell = sys.modules.get("IPython")
    found = shell.get_ipython() if shell is not None else None
    return getattr(found, "kernel", None) is not None
