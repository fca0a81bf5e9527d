"""How many trials a second a search makes, with building and measuring, and where the time goes.

    python benchmarks/tuning.py                        four kernels, 64 trials each
    python benchmarks/tuning.py --trials 128 --only matmul_512
    python benchmarks/tuning.py --kills 100            a tuner that is killed again and again
    python benchmarks/tuning.py --tuners 8             tuners with one database, until each told 8

On a machine that others use the seconds of CPU a trial say more than the trials a second. The last
column is the best time of the search to that of the rule, measured by turns after the search.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

import tvm
from tvm import dlight, te
from tvm import meta_schedule as ms
from tvm.ir.module import IRModule
from tvm.tir.build import build
from tvm.tir.function import PrimFunc
from tvm.topi.nn.conv2d import conv2d
from tvm.topi.nn.softmax import softmax

Tensors = list[te.Tensor]
TARGET = f"llvm -num-cores={os.cpu_count()}"


def _matmul(n: int) -> Tensors:
    a, b = te.placeholder((n, n), name="A"), te.placeholder((n, n), name="B")
    k = te.reduce_axis((0, n), name="k")
    return [a, b, te.compute((n, n), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="C")]


def _conv() -> Tensors:
    x = te.placeholder((1, 56, 56, 64), name="X")
    w = te.placeholder((3, 3, 64, 64), name="W")
    return [x, w, conv2d(x, w, 1, 1, 1, "NHWC", "HWIO")]


def _softmax() -> Tensors:
    x = te.placeholder((512, 512), name="X")
    return [x, softmax(x)]


KERNELS: dict[str, Callable[[], Tensors]] = {
    "matmul_512": lambda: _matmul(512),
    "matmul_1024": lambda: _matmul(1024),
    "conv2d_3x3": _conv,
    "softmax": _softmax,
}


def _cpu_seconds() -> float:
    own, others = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def _search(name: str, trials: int, seed: int) -> None:
    mod = IRModule({"main": te.create_prim_func(KERNELS[name]())})
    target = tvm.target.Target(TARGET)
    cpu, begun = _cpu_seconds(), time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ms.Profiler() as profiler:
        database = ms.tune_tir(
            mod, target, folder, trials, num_trials_per_iter=16, seed=seed, database="memory"
        )
    wall = time.monotonic() - begun
    cpu = _cpu_seconds() - cpu  # of the workers as well: they have ended
    best = database.query(mod, target, kind="ir_module")
    ratio = _ratio(best, mod, target) if isinstance(best, IRModule) else float("nan")
    print(f"{name}: {len(database)} trials, {len(database) / wall:.1f} a second, "
          f"{cpu / len(database):.3f} s of CPU a trial, best/rule {ratio:.2f}, "
          f"load {os.getloadavg()[0]:.1f}")  # fmt: skip
    print(profiler.table())


def _ratio(best: IRModule, mod: IRModule, target: tvm.target.Target) -> float:
    """Times of the best schedule to those of the rule, by turns; the least of five each."""
    with target:
        by_rule = dlight.ApplyDefaultSchedule(*dlight.cpu.default_rules())(mod)
    functions = [build(m, target)["main"] for m in (best, by_rule)]
    rng = np.random.default_rng(0)
    kernel = mod["main"]
    assert isinstance(kernel, PrimFunc), "the kernels above"
    shapes = [b.shape for b in kernel.buffer_map.values()]
    args = [tvm.runtime.tensor(rng.random([int(str(d)) for d in s], np.float32)) for s in shapes]
    least = [float("inf")] * 2
    for _ in range(5):
        for i, function in enumerate(functions):
            function(*args)
            begun = time.perf_counter()
            for _ in range(5):
                function(*args)
            least[i] = min(least[i], time.perf_counter() - begun)
    return least[0] / least[1]


# --- kills ---

_TUNER = """
import sys
from benchmarks.tuning import tune_small
tune_small(*sys.argv[1:])
"""


def tune_small(url: str, told: str) -> None:
    """Tune a small kernel into a database; each trial that was kept is told in a file first."""
    from tvm.meta_schedule.database import SQLDatabase

    class Told(SQLDatabase):
        def commit_trial(
            self, record: ms.database.TuningRecord, error: str | None = None, log: str | None = None
        ) -> None:
            super().commit_trial(record, error, log)
            with open(told, "a") as out:
                out.write(f"{record.mean_secs!r}\n")

    mod = IRModule({"main": te.create_prim_func(_matmul(32))})
    with tempfile.TemporaryDirectory() as folder:
        ms.tune_tir(
            mod, tvm.target.Target(TARGET), folder, 10**6, num_trials_per_iter=4,
            database=Told(url), runner=_instant(),
        )  # fmt: skip


def _instant() -> ms.runner.PyRunner:
    """Measures nothing, so that most of the time goes into builds and into keeping records."""

    @ms.derived_object
    class Instant(ms.runner.PyRunner):
        def run(
            self, runner_inputs: Sequence[ms.runner.RunnerInput]
        ) -> list[ms.runner.RunnerFuture]:
            return [
                ms.runner.LocalRunnerFuture([np.random.rand() + 0.1]) for _ in runner_inputs
            ]

    return Instant()


def kills(count: int, seconds: float, seed: int) -> None:
    """Kill a tuner, or one of its workers, at random moments; nothing that was told is lost."""
    rng = np.random.default_rng(seed)
    folder = Path(tempfile.mkdtemp(prefix="tvm-kills-"))
    url, told = f"sqlite:///{folder}/records.db", folder / "told"
    told.touch()
    resumed = workers = 0
    for number in range(count):
        before = len(told.read_text().splitlines())
        tuner = subprocess.Popen([sys.executable, "-c", _TUNER, url, str(told)])
        end = time.monotonic() + seconds * rng.random()
        while len(told.read_text().splitlines()) == before:  # it goes on where it was
            if tuner.poll() is not None:
                raise SystemExit(f"kill {number}: the tuner ended with {tuner.returncode}")
            time.sleep(0.02)
            end = max(end, time.monotonic() + 0.3 * rng.random())
        resumed += 1
        while time.monotonic() < end:
            children = _children(tuner.pid)
            if children and rng.random() < 0.5:
                os.kill(children[int(rng.integers(len(children)))], signal.SIGKILL)
                workers += 1
            time.sleep(0.05)
        tuner.kill()
        tuner.wait()
        _check(url, told)
    kept = len(told.read_text().splitlines())
    print(f"{count} kills of the tuner, {workers} of workers: {kept} trials told, all kept, "
          f"{resumed} times resumed")  # fmt: skip
    shutil.rmtree(folder)


def tuners(count: int, url: str | None) -> None:
    """Several tuners keep their trials in one database; none is lost, none is kept twice."""
    folder = Path(tempfile.mkdtemp(prefix="tvm-tuners-"))
    url = url or f"sqlite:///{folder}/records.db"
    told = [folder / f"told{i}" for i in range(count)]
    for path in told:
        path.touch()
    running = [subprocess.Popen([sys.executable, "-c", _TUNER, url, str(path)]) for path in told]
    while any(len(path.read_text().splitlines()) < 8 for path in told):
        if any(tuner.poll() is not None for tuner in running):
            raise SystemExit("a tuner ended")
        time.sleep(0.1)
    for tuner in running:
        tuner.kill()
        tuner.wait()
    whole = folder / "told"
    whole.write_text("".join(path.read_text() for path in told))
    _check(url, whole)
    print(f"{count} tuners: {len(whole.read_text().splitlines())} trials told, all kept, once")
    shutil.rmtree(folder)


def _children(pid: int) -> list[int]:
    """What any thread of a process has started."""
    found: list[int] = []
    for path in Path("/proc").glob(f"{pid}/task/*/children"):
        with contextlib.suppress(OSError):
            found.extend(int(p) for p in path.read_text().split())
    return found


def _check(url: str, told: Path) -> None:
    """Each trial that was told is in the database, once; at most the last one is not told yet."""
    kept = sorted(r.mean_secs for r in ms.database.SQLDatabase(url).get_all_tuning_records())
    lines = told.read_text().split("\n")
    known = sorted(float(line) for line in lines[:-1])  # the last line may be half-written
    left = list(kept)
    for seconds in known:
        if seconds not in left:
            raise SystemExit(f"the trial of {seconds} s was told and is not kept")
        left.remove(seconds)
    if len(left) > len(set(left)):
        raise SystemExit("a trial was kept twice")


def main() -> None:
    """Read the options, and do what they ask for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=64)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--only", choices=list(KERNELS), action="append")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--tuners", type=int, default=0)
    parser.add_argument("--url", help="of the tuners' database, empty; by default SQLite's")
    parser.add_argument("--kill-after", type=float, default=1.0, help="seconds, at most")
    options = parser.parse_args()
    if options.kills:
        kills(options.kills, options.kill_after, options.seed)
        return
    if options.tuners:
        tuners(options.tuners, options.url)
        return
    for name in options.only or KERNELS:
        _search(name, options.trials, options.seed)


if __name__ == "__main__":
    main()
