"""Networks of others beside ONNX Runtime and OpenVINO, every size open, in turns in one run.

    python -m benchmarks.networks FOLDER [part of a name ...] [--agree] [--write PAGE]

The networks are those of `benchmarks.zoo`, written into the folder where they are missing. Each is
imported and compiled once for all sizes and runs at three; each run has a process of its own, so
that memory is its own. Times are the fastest of alternating runs, on as many threads as
TVM_NUM_THREADS says; OpenVINO is asked for float32, as the networks are. With `--agree` nothing is
timed but compiling, and results are only compared, which a busy machine does not disturb. With
`--write` the page is made of all results so far, which are kept beside the networks.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

THREADS = int(os.environ.get("TVM_NUM_THREADS", "1"))
LIMIT_S = int(os.environ.get("NETWORKS_LIMIT_S", "300"))
TURNS = 10
# short ones take more turns, until so many seconds have passed
MAX_TURNS, MIN_S = 300, 1.0
# at least so long a turn where there are several threads
TURN_S = 0.03


def measured(name: str, path: Path, *, timed: bool = True) -> dict[str, Any]:
    """Import, compile time, memory, and at each size the error and (`timed`) the times in ms."""
    import onnx

    import benchmarks.zoo  # noqa: F401  enters the networks
    import tvm
    from benchmarks.catalogue import NETWORKS
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    network = NETWORKS[name]
    result: dict[str, Any] = {"name": name, "threads": THREADS}
    before, device = _memory(), tvm.cpu()
    start = _cpu()
    mod = from_onnx(onnx.load(str(path)))
    imported = _cpu()
    machine = relax.VirtualMachine(tvm.compile(mod, "llvm"), device)
    compiled = _cpu()
    result |= {"import_s": round(imported - start, 2), "compile_s": round(compiled - imported, 1)}
    ours = machine["main"]
    theirs, names = _onnxruntime(path)
    other = _openvino(path) if timed and "NETWORKS_WITHOUT" not in os.environ else None
    result["memory_mb"] = round(_memory() - before)
    result["sizes"] = []
    for which in range(network.sizes):
        feeds = network.inputs(which)
        values = [feeds[key] for key in names]
        wanted = theirs(values)
        got = ours(*values)
        got = [got] if hasattr(got, "numpy") else list(got)
        error = _error(wanted, [value.numpy() for value in got])
        runs: list[Callable[[], Any]] = [lambda v=values: ours(*v), lambda v=values: theirs(v)]
        if other is not None:
            runs.append(lambda v=values: other(v))
        times = _alternating(runs) if timed else []
        shapes = " ".join("x".join(map(str, value.shape)) for value in values)
        result["sizes"].append({"shapes": shapes, "error": error, "ms": times})
    return result


def _onnxruntime(path: Path) -> tuple[Callable[[list[Any]], Any], list[str]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = THREADS, 3
    session = onnxruntime.InferenceSession(str(path), options)
    names = [value.name for value in session.get_inputs()]
    return lambda values: session.run(None, dict(zip(names, values))), names


def _openvino(path: Path) -> Callable[[list[Any]], Any] | None:
    """None where OpenVINO does not take the network."""
    try:
        import openvino

        core = openvino.Core()
        # left alone, it computes in bfloat16 where the machine can: errors near 1e-2
        precision = {"INFERENCE_NUM_THREADS": THREADS, "INFERENCE_PRECISION_HINT": "f32"}
        core.set_property("CPU", precision)
        model = core.compile_model(str(path), "CPU")
    except Exception:  # whatever it refuses is no yardstick
        return None
    request = model.create_infer_request()
    return lambda values: request.infer(list(values))


def _alternating(runs: list[Callable[[], Any]]) -> list[float | None]:
    """The fastest of several turns of each, in ms; None for one that fails.

    On one thread it is processor time, which other work on the machine disturbs less. Else a turn
    is several runs: threads of a runtime go on spinning for a while after its last one, and take
    cores from the first of the next.
    """
    clock = time.process_time if THREADS == 1 else time.perf_counter
    best: list[float | None] = [None] * len(runs)
    begin, turn = time.perf_counter(), -1
    while turn < TURNS or (turn < MAX_TURNS and time.perf_counter() - begin < MIN_S):
        turn += 1
        for i, run in enumerate(runs):
            until = time.perf_counter() + (TURN_S if THREADS > 1 else 0)
            while True:
                start = clock()
                try:
                    run()
                except Exception:  # a runtime that cannot do this size
                    break
                taken = (clock() - start) * 1e3
                if turn and (best[i] is None or taken < best[i]):  # type: ignore[operator]
                    best[i] = taken
                if time.perf_counter() >= until:
                    break
    return [None if value is None else round(value, 3) for value in best]


def _error(wanted: list[Any], got: list[Any]) -> float | str:
    worst = 0.0
    for want, have in zip(wanted, got):
        want = np.asarray(want)
        if want.shape != have.shape:
            return f"{have.shape} for {want.shape}"
        if want.size:
            a, b = want.astype(np.float64), have.astype(np.float64)
            same = (a == b) | (np.isnan(a) & np.isnan(b))
            gap = np.where(same, 0, np.abs(a - b))
            finite = np.abs(a[np.isfinite(a)])
            worst = max(worst, float(gap.max() / (finite.max(initial=0) + 1e-6)))
    return float(f"{worst:.1e}")


def _cpu() -> float:
    """Seconds of processor time of this process and of its workers."""
    own, others = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    spent = own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime
    for listed in Path("/proc/self/task").glob("*/children"):  # those that go on working
        for child in listed.read_text().split():
            fields = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()
            spent += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return spent


def _memory() -> float:
    """The most memory this process held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


