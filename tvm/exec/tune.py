"""`tvm tune MODEL --budget 60s -o model.so`: search for faster kernels, and write the best program.

MODEL is any program that `tvm.exec.program` reads. What was measured is kept in `--records`, a
folder or the URL of a database in SQL; a search that was ended, by Ctrl-C as well, goes on there.
"""

from __future__ import annotations

import argparse
import re
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from typing_extensions import Self

from tvm.driver import compile as compile_module
from tvm.driver.tune import TaskState, Tuned, tune
from tvm.error import message
from tvm.exec import signature
from tvm.exec.command import Mistake, Outcome, Steps, table
from tvm.exec.files import check_output
from tvm.exec.program import LEGAL as LEGAL_PROGRAM
from tvm.exec.program import read_program
from tvm.exec.progress import Progress
from tvm.exec.shapes import LEGAL
from tvm.meta_schedule.cluster import is_address
from tvm.meta_schedule.database import Database
from tvm.meta_schedule.runner.right_results import largest_difference
from tvm.runtime import cpu, tensor
from tvm.runtime.linker import LIBRARY_FORMS
from tvm.runtime.vm import VirtualMachine
from tvm.target import Target

if TYPE_CHECKING:
    from rich.live import Live

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
_LEGAL_BUDGET = "seconds, minutes or hours as 90s, 5m, 2h; or trials as 200t"
_TURNS = 7  # in which the two programs are compared
_RIGHT = 1e-3  # of the largest value; beyond that, a tuned program counts as wrong


class Budget(NamedTuple):
    """What a search may use up."""

    trials: int | None
    seconds: float | None


