"""Damaged inputs, counted: what each kind of file does when it is changed at random.

    python benchmarks/hostile.py [--count 300] [--seed 1] [--area NAME] [--jobs 1]
                                 [--write docs/trust.md]

`hostile_inputs.py` has the good inputs, their readers and the ways to damage them. Each attempt is
read in a process that may end, each area in a process of its own. Outcomes: *same* (what is read is
a program or values again), *refused* (an error of the kinds that are for users), *raw* (any other
exception), *crash* (the process ended), *hang* (20 seconds of a core, or 300 in all), *wrong*
(other numbers than those of the good input, where it must not give others, or memory of others
touched). An attempt is what its area, the seed and its number make it: `--only NUMBER` does one of
them again and shows its traceback.
"""

from __future__ import annotations

import argparse
import collections
import json
import os
import selectors
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import numpy as np

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from benchmarks.hostile_inputs import AREAS, Area  # noqa: E402
from tvm.error import CheckError, InternalError, TVMError  # noqa: E402

SECONDS: Final = 20  # of this process's own work: a busy machine makes nothing hang
_WAITING: Final = 300
_GRACE: Final = 25  # more, until a process that does not even hear the alarm is ended
_START: Final = 1800
OUTCOMES: Final = ("same", "refused", "raw", "crash", "hang", "wrong")
_MARK: Final = "## Damaged files, counted"
Counts = collections.Counter[str]


class Hang(BaseException):
    """An attempt took too long."""


def attempt(area: Area, number: int, seed: int) -> bytes:
    """The damaged input of a number."""
    random = np.random.default_rng([seed, number])
    good = area.corpus[int(random.integers(0, len(area.corpus)))]
    way = area.damage[int(random.integers(0, len(area.damage)))]
    return way(good, random)


def outcome_of(area: Area, tried: bytes) -> tuple[str, str]:
    """What reading it gives, and a note on what it should not give."""
    try:
        area.read(tried)
        return "same", ""
    except Hang:
        return "hang", ""
    except AssertionError as err:
        if traceback.extract_tb(err.__traceback__)[-1].filename.endswith("hostile_inputs.py"):
            return "wrong", str(err)
        return "raw", _where(err)
    except TVMError as err:
        if isinstance(err, InternalError) and not isinstance(err, CheckError):
            return "raw", _where(err)
        return "refused", ""
    except Exception as err:
        frame = traceback.extract_tb(err.__traceback__)[-1]
        # one that our own code raises in its words; not one that Python raises inside of it
        own = isinstance(err, ValueError | SyntaxError | MemoryError | LookupError)
        own = own or isinstance(err, AttributeError)
        if own and (frame.line or "").startswith("raise "):
            return "refused", ""
        return "raw", _where(err)


def _where(err: BaseException) -> str:
    frames = traceback.extract_tb(err.__traceback__)
    ours = [frame for frame in frames if f"{os.sep}tvm{os.sep}" in frame.filename]
    places = [f"{Path(f.filename).name}:{f.lineno}" for f in (*ours[-1:], frames[-1])]
    return f"{type(err).__name__}: {str(err)[:160]} ({' '.join(dict.fromkeys(places))})"


def _child(name: str, first: int, count: int, seed: int) -> None:
    warnings.simplefilter("ignore")
    area = AREAS[name]()
    for good in area.corpus[:2]:
        area.read(good)

    def late(*_: Any) -> None:
        raise Hang

    signal.signal(signal.SIGALRM, late)
    signal.signal(signal.SIGPROF, late)
    print(json.dumps(["ready", ""]), flush=True)
    for number in range(first, first + count):
        tried = attempt(area, number, seed)
        signal.alarm(_WAITING)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            found = outcome_of(area, tried)
        except Hang:  # between two lines
            found = ("hang", "")
        finally:
            signal.alarm(0)
            signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(found), flush=True)