# --- all of them ---


AGREED = "agreed.jsonl"


def results_file(folder: Path) -> Path:
    """Where results are kept, one a line."""
    return folder / f"results_{THREADS}.jsonl"


def run_all(folder: Path, parts: list[str], *, timed: bool) -> None:
    """Measure (or only compare) networks that have no result yet."""
    from benchmarks.catalogue import NETWORKS, file_of
    from benchmarks.zoo import main as write

    kept = results_file(folder) if timed else folder / AGREED
    have = {one["name"] for one in _lines(kept)}
    for name in NETWORKS:
        if name in have or not any(part in name for part in parts or [""]):
            continue
        if not file_of(folder, name).exists():
            write(str(folder), name)
        if not file_of(folder, name).exists():
            continue
        one = _in_own_process(name, file_of(folder, name), timed=timed)
        if one.pop("crashed", False):  # OpenVINO ends the process where it cannot read some files
            one = _in_own_process(name, file_of(folder, name), timed=timed, openvino=False)
        with kept.open("a") as lines:
            lines.write(json.dumps(one) + "\n")
        print(json.dumps(one), flush=True)


def _in_own_process(
    name: str, path: Path, *, timed: bool, openvino: bool = True
) -> dict[str, Any]:
    how = "--one" if timed else "--one-agrees"
    command = [sys.executable, "-m", "benchmarks.networks", how, name, str(path)]
    threads = {"OMP_NUM_THREADS": str(THREADS), "TVM_NUM_THREADS": str(THREADS)}
    if not openvino:
        threads["NETWORKS_WITHOUT"] = "openvino"
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=LIMIT_S, env=os.environ | threads
        )
    except subprocess.TimeoutExpired:
        return {"name": name, "threads": THREADS, "failed": f"not done after {LIMIT_S} s"}
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if lines:
        result: dict[str, Any] = json.loads(lines[-1])
        return result
    reason = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
    found: dict[str, Any] = {"name": name, "threads": THREADS, "failed": reason[:200]}
    if openvino and done.returncode < 0:
        found["crashed"] = True
    return found


