"""What importers do with things others wrote: imported, right, refused, and why.

    python -m benchmarks.imports FOLDER GROUP [part of a name ...] [--anew] [--write PAGE]
    python -m benchmarks.imports FOLDER --write PAGE

A case makes something of a source (a network, a file), imports it, compiles it once for all sizes,
and compares numbers with the source at two or three sizes. Each runs in a fork of one process that
has loaded the packages, with a limit of time; results are kept in the folder, a line for each, and
what has one is not run again without `--anew`. Groups are listed in `GROUPS`.

States: `right` (the largest difference is at most 1e-4 of the largest element), `wrong`, `refused`
(an error of ours that says what was asked), `raw` (any other error), `source` (the source itself
does not make or run it), `slow` (not done in time).
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

LIMIT_S = float(os.environ.get("NETWORKS_LIMIT_S", "150"))
WORKERS = int(os.environ.get("NETWORKS_WORKERS", "1"))
RIGHT = 1e-4
STATES = ("right", "wrong", "refused", "raw", "slow", "source")

# sizes and their errors; what is yielded before a failure is kept
Case: TypeAlias = Callable[[], Iterator[tuple[str, float]]]

# each group is a module with `cases() -> dict[str, Case]`
GROUPS = {
    "export": "benchmarks.imports_torch",
    "architectures": "benchmarks.imports_torch",
    "compile": "benchmarks.imports_torch",
    "operators": "benchmarks.operators_torch",
    "sklearn": "benchmarks.imports_onnx",
    "trees": "benchmarks.imports_onnx",
    "dynamo": "benchmarks.imports_onnx_networks",
    "optimised": "benchmarks.imports_onnx_networks",
    "quantised": "benchmarks.imports_onnx_networks",
}


class Source(Exception):
    """The source framework itself does not make or run it."""


def difference(wanted: Sequence[Any], got: Sequence[Any]) -> float:
    """The largest difference by the largest element of each result; infinite for other shapes."""
    if len(wanted) != len(got):
        return float("inf")
    worst = 0.0
    for want, have in zip(map(np.asarray, wanted), map(np.asarray, got)):
        if want.shape != have.shape:
            return float("inf")
        kinds = {want.dtype.kind, have.dtype.kind}
        if kinds & set("OUS"):
            if (want.astype(str) != have.astype(str)).any():
                return float("inf")
            continue
        if want.dtype != have.dtype:
            return float("inf")
        wide = "complex128" if "c" in kinds else "float64"
        a, b = want.astype(wide), have.astype(wide)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        if same.all():
            continue
        largest = float(np.abs(a[np.isfinite(a)]).max(initial=1e-9))
        apart = np.abs(np.where(same, 0, b - np.where(same, 0, a))).max()
        worst = max(worst, float("inf") if np.isnan(apart) else float(apart) / largest)
    return worst


# --- one case ---


def _outcome(case: Case) -> dict[str, Any]:
    import tvm

    sizes: list[tuple[str, float]] = []
    found: dict[str, Any] = {"sizes": sizes}
    try:
        for size, error in case():
            sizes.append((size, float(f"{error:.2g}")))
        worst = max((error for _, error in sizes), default=float("inf"))
        found["state"] = "right" if worst <= RIGHT else "wrong"
    except Source as err:
        found |= {"state": "source", "why": str(err)[:300]}
    except tvm.error.TVMError as err:
        found |= {"state": "refused", "why": f"{type(err).__name__}: {err}"[-1500:]}
    except BaseException as err:
        last = "".join(traceback.format_exception(err)[-6:])
        found |= {"state": "raw", "why": last[-2500:]}
    return found


def _forked(case: Case) -> tuple[int, int]:
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    os.close(reader)
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    text = json.dumps(_outcome(case))
    os.write(writer, text.encode()[:60_000])
    os._exit(0)


def run(cases: Mapping[str, Case], keep: Callable[[dict[str, Any]], None]) -> None:
    """Run each in a fork, `WORKERS` at a time."""
    waiting = list(cases.items())
    running: dict[int, tuple[str, int, float]] = {}
    while waiting or running:
        while waiting and len(running) < WORKERS:
            name, case = waiting.pop(0)
            child, reader = _forked(case)
            running[reader] = (name, child, time.monotonic())
        ready, _, _ = select.select(list(running), [], [], 1.0)
        for reader, (name, child, begin) in list(running.items()):
            spent = time.monotonic() - begin
            if reader in ready:
                text = b""
                while part := os.read(reader, 65536):
                    text += part
                one = json.loads(text) if text else {"state": "raw", "why": "the process died"}
            elif spent > LIMIT_S:
                os.kill(child, signal.SIGKILL)
                one = {"state": "slow", "why": f"not done after {LIMIT_S:.0f} s"}
            else:
                continue
            os.close(reader)
            os.waitpid(child, 0)
            del running[reader]
            keep({"name": name, "seconds": round(spent, 1), **one})


# --- all of them ---


def page(results: Mapping[str, Any]) -> str:
    """A table of groups, and what is not right."""
    groups: dict[str, Counter[str]] = {}
    for name, one in results.items():
        groups.setdefault(name.split(" ")[0], Counter())[one["state"]] += 1
    lines = [
        "# Importers and things of others",
        "",
        "Written by `python -m benchmarks.imports FOLDER --write docs/imports.md`.",
        "",
        "| group | cases | " + " | ".join(STATES) + " | largest error |",
        "|---" * (len(STATES) + 3) + "|",
    ]
    for group, states in groups.items():
        errors = [e for n, one in results.items() if n.split(" ")[0] == group
                  and one["state"] == "right" for _, e in one["sizes"]]  # fmt: skip
        counts = " | ".join(str(states[state]) for state in STATES)
        lines.append(f"| {group} | {states.total()} | {counts} | {max(errors, default=0):.1e} |")
    lines += ["", "| case | state | errors | why |", "|---|---|---|---|"]
    for name, one in results.items():
        if one["state"] != "right":
            errors = ", ".join(str(error) for _, error in one.get("sizes", ()))
            why = (one.get("why", "").strip().splitlines() or [""])[-1][:200].replace("|", "\\|")
            lines.append(f"| {name} | {one['state']} | {errors} | {why} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    """Run the cases of a group whose names hold one of the parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("group", nargs="?", choices=list(GROUPS))
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--anew", action="store_true")
    parser.add_argument("--write", metavar="PAGE")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    if given.group:
        kept = given.folder / f"imports-{given.group}.jsonl"
        have = _kept(kept)
        module: Any = import_module(GROUPS[given.group])
        cases = {
            f"{given.group} {name}": case
            for name, case in module.cases(given.group).items()
            if any(part in name for part in given.parts or [""])
        }
        if not given.anew:
            cases = {name: case for name, case in cases.items() if name not in have}

        def keep(one: dict[str, Any]) -> None:
            with kept.open("a") as lines:
                lines.write(json.dumps(one) + "\n")
            why = (one.get("why", "").strip().splitlines() or [""])[-1][:160]
            print(one["name"], one["state"], one["seconds"], one.get("sizes", ""), why, flush=True)

        run(cases, keep)
    if given.write is not None:
        results = {}
        for group in GROUPS:
            results |= _kept(given.folder / f"imports-{group}.jsonl")
        Path(given.write).write_text(page(results))


def _kept(path: Path) -> dict[str, Any]:
    """The last result of each case."""
    lines = path.read_text().splitlines() if path.exists() else []
    return {one["name"]: one for one in map(json.loads, lines)}


if __name__ == "__main__":
    # the module that cases import: its `Source` is theirs
    import_module("benchmarks.imports").main()
