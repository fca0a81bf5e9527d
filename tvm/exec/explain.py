"""`tvm explain MODEL`: a row a kernel: what it computes, how it was made and why, what it costs."""

from __future__ import annotations

import argparse
import dataclasses
import re
import shutil
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tvm.exec.command import Outcome, table
from tvm.exec.progress import Progress
from tvm.exec.reports import WHAT, add_alternatives, add_options, report_of

if TYPE_CHECKING:
    from tvm.report import Report
    from tvm.report.words import Gpu, Kernel, Launch

_TILE = re.compile(r"\b(\d+x\d+(?:x\d+)*) tile")


class Row(NamedTuple):
    """What is told of a kernel; times are microseconds of all its calls."""

    kernel: str
    calls: int
    sources: tuple[str, ...]
    shape: str
    rule: str
    tile: str
    reason: str
    measured_us: float | None
    predicted_us: float | None
    alternative_us: float | None
    alternative: str
    spills: int | None
    launches: tuple[Launch, ...]
    work: dict[str, float]

    @property
    def of_roof(self) -> float | None:
        """How much of the roof it reaches, as a share of one."""
        known = self.measured_us and self.predicted_us
        return self.predicted_us / self.measured_us if known else None  # type: ignore[operator]

    @property
    def kind(self) -> str:
        """The arithmetic that it has most of."""
        return max(self.work, key=lambda kind: self.work[kind], default="")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL", help=WHAT)
    add_options(parser)
    add_alternatives(parser)
    parser.add_argument(
        "--code", action="store_true", help="look at machine code too: spills of registers"
    )
    parser.add_argument(
        "--kernel", default="", metavar="PART", help="only kernels whose name or nodes have this"
    )


def run(args: argparse.Namespace) -> Outcome:
    with Progress(args) as progress:
        report = report_of(
            args.model, args, progress, code=args.code, alternatives=args.alternatives
        )
    rows = [row for row in rows_of(report) if _is_wanted(row, args.kernel)]
    record: dict[str, object] = {
        "title": report.title,
        "target": report.target,
        "latency_us": report.latency_us,
        "gpu": None if report.gpu is None else dataclasses.asdict(report.gpu),
        "kernels": [
            {**row._asdict(), "launches": [dataclasses.asdict(one) for one in row.launches],
             "of_roof": row.of_roof, "kind": row.kind}
            for row in rows
        ],
        "notes": report.notes,
    }
    return Outcome(_text(report, rows), record)


def rows_of(report: Report) -> list[Row]:
    """The kernels, the dearest first; those without times as they are called."""
    rows = [_row(report, kernel) for kernel in report.kernels.values()]
    return sorted(rows, key=lambda row: -(row.measured_us or 0.0))


def _row(report: Report, kernel: Kernel) -> Row:
    calls = [call for call in report.calls if call.kernel == kernel.name]
    numbers = dict.fromkeys(number for call in calls for number in call.sources)
    tile = _TILE.search(kernel.reason)
    return Row(
        kernel.name,
        sum(call.times for call in calls),
        tuple(dict.fromkeys(report.sources[number].name for number in numbers)),
        calls[0].shape if calls else "",
        kernel.rule,
        tile[1] if tile else "",
        kernel.reason,
        _sum([call.measured_us for call in calls]),
        _sum([call.predicted_us for call in calls]),
        _sum([call.alternative_us for call in calls]),
        kernel.alternative,
        kernel.code.spills if kernel.code is not None else None,
        tuple(kernel.launches),
        kernel.work,
    )


def _sum(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _is_wanted(row: Row, part: str) -> bool:
    return not part or any(part.lower() in name.lower() for name in (row.kernel, *row.sources))


def _text(report: Report, rows: list[Row]) -> str:
    width = shutil.get_terminal_size((120, 24)).columns if sys.stdout.isatty() else 120
    total = sum(row.measured_us or 0.0 for row in rows) or 1.0
    others = any(row.alternative_us is not None for row in rows)
    header = ["kernel", "calls", "rule", "tile", "type", "us", "share", "roof us", "of roof"]
    header += ["next us"] if others else []
    cells = [
        [
            _cut(row.kernel, max(24, width - 84)), str(row.calls), row.rule or "-", row.tile or "-",
            row.kind or "-",
            micros(row.measured_us),
            f"{100 * row.measured_us / total:.0f}%" if row.measured_us else "-",
            micros(row.predicted_us), f"{100 * row.of_roof:.0f}%" if row.of_roof else "-",
            *([micros(row.alternative_us)] if others else []),
        ]
        for row in rows
    ]  # fmt: skip
    lines = [f"{report.title} for {report.target}"]
    if report.latency_us is not None:
        lines[0] += f": {micros(report.latency_us)} us a run"
    if report.gpu is not None:
        lines.append(_gpu(report.gpu))
    lines += ["", table(header, cells, right=(1, 5, 6, 7, 8, 9)), ""]
    for row in rows:
        lines += _reasons(row, width)
    lines += [f"note: {note}" for note in report.notes]
    return "\n".join(lines).rstrip()


def _reasons(row: Row, width: int) -> list[str]:
    """The sentences that belong to a row."""
    said = {
        "from": ", ".join(row.sources),
        "gives": row.shape,
        "why": row.reason,
        "next": row.alternative,
        "code": f"{row.spills} spills of registers" if row.spills else "",
        "runs": "; then ".join(map(_launch, row.launches)),
    }
    lines = [row.kernel]
    for label, text in said.items():
        if text:
            lines += textwrap.wrap(
                text, max(40, width), initial_indent=f"  {label:<6}", subsequent_indent=" " * 8
            )
    return lines


def _launch(one: Launch) -> str:
    """A launch in words."""
    blocks, threads = (
        "some" if count is None else f"{count:,}" for count in (one.blocks, one.threads)
    )
    parts = [f"{blocks} blocks of {threads} threads"]
    if one.shared:
        parts.append(f"{one.shared:,} bytes shared")
    if one.registers is not None:
        parts.append(f"{one.registers} registers")
    elif one.words:
        parts.append(f"{one.words} words of its own")
    if one.stack:
        parts.append(f"{one.stack} bytes of stack")
    if one.occupancy is None:
        return ", ".join(parts)
    room = f"{one.resident} at a time fill {100 * one.occupancy:.0f}% of a multiprocessor"
    return f"{', '.join(parts)}: {room} (limit: {one.limit})"


def _gpu(gpu: Gpu) -> str:
    """The machine in words."""
    known = f"{gpu.warp_size} threads a warp, {gpu.registers:,} registers and {gpu.shared:,} bytes"
    told = f"{gpu.name}: {known} of shared memory a multiprocessor"
    if not gpu.multiprocessors:
        return told
    roof = f"{gpu.gflops / 1e3:,.1f} TFLOP/s of float32, {gpu.gbytes:,.0f} GB/s"
    return f"{told}; {gpu.chip}: {gpu.multiprocessors} of them, {roof}"


def _cut(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    head = most // 2 - 1
    return f"{text[:head]}...{text[head + 3 - most :]}"


def micros(value: float | None) -> str:
    """Microseconds with three figures or so."""
    if value is None:
        return "-"
    if value < 1:
        return f"{value:.2g}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"