def _results(folder: Path, threads: int) -> list[dict[str, Any]]:
    return _lines(folder / f"results_{threads}.jsonl")


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def page(folder: Path, note: str) -> str:
    """The results as a document."""
    text = [
        "# Networks of others, measured", "",
        "Written by `python -m benchmarks.networks FOLDER --write docs/networks-measured.md`.", "",
        "Every size is open; one compiled program runs at all sizes. Times are ms, the fastest "
        f"of {TURNS} or more alternating runs; the ratio is ours to the better of the other two "
        "(below 1: ours is faster). The error is the largest difference to ONNX Runtime by its "
        "largest element. Import and compile are seconds of processor time. Memory is what "
        f"import, compiling and all three runtimes took. {note}", "",
    ]  # fmt: skip
    for threads in (1, 2):
        results = _results(folder, threads)
        if results:
            text += _table(results, threads)
    agreed = _lines(folder / AGREED)
    if agreed:
        text += agreement(agreed)
    return "\n".join(text) + "\n"


def agreement(results: list[dict[str, Any]]) -> list[str]:
    """The table of networks that were compared and not timed."""
    rows = []
    for one in results:
        errors = ", ".join(str(size["error"]) for size in one.get("sizes", ()))
        said = f"failed: {one['failed']}" if "failed" in one else errors
        cells = [one["name"], one.get("import_s", ""), one.get("compile_s", ""), said]
        rows.append("| " + " | ".join(map(str, cells)) + " |")
    failed = sum("failed" in one for one in results)
    errors = [size["error"] for one in results for size in one.get("sizes", ())]
    close = sum(isinstance(error, float) and error <= 1e-4 for error in errors)
    return [
        "## Compared, not timed", "",
        f"{len(results)} networks, {failed} failed; at {close} of {len(errors)} sizes the error is "
        "at most 1e-4.", "",
        "| network | import s | compile s | errors at the three sizes |", "|---|---|---|---|",
        *rows, "",
    ]  # fmt: skip


def _table(results: list[dict[str, Any]], threads: int) -> list[str]:
    ratios: list[float] = []
    rows: list[str] = []
    for one in results:
        for at, size in enumerate(one.get("sizes", ())):
            ours, *others = size["ms"]
            known = [value for value in others if value is not None]
            ratio = ours / min(known) if ours is not None and known else None
            ratios += [ratio] if ratio is not None else []
            first = [one["name"], one["import_s"], one["compile_s"], one["memory_mb"]]
            shown = [*others, None][:2]
            cells = [*(first if at == 0 else ["", "", "", ""]), size["shapes"], size["error"],
                     ours, *shown, None if ratio is None else f"{ratio:.2f}"]  # fmt: skip
            rows.append("| " + " | ".join("" if c is None else str(c) for c in cells) + " |")
        if "failed" in one:
            rows.append(f"| {one['name']} | failed: {one['failed']} |" + " |" * 8)
    mean = float(np.exp(np.mean(np.log(ratios)))) if ratios else float("nan")
    failed = sum("failed" in one for one in results)
    return [
        f"## {threads} thread{'s' if threads > 1 else ''}", "",
        f"{len(results)} networks, {failed} failed; ratios at {len(ratios)} sizes: geometric mean "
        f"{mean:.2f}, largest {max(ratios, default=float('nan')):.2f}, "
        f"{sum(r > 1.5 for r in ratios)} above 1.5.", "",
        "| network | import s | compile s | MB | inputs | error | ours | ONNX Runtime | OpenVINO "
        "| ratio |",
        "|---|---|---|---|---|---|---|---|---|---|", *rows, "",
    ]  # fmt: skip


def main() -> None:
    """Measure, and write the page."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measured(sys.argv[2], Path(sys.argv[3]))))
        return
    if sys.argv[1:2] == ["--one-agrees"]:
        print(json.dumps(measured(sys.argv[2], Path(sys.argv[3]), timed=False)))
        return
    parser = argparse.ArgumentParser(prog="python -m benchmarks.networks")
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*")
    parser.add_argument("--agree", action="store_true", help="compare results, time nothing")
    parser.add_argument("--write", type=Path)
    parser.add_argument("--note", default="", help="a sentence about the machine, for the page")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.write is not None:
        options.write.write_text(page(options.folder, options.note))
    else:
        run_all(options.folder, options.parts, timed=not options.agree)


if __name__ == "__main__":
    main()
