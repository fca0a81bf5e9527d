"""The roofs of this machine: what it reaches in programs that only multiply and add, or only read.

They are measured once and kept beside the compile cache, by processor and number of threads.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from tvm.backend.llvm import cache, jit
from tvm.ir.module import IRModule
from tvm.runtime import num_threads, tensor
from tvm.runtime.files import draft_of
from tvm.script import from_source
from tvm.support.json_text import from_json
from tvm.target.cpu_model import CpuModel
from tvm.target.target import Target
from tvm.tir.build import build

from . import words as w

_FORMAT: Final = 1
_SAMPLES: Final = 25
_SECONDS: Final = 0.004  # that a sample takes at least

_PEAK: Final = """
@T.prim_func
def peak(x: T.Buffer(({lanes},), "float32"),
         out: T.Buffer(({threads}, {chains}, {lanes}), "float32")):
    for t in T.parallel({threads}):
        acc = T.decl_buffer(({chains}, {lanes}), scope="local")
        for i in T.unroll({chains}):
            for v in T.vectorized({lanes}):
                acc[i, v] = x[v]
        for r in range({rounds}):
            for i in T.unroll({chains}):
                for v in T.vectorized({lanes}):
                    acc[i, v] = acc[i, v] * x[v] + x[v]
        for i in T.unroll({chains}):
            for v in T.vectorized({lanes}):
                out[t, i, v] = acc[i, v]
"""
_READ: Final = """
@T.prim_func
def read(x: T.Buffer(({threads}, {blocks}, {chains}, {lanes}), "float32"),
         out: T.Buffer(({threads}, {chains}, {lanes}), "float32")):
    for t in T.parallel({threads}):
        acc = T.decl_buffer(({chains}, {lanes}), scope="local")
        for i in T.unroll({chains}):
            for v in T.vectorized({lanes}):
                acc[i, v] = T.float32(0)
        for r, b in T.grid({rounds}, {blocks}):
            for i in T.unroll({chains}):
                for v in T.vectorized({lanes}):
                    acc[i, v] = acc[i, v] + x[t, b, i, v]
        for i in T.unroll({chains}):
            for v in T.vectorized({lanes}):
                out[t, i, v] = acc[i, v]
"""


def roofs(*, measure: bool = True, anew: bool = False) -> w.Roofs | None:
    """The roofs for the threads that programs use now: kept ones, else measured (some seconds).

    None where none are kept and `measure` is false; with `anew` kept ones are passed over.
    """
    cpu, threads = jit.host_machine().cpu, num_threads()
    path = cache.folder() / f"roofs-{cpu}-{threads}.json"
    try:
        kept = from_json(path.read_text(encoding="utf-8"))
        if not anew and isinstance(kept, dict) and kept.pop("format", None) == _FORMAT:
            return w.Roofs(**kept)
    except (OSError, ValueError, TypeError):
        pass
    if not measure and not anew:
        return None
    made = measured(Target("llvm").cpu, cpu, threads)
    if cache.enabled():
        path.parent.mkdir(parents=True, exist_ok=True)
        with draft_of(path) as draft:
            told = {"format": _FORMAT, **dataclasses.asdict(made)}
            draft.write_text(json.dumps(told), encoding="utf-8")
    return made


def measured(model: CpuModel, cpu: str, threads: int) -> w.Roofs:
    """The roofs as this machine shows them now."""
    in_all = _gflops(model, threads)
    # more than all of them together, one cannot do; if it did less than its share, it was disturbed
    one = min(in_all, max(_gflops(model, 1), in_all / threads))
    gbytes = {
        "L1": _gbytes(model, threads, model.l1d_bytes // 2),
        "L2": _gbytes(model, threads, model.l2_bytes // 2),
        "L3": _gbytes(model, threads, max(model.l3_bytes // 2, model.l2_bytes)),
        "memory": _gbytes(model, threads, max(4 * model.l3_bytes * model.cores, 1 << 25)),
    }
    return w.Roofs(cpu, threads, in_all, one, gbytes)


def _gflops(model: CpuModel, threads: int) -> float:
    """Additions and multiplications a second, in as many chains as hide the latency."""
    lanes, chains, rounds = model.lanes(), min(12, model.vector_registers - 4), 20_000
    sizes = {"lanes": lanes, "chains": chains, "rounds": rounds, "threads": threads}
    x = np.full(lanes, 0.5, np.float32)
    run = _program(_PEAK.format(**sizes), "peak", x, (threads, chains, lanes))
    return 2.0 * threads * rounds * chains * lanes / _fastest(run) / 1e9


def _gbytes(model: CpuModel, threads: int, nbytes: int) -> float:
    """Bytes a second that threads read, each from memory of its own of this size."""
    lanes, chains = model.lanes(), 8
    blocks = max(1, nbytes // (4 * lanes * chains))
    rounds = max(1, (1 << 22) // nbytes)
    sizes = {
        "lanes": lanes, "chains": chains, "blocks": blocks, "rounds": rounds, "threads": threads
    }  # fmt: skip
    x = np.ones((threads, blocks, chains, lanes), np.float32)
    run = _program(_READ.format(**sizes), "read", x, (threads, chains, lanes))
    return rounds * x.nbytes / _fastest(run) / 1e9


def _program(text: str, name: str, x: Any, out: tuple[int, ...]) -> Callable[[], object]:
    func = from_source(text)
    made = build(IRModule({name: func}), Target("llvm"))[name]
    arguments = tensor(x), tensor(np.zeros(out, np.float32))
    return lambda: made(*arguments)


def _fastest(run: Callable[[], object]) -> float:
    """Seconds of one run: the least of several samples, which nothing else can make smaller."""
    run()
    count = 1
    while True:
        taken = _seconds(run, count)
        if taken >= _SECONDS:
            break
        count *= 2
    return min(_seconds(run, count) for _ in range(_SAMPLES)) / count


def _seconds(run: Callable[[], object], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        run()
    return time.perf_counter() - start