def budget(text: str) -> Budget:
    """`60s`, `5m`, `2h` or `200t`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smht]?)", text.strip())
    if match is None or float(match[1]) == 0:
        raise argparse.ArgumentTypeError(f"{text!r} is no budget; legal: {_LEGAL_BUDGET}")
    if match[2] == "t":
        return Budget(max(1, int(float(match[1]))), None)
    return Budget(None, float(match[1]) * _UNITS[match[2]])


def _cluster(text: str) -> str:
    if not is_address(text):
        legal = "ray://HOST, dask://HOST, tcp://HOST:PORT"
        raise argparse.ArgumentTypeError(f"{text!r} is no cluster; legal: {legal}")
    return text


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help=LEGAL_PROGRAM
    )
    parser.add_argument(
        "-o", "--output", type=Path, required=True, metavar="PATH", help="the library to write"
    )
    parser.add_argument(
        "--budget", type=budget, default=budget("60s"), metavar="TIME",
        help=f"how long to search: {_LEGAL_BUDGET} (default: 60s)",
    )  # fmt: skip
    parser.add_argument("--seed", type=int, default=0, help="of the search (default: 0)")
    parser.add_argument("--target", default="llvm", help="what to tune for (default: llvm)")
    parser.add_argument(
        "--records", metavar="WHERE",
        help="a folder or the URL of a database, to keep what was measured and go on from it",
    )  # fmt: skip
    parser.add_argument(
        "--check", action="store_true",
        help="compare the results of each candidate with those of its kernel by rule",
    )  # fmt: skip
    parser.add_argument(
        "--on", type=_cluster, metavar="CLUSTER",
        help="build and measure on a cluster: ray://HOST, dask://HOST or tcp://HOST:PORT",
    )  # fmt: skip
    parser.add_argument(
        "--input-shapes", default="", metavar="SHAPES", help=f"fix input shapes: {LEGAL}"
    )


def run(args: argparse.Namespace) -> Outcome:
    target = Target(args.target)
    check_output(args.output, "the library")
    if args.output.suffix not in LIBRARY_FORMS:
        found, legal = f"suffix {args.output.suffix!r}", ", ".join(LIBRARY_FORMS)
        asked = f"cannot write the library {str(args.output)!r}"
        raise Mistake(message(asked, found=found, legal=legal))
    steps = Steps(args.verbose)
    with steps.step("read"):
        mod = read_program(args.model, args.input_shapes)
    with steps.step("tune"), _Progress(args.budget, quiet=args.json) as progress:
        tuned = tune(
            mod, target, database=_records(args.records), max_trials=args.budget.trials,
            max_seconds=args.budget.seconds, seed=args.seed, watch=progress.update,
            runner=args.on or "local", check=args.check,
        )  # fmt: skip
    with steps.step("compile"), Progress(args):
        plain, best = compile_module(mod, target), tuned.compile()
    with steps.step("compare"):
        compared = _compared(plain, best)
    chosen = plain if compared is not None and not compared.better else best
    with steps.step("write"):
        chosen.export_library(str(args.output))
    return Outcome(_text(args, tuned, compared), _record(args, tuned, compared, steps))


def _records(where: str | None) -> Database:
    if where is None:
        return Database.create("memory")
    if "://" in where:
        return Database.create(where)
    return Database.create("json", work_dir=where)


# --- is it faster, and is it right ---


class Compared(NamedTuple):
    """Seconds of the program by rule and of the tuned one, in turns, and the largest difference of
    their results as a share of the largest value.
    """

    rule_s: float
    tuned_s: float
    difference: float

    @property
    def better(self) -> bool:
        """Whether the tuned program is right, and faster."""
        return self.difference <= _RIGHT and self.tuned_s < self.rule_s


def _compared(plain: Any, best: Any) -> Compared | None:
    """None where there is nothing to run both on: kernels alone, sizes that are open."""
    machines = []
    try:
        for made in (plain, best):
            machines.append(VirtualMachine(made, cpu()))
        params = machines[0].signature("main").params
        arrays = signature.random_arrays(params)
    except (Mistake, TypeError, ValueError, AttributeError):
        return None
    inputs = [tensor(arrays[p.name]) for p in params]
    rule, tuned = (_flat(vm["main"](*inputs)) for vm in machines)
    seconds: list[list[float]] = [[], []]
    for _ in range(_TURNS):
        for vm, taken in zip(machines, seconds):
            taken.append(_seconds(vm, inputs))
    return Compared(
        statistics.median(seconds[0]), statistics.median(seconds[1]), _difference(rule, tuned)
    )


def _seconds(vm: Any, inputs: list[Any]) -> float:
    """Of one call; short ones are called often enough to be told."""
    count, taken = 1, 0.0
    while True:
        start = time.perf_counter()
        for _ in range(count):
            vm["main"](*inputs)
        taken = time.perf_counter() - start
        if taken > 0.01:
            return taken / count
        count *= 4


def _flat(value: Any) -> list[Any]:
    if hasattr(value, "numpy"):
        return [value.numpy().copy()]
    return [array for part in value for array in _flat(part)]


def _difference(expected: list[Any], got: list[Any]) -> float:
    return max((largest_difference(a, b) for a, b in zip(expected, got, strict=True)), default=0.0)


# --- what is told ---


class _Progress:
    """The tasks on a terminal, in place; a line each round where it is none; else nothing."""

    def __init__(self, given: Budget, quiet: bool) -> None:
        self._budget = given
        self._quiet = quiet
        self._begun = time.monotonic()
        self._live: Live | None = None

    def __enter__(self) -> Self:
        if not self._quiet and sys.stderr.isatty():
            from rich.console import Console  # only for people who watch
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), refresh_per_second=4)
            self._live.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self._live is not None:
            self._live.stop()

    def update(self, tasks: list[TaskState]) -> None:
        """Show how it goes."""
        if self._quiet:
            return
        if self._live is None:
            print(self._line(tasks), file=sys.stderr, flush=True)
            return
        from rich.text import Text

        self._live.update(Text(f"{task_table(tasks)}\n{self._line(tasks)}"))

    def _line(self, tasks: list[TaskState]) -> str:
        seconds = time.monotonic() - self._begun
        trials = sum(task.trials for task in tasks)
        limit = self._budget
        if limit.seconds is not None:
            left = f"{max(0.0, limit.seconds - seconds):.0f} s left"
        else:
            left = f"{max(0, (limit.trials or 0) - trials)} trials left"
        errors: dict[str, int] = {}
        for task in tasks:
            for kind, count in task.errors.items():
                errors[kind] = errors.get(kind, 0) + count
        failed = "".join(f", {count} {kind}" for kind, count in sorted(errors.items()))
        known = [task for task in tasks if task.best_s is not None]
        total = sum((task.best_s or 0.0) * task.calls for task in known)
        return (
            f"{trials} trials, {trials / max(seconds, 1e-9):.1f}/s{failed}; "
            f"best so far {total * 1e6:.1f} us over {len(known)} of {len(tasks)} kernels; {left}"
        )


def task_table(tasks: list[TaskState]) -> str:
    """A row a kernel: calls, time by rule, best time, gain, trials, failures."""
    rows = [
        [
            task.name, str(task.calls), _micros(task.rule_s), _micros(task.best_s),
            f"{task.rule_s / task.best_s:.2f}" if task.rule_s and task.best_s else "-",
            str(task.trials), str(sum(task.errors.values())),
        ]
        for task in tasks
    ]  # fmt: skip
    header = ["kernel", "calls", "by rule (us)", "best (us)", "gain", "trials", "failed"]
    return table(header, rows, right=range(1, 7))


def _micros(seconds: float | None) -> str:
    return "-" if seconds is None else f"{seconds * 1e6:.1f}"


def _text(args: argparse.Namespace, tuned: Tuned, compared: Compared | None) -> str:
    lines = [task_table(tuned.tasks)] if tuned.tasks else ["no kernel to tune"]
    if tuned.unmeasured:
        names = ", ".join(tuned.unmeasured[:5]) + (", ..." if len(tuned.unmeasured) > 5 else "")
        lines.append(f"not tuned, as their sizes are open: {names}")
    if compared is None:
        lines.append(f"wrote the tuned program to {args.output}")
    else:
        chosen = "the tuned program" if compared.better else "the program by rule"
        times = f"{compared.rule_s * 1e6:.1f} us by rule, {compared.tuned_s * 1e6:.1f} us tuned"
        lines.append(f"{times}; largest difference {compared.difference:.1e}")
        lines.append(f"wrote {chosen} to {args.output}")
    return "\n".join(lines)


def _record(
    args: argparse.Namespace, tuned: Tuned, compared: Compared | None, steps: Steps
) -> dict[str, object]:
    return {
        "output": str(args.output),
        "written": "by rule" if compared is not None and not compared.better else "tuned",
        "target": str(tuned.target),
        "tasks": [task._asdict() for task in tuned.tasks],
        "unmeasured": tuned.unmeasured,
        "compared": None if compared is None else compared._asdict(),
        "seconds": steps.seconds,
    }
