"""How far long work is: a bar on a terminal, lines with -v elsewhere, nothing with --json."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from typing_extensions import Self

if TYPE_CHECKING:
    from rich.progress import Progress as Bar
    from rich.progress import TaskID


class Progress:
    """What is done, n of m, and the time left; `update` is called with each step."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._lines: bool = args.verbose and not args.json
        self._quiet: bool = args.json
        self._bar: Bar | None = None
        self._task: TaskID | None = None

    def __enter__(self) -> Self:
        if not self._quiet and not self._lines and sys.stderr.isatty():
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
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def update(self, what: str, done: int, of: int) -> None:
        """Say what begins now."""
        if self._bar is not None and self._task is not None:
            self._bar.update(self._task, description=what[:40], completed=done, total=of)
        elif self._lines:
            print(f"{what} ({done} of {of})", file=sys.stderr, flush=True)
