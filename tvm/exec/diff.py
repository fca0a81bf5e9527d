"""`tvm diff A B`: two builds: which kernels came, went, or changed, and what that did to the time.

A and B may be models, libraries, or saved reports. Kernels are the same if they compute the same
nodes of the model; where nodes have no names, if they have the same name.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tvm.exec.command import Outcome, table
from tvm.exec.explain import Row, micros, rows_of
from tvm.exec.files import check_input
from tvm.exec.progress import Progress
from tvm.exec.reports import WHAT, add_options, report_of

if TYPE_CHECKING:
    from tvm.report import Report


class Change(NamedTuple):
    """A kernel before and after: None on the side where it is not."""

    before: Row | None
    after: Row | None

    @property
    def kind(self) -> str:
        """What happened to it, in a word."""
        if self.before is None:
            return "new"
        if self.after is None:
            return "gone"
        old, new = self.before, self.after
        if (old.rule, old.reason) != (new.rule, new.reason):
            return "schedule"
        if old.shape and new.shape and old.shape != new.shape:
            return "shape"
        return "renamed" if old.kernel != new.kernel else "same"

    @property
    def more_us(self) -> float:
        """By how much it takes longer."""
        old = self.before.measured_us if self.before is not None else None
        new = self.after.measured_us if self.after is not None else None
        return (new or 0.0) - (old or 0.0)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", type=Path, metavar="A", help=WHAT)
    parser.add_argument("after", type=Path, metavar="B", help="the same, to compare with")
    add_options(parser)


def run(args: argparse.Namespace) -> Outcome:
    for path in (args.before, args.after):
        check_input(path, "the program")  # before the first takes its time
    with Progress(args) as progress:
        before, after = (
            report_of(path, args, progress, code=False) for path in (args.before, args.after)
        )
    changes = changes_of(before, after)
    return Outcome(_text(before, after, changes), _record(before, after, changes))


def changes_of(before: Report, after: Report) -> list[Change]:
    """All kernels of both, those that changed most first."""
    old = {_key(row): row for row in rows_of(before)}
    new = {_key(row): row for row in rows_of(after)}
    made = [Change(old.get(key), new.get(key)) for key in {**old, **new}]
    return sorted(made, key=lambda change: (-abs(change.more_us), change.kind))


def _key(row: Row) -> tuple[str, ...]:
    return row.sources or (row.kernel,)


def _text(before: Report, after: Report, changes: list[Change]) -> str:
    shown = [c for c in changes if c.kind != "same" or abs(c.more_us) >= 0.05]
    rows = [
        [
            (c.after or c.before).kernel,  # type: ignore[union-attr]
            c.kind, micros(c.before.measured_us if c.before else None),
            micros(c.after.measured_us if c.after else None), f"{c.more_us:+,.1f}",
        ]
        for c in shown
    ]  # fmt: skip
    counts: dict[str, int] = {}
    for change in changes:
        counts[change.kind] = counts.get(change.kind, 0) + 1
    lines = [f"{before.title} -> {after.title}: " + ", ".join(
        f"{count} {kind}" for kind, count in sorted(counts.items()))]  # fmt: skip
    if before.latency_us and after.latency_us:
        old, new = before.latency_us, after.latency_us
        lines.append(f"a run: {micros(old)} -> {micros(new)} us, {new / old:.2f} times")
    if rows:
        lines += ["", table(["kernel", "what", "us", "now", "more"], rows, right=(2, 3, 4))]
    for change in shown:
        if change.kind == "schedule" and change.before and change.after:
            lines += ["", change.after.kernel, f"  was  {change.before.reason or 'not told'}",
                      f"  is   {change.after.reason or 'not told'}"]  # fmt: skip
    return "\n".join(lines)


def _record(before: Report, after: Report, changes: list[Change]) -> dict[str, object]:
    return {
        "before": {"title": before.title, "latency_us": before.latency_us},
        "after": {"title": after.title, "latency_us": after.latency_us},
        "changes": [
            {
                "kind": change.kind,
                "more_us": change.more_us,
                "before": change.before._asdict() if change.before else None,
                "after": change.after._asdict() if change.after else None,
            }
            for change in changes
        ],
    }
