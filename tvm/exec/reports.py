"""A report of what a command is given: a model or script, a compiled library, a saved report."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from tvm.exec.command import Mistake
from tvm.exec.files import check_input
from tvm.exec.program import LEGAL, LIBRARIES, read_program
from tvm.exec.shapes import LEGAL as LEGAL_SHAPES
from tvm.support.json_text import from_json

if TYPE_CHECKING:
    from tvm.exec.progress import Progress
    from tvm.report import Report

WHAT = f"{LEGAL}, a library that tvm compile wrote, or a report that tvm view --save wrote"


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options that say how a program is compiled."""
    parser.add_argument("--target", default="llvm", help="what to compile for (default: llvm)")
    parser.add_argument(
        "--input-shapes", default="", metavar="SHAPES", help=f"fix input shapes: {LEGAL_SHAPES}"
    )
    parser.add_argument(
        "--no-times", action="store_true", help="measure nothing: neither program nor machine"
    )


def add_alternatives(parser: argparse.ArgumentParser) -> None:
    """The option that asks for the next rules too."""
    parser.add_argument(
        "--alternatives", action="store_true",
        help="compile once more with the next rule for each kernel, and tell what it would cost",
    )  # fmt: skip


def report_of(
    path: Path,
    args: argparse.Namespace,
    progress: Progress,
    *,
    code: bool = True,
    alternatives: bool = False,
) -> Report:
    """The report; a program is compiled for it, and run on random inputs."""
    from tvm.report import Report, collect

    times = not args.no_times
    if path.suffix in LIBRARIES:
        from tvm.exec.library import load_library
        from tvm.report.of_library import report_of_library

        return report_of_library(load_library(path), path.name, times=times)
    check_input(path, "the program")
    if path.suffix == ".json" and _is_report(path):
        return Report.load(path)
    progress.update("read", 0, 1)
    mod = read_program(path, args.input_shapes)
    return collect(
        mod, args.target, title=path.name, code=code, times=times, alternatives=alternatives,
        progress=progress.update,
    )  # fmt: skip


def _is_report(path: Path) -> bool:
    try:
        found = from_json(path.read_text(encoding="utf-8"))
    except (ValueError, OSError) as error:
        raise Mistake(f"cannot read {str(path)!r}: {error}") from error
    return isinstance(found, dict) and "schema" in found and "kernels" in found
