"""How far long work is: a bar on a terminal, lines with -v elsewhere, nothing with --json."""

from __future__ import annotations

import argparse
import sys

from typing_extensions import Self

from tvm.support.progress_bar import ProgressBar


class Progress:
    """What is done, n of m, and the time left; `update` is called with each step."""

    def __init__(self, args: argparse.Namespace) -> None:
        self._lines: bool = args.verbose and not args.json
        self._bar = None if args.verbose or args.json else ProgressBar()

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.__enter__()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._bar is not None:
            self._bar.__exit__(*exception)

    def update(self, what: str, done: int, of: int) -> None:
        """Say what begins now."""
        if self._bar is not None:
            self._bar.update(what, done, of)
        elif self._lines:
            print(f"{what} ({done} of {of})", file=sys.stderr, flush=True)
