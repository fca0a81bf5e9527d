"""`tvm view MODEL`: what became of a program, as a page in the browser.

MODEL may be a model, a script, a library or a saved report. Without `--out` the page is served on
this machine until Ctrl-C.
"""

from __future__ import annotations

import argparse
import json
import sys
import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING

from tvm.exec.command import Outcome
from tvm.exec.files import check_output
from tvm.exec.progress import Progress
from tvm.exec.reports import WHAT, add_alternatives, add_options, report_of
from tvm.runtime.files import draft_of

if TYPE_CHECKING:
    from tvm.report import Report


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=Path, metavar="MODEL", help=WHAT)
    add_options(parser)
    add_alternatives(parser)
    parser.add_argument(
        "--out", type=Path, metavar="PAGE.html", help="write one file that needs no server"
    )
    parser.add_argument(
        "--save", type=Path, metavar="REPORT.json", help="write the report, to be viewed later"
    )
    parser.add_argument(
        "--trace", type=Path, metavar="TRACE.json", help="write trace events, as Perfetto opens"
    )
    parser.add_argument("--no-code", action="store_true", help="leave machine code out")
    parser.add_argument(
        "--records", metavar="WHERE", help="a folder or URL of tuning records, to show their curves"
    )
    parser.add_argument("--port", type=int, default=0, help="of the server (default: any free one)")
    parser.add_argument(
        "--no-browser", action="store_true", help="say where the page is, and open nothing"
    )


def run(args: argparse.Namespace) -> Outcome:
    wanted = {"the page": args.out, "the report": args.save, "the trace": args.trace}
    for what, path in wanted.items():
        if path is not None:
            check_output(path, what)
    with Progress(args) as progress:
        report = report_of(
            args.model, args, progress, code=not args.no_code, alternatives=args.alternatives
        )
    if args.records is not None:
        _add_records(report, args.records)
    written = _written(report, args)
    record: dict[str, object] = {
        "title": report.title,
        "kernels": len(report.kernels),
        "latency_us": report.latency_us,
        "notes": report.notes,
        "written": written,
    }
    if written:
        lines = [f"wrote {path}: {size:,} bytes" for path, size in written.items()]
        return Outcome("\n".join([*lines, *report.notes]), record)
    record["url"] = _serve(report, args)
    return Outcome("", record)


def _written(report: Report, args: argparse.Namespace) -> dict[str, int]:
    from tvm.report import trace_events, write_page

    if args.out is not None:
        write_page(report, args.out)
    if args.save is not None:
        report.save(args.save)
    if args.trace is not None:
        with draft_of(args.trace) as draft:
            draft.write_text(json.dumps(trace_events(report)), encoding="utf-8")
    paths = [path for path in (args.out, args.save, args.trace) if path is not None]
    return {str(path): path.stat().st_size for path in paths}


def _serve(report: Report, args: argparse.Namespace) -> str:
    from tvm.report.server import Server

    server = Server(report, args.port)
    print(f"{report.title} at {server.url} until Ctrl-C", file=sys.stderr, flush=True)
    if not args.no_browser:
        webbrowser.open(server.url)
    server.run()
    return server.url


def _add_records(report: Report, where: str) -> None:
    from tvm.meta_schedule.database import Database
    from tvm.report.tuning import curves_of
    from tvm.report.words import LineTable

    made = Database.create(where) if "://" in where else Database.create("json", work_dir=where)
    report.curves = curves_of(made, LineTable(report.lines))