def count_area(name: str, count: int, seed: int) -> tuple[Counts, dict[str, list[int]]]:
    """The outcomes of an area, and by note the numbers of the attempts that had it."""
    found: Counts = collections.Counter()
    notes: dict[str, list[int]] = {}
    number = 0
    while number < count:
        command = [sys.executable, __file__, "--child", name, "--first", str(number),
                   "--count", str(count - number), "--seed", str(seed)]  # fmt: skip
        begun = number
        with (
            tempfile.TemporaryFile() as errors,  # no pipe: nobody reads it meanwhile
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors) as process,
        ):
            ready = False
            for outcome, note in _lines(process):
                if outcome == "ready":
                    ready = True
                    continue
                found[outcome] += 1
                if outcome not in ("same", "refused"):
                    notes.setdefault(f"{outcome} {note}".strip(), []).append(number)
                number += 1
            process.wait()
            errors.seek(0)
            said = errors.read().decode(errors="replace")
        if not ready:
            raise RuntimeError(said[-2000:])
        if number < count:  # it ended before the last
            how = "hang" if process.returncode == -signal.SIGKILL else "crash"
            found[how] += 1
            why = said.strip().splitlines()[-1:] if how == "crash" else ["it was killed"]
            notes.setdefault(f"{how} {process.returncode} {why}", []).append(number)
            number += 1
        assert number > begun
    return found, notes


def _lines(process: subprocess.Popen[bytes]) -> Any:
    """What a child says, line by line; it is killed when it says nothing for too long."""
    assert process.stdout is not None
    patience, kept = _START, b""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(patience):
                process.kill()
                return
            piece = os.read(process.stdout.fileno(), 1 << 16)
            if not piece:
                return
            *lines, kept = (kept + piece).split(b"\n")
            patience = _WAITING + _GRACE
            for line in lines:
                if line.startswith(b'["'):
                    yield json.loads(line)


def table(results: dict[str, Counts]) -> str:
    """The counts as a table of Markdown."""
    rows = [f"| input | tried | {' | '.join(OUTCOMES)} |", "|---|" + "---:|" * (1 + len(OUTCOMES))]
    for area, found in results.items():
        counts = " | ".join(f"{found[outcome]:,}" for outcome in OUTCOMES)
        rows.append(f"| {area} | {sum(found.values()):,} | {counts} |")
    return "\n".join(rows) + "\n"


def _again(name: str, number: int, seed: int) -> None:
    area = AREAS[name]()
    tried = attempt(area, number, seed)
    print(repr(tried[:4000]))
    area.read(tried)
    print("same")


def _report(name: str, found: Counts, notes: dict[str, list[int]], seconds: float) -> None:
    print(f"{name}: {dict(found)} in {seconds:.0f} s", flush=True)
    for note, numbers in sorted(notes.items(), key=lambda item: -len(item[1])):
        print(f"    {len(numbers)} x {note}  --only {numbers[0]}", flush=True)


def main() -> None:
    """Count, print, and write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--area", choices=list(AREAS), action="append")
    parser.add_argument("--jobs", type=int, default=1, help="areas at a time")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--only", type=int, help="one attempt of one area again")
    parser.add_argument("--child", choices=list(AREAS), help=argparse.SUPPRESS)
    parser.add_argument("--first", type=int, default=0, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        _child(args.child, args.first, args.count, args.seed)
        return
    if args.only is not None:
        _again(args.area[0], args.only, args.seed)
        return
    results: dict[str, Counts] = {}

    def counted(name: str) -> None:
        begun = time.monotonic()
        try:
            results[name], notes = count_area(name, args.count, args.seed)
        except RuntimeError as err:
            print(f"{name}: cannot be tried here: {str(err).strip()[-200:]}", flush=True)
            return
        _report(name, results[name], notes, time.monotonic() - begun)

    names = args.area or list(AREAS)
    with ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(counted, names))
    results = {name: results[name] for name in names if name in results}
    print(table(results))
    if args.write:
        text = args.write.read_text()
        said = f"{_MARK}\n\n`python benchmarks/hostile.py --count {args.count} --seed {args.seed}`"
        head = text.partition(_MARK)[0]
        args.write.write_text(f"{head}{said}:\n\n{table(results)}")


if __name__ == "__main__":
    main()
