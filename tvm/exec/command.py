"""What a command is: it declares its arguments, runs, and hands back what to print."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

from tvm.error import TVMError


class Mistake(TVMError):
    """A command that cannot be carried out as asked."""


class Outcome(NamedTuple):
    """The end of a command: `text` for people, `record` for `--json`."""

    text: str
    record: dict[str, object]


class Command(Protocol):
    """The two functions that a command module has."""

    @staticmethod
    def configure(parser: argparse.ArgumentParser) -> None: ...

    @staticmethod
    def run(args: argparse.Namespace) -> Outcome: ...


class Steps:
    """Wall time of the named steps of a command, in order; told on stderr if `aloud`."""

    def __init__(self, aloud: bool) -> None:
        self.seconds: dict[str, float] = {}
        self._aloud = aloud

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[name] = time.perf_counter() - start
        if self._aloud:
            print(f"{name}: {self.seconds[name]:.3f} s", file=sys.stderr)


def table(header: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] = ()) -> str:
    """Rows under a header, columns aligned; those whose number is in `right`, to the right."""
    cells = [list(header), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = []
    for row in cells:
        aligned = [
            text.rjust(width) if column in right else text.ljust(width)
            for column, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(aligned).rstrip())
    return "\n".join([lines[0], "  ".join("-" * width for width in widths), *lines[1:]])
