"""The roofs of this machine: what it reaches in programs that only compute, or only read.

They are measured once and kept beside the compile cache, by processor and number of threads. There
is a roof for each kind of arithmetic:

    floats      multiply and add
    integers    add, and take the larger
    products of narrow numbers      the instruction that sums them, where the processor has one

What a narrow kind does not reach itself, it does as the wider one to which its numbers are widened.
"""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np

from tvm.backend.llvm import cache, jit
from tvm.dlight.base.transform import ApplyDefaultSchedule
from tvm.dlight.cpu import default_rules
from tvm.dlight.cpu.dots import dot_form
from tvm.ir.module import IRModule
from tvm.runtime import num_threads, tensor
from tvm.runtime.files import draft_of
from tvm.script import from_source
from tvm.support.json_text import from_json
from tvm.target.cpu_model import CpuModel
from tvm.target.target import Target
from tvm.tir.build import build
from tvm.tir.tensor_intrin.dot_kinds import DOTS, Dot

from . import words as w
from .work import KINDS

_FORMAT: Final = 2
_SAMPLES: Final = 25
_SECONDS: Final = 0.004  # that a sample takes at least
_ROUNDS: Final = 20_000

_PEAK: Final = """
@T.prim_func
def peak(x: T.Buffer(({lanes},), "{dtype}"),
         out: T.Buffer(({threads}, {chains}, {lanes}), "{dtype}")):
    for t in T.parallel({threads}):
        acc = T.decl_buffer(({chains}, {lanes}), "{dtype}", scope="local")
        for i in T.unroll({chains}):
            for v in T.vectorized({lanes}):
                acc[i, v] = x[v]
        for r in range({rounds}):
            for i in T.unroll({chains}):
                for v in T.vectorized({lanes}):
                    acc[i, v] = {step}
        for i in T.unroll({chains}):
            for v in T.vectorized({lanes}):
                out[t, i, v] = acc[i, v]
"""
_MULTIPLY_ADD: Final = "acc[i, v] * x[v] + x[v]"
_ADD_MAX: Final = "T.max(acc[i, v] + x[v], x[v])"  # additions alone, LLVM adds up itself
_DOTS: Final = """
@T.prim_func
def peak(x: T.Buffer(({lanes},), "int32"),
         out: T.Buffer(({threads}, {chains}, {lanes}), "{dtype}")):
    for t in T.parallel({threads}):
        acc = T.decl_buffer(({chains}, {lanes}), "{dtype}", scope="local")
        for i in T.unroll({chains}):
            for v in T.vectorized({lanes}):
                acc[i, v] = T.Cast("{dtype}", 0)
        for r in range({rounds}):
            for i in T.unroll({chains}):
                acc[i, 0:{lanes}] = {step}
        for i in T.unroll({chains}):
            for v in T.vectorized({lanes}):
                out[t, i, v] = acc[i, v]
"""
_MATRICES: Final = """
@T.prim_func
def peak(x: T.Buffer(({size}, {size}), "{one}"), y: T.Buffer(({size}, {size}), "{many}"),
         out: T.Buffer(({size}, {size}), "{sums}")):
    for i, j, k in T.grid({size}, {size}, {size}):
        with T.block("product"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                out[vi, vj] = T.Cast("{sums}", 0)
            out[vi, vj] = out[vi, vj] + T.Cast("{sums}", x[vi, vk]) * T.Cast("{sums}", y[vk, vj])
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
# Features that bring arithmetic of float16; without them it is that of float32, converted.
_HALVES: Final = {"x86_64": "avx512fp16", "aarch64": "fullfp16", "riscv64": "zvfh"}
# Processors with registers of tiles (AMX) have roofs that only products of matrices reach.
_TILES: Final = {"int8": "amx-int8", "bfloat16": "amx-bf16"}
# The wider kinds to which numbers are widened, the nearest last.
_WIDER: Final = {"float16": "float32", "bfloat16": "float32", "int16": "int32", "int8": "int16"}
_FACTORS: Final = {
    "int8": ("uint8", "int8"), "int16": ("int16", "int16"), "bfloat16": ("bfloat16", "bfloat16")
}  # fmt: skip


def roofs(*, measure: bool = True, anew: bool = False) -> w.Roofs | None:
    """The roofs for the threads that programs use now: kept ones, else measured (some seconds).

    None where none are kept and `measure` is false; with `anew` kept ones are passed over.
    """
    cpu, threads = jit.host_machine().cpu, num_threads()
    path = cache.folder() / f"roofs-{cpu}-{threads}.json"
    try:
        kept = from_json(path.read_text(encoding="utf-8"))
        if not anew and isinstance(kept, dict) and kept.pop("format", None) == _FORMAT:
            peaks, gbytes = (
                {name: w.Rate(**rate) for name, rate in kept.pop(field).items()}
                for field in ("peaks", "gbytes")
            )
            return w.Roofs(peaks=peaks, gbytes=gbytes, **kept)
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
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
    peaks: dict[str, w.Rate] = {}
    for kind in KINDS:
        found = [_rate(program, threads) for program in _programs(model, kind)]
        if kind in _WIDER:
            found.append(peaks[_WIDER[kind]])
        if _TILES.get(kind) in model.features:
            found.append(_matrices(kind, threads))
        peaks[kind] = max(found, key=lambda peak: peak.all)
    sizes = {
        "L1": model.l1d_bytes // 2,
        "L2": model.l2_bytes // 2,
        "L3": max(model.l3_bytes // 2, model.l2_bytes),
        "memory": max(4 * model.l3_bytes * model.cores, 1 << 25),
    }
    gbytes = {
        level: _rate(partial(_gbytes, model, nbytes), threads) for level, nbytes in sizes.items()
    }
    return w.Roofs(cpu, threads, peaks, gbytes)


Program = Callable[[int], float]  # billions a second with so many threads


def _rate(program: Program, threads: int) -> w.Rate:
    # what others do on the machine can only make either of them less than it is
    one = program(1)
    in_all = max(program(threads), one) if threads > 1 else one
    return w.Rate(in_all, max(one, in_all / threads))


def _programs(model: CpuModel, kind: str) -> Iterator[Program]:
    """The programs in one kind of arithmetic; those of a narrow kind may be none."""
    bits = int("".join([c for c in kind if c.isdigit()][-2:]))
    chains = min(12, model.vector_registers - 4)
    native = kind != "float16" or _HALVES.get(model.arch) in model.features
    if kind != "bfloat16" and native:
        step = _ADD_MAX if kind.startswith("int") else _MULTIPLY_ADD
        sizes = {"lanes": model.lanes(bits), "chains": chains, "dtype": kind, "step": step}
        yield lambda threads: _gflops(_PEAK, sizes, kind, 2, threads)
    if kind in _FACTORS:
        form = dot_form(model, *_FACTORS[kind])
        if form is not None:
            dot = DOTS[form]
            shape = {
                "lanes": dot.lanes, "chains": chains, "dtype": dot.sums, "step": _dot_step(dot)
            }  # fmt: skip
            yield lambda threads: _gflops(_DOTS, shape, "int32", 2 * dot.group, threads)


def _dot_step(dot: Dot) -> str:
    """A vector of sums, and one that an instruction adds to it."""
    lanes, numbers = dot.lanes, dot.lanes * dot.group
    sums, value = f"acc[i, 0:{lanes}]", f"x[0:{lanes}]"
    if not dot.name.startswith("llvm.x86") or "pmadd" in dot.name:
        value = f'T.reinterpret("int{32 // dot.group}x{numbers}", {value})'
    kind = f'"{dot.sums}x{lanes}", "{dot.name}"'
    if dot.accumulates:
        return f"T.call_llvm_pure_intrin({kind}, {sums}, {value}, {value})"
    return f"{sums} + T.call_llvm_pure_intrin({kind}, {value}, {value})"


def _gflops(
    text: str, sizes: dict[str, Any], kind: str, operations: int, threads: int
) -> float:
    """Operations a second, in as many chains as hide the latency."""
    lanes, chains = sizes["lanes"], sizes["chains"]
    given = text.format(**sizes, rounds=_ROUNDS, threads=threads)
    x = np.zeros(lanes, kind) if kind.startswith("int") else np.full(lanes, 0.5, kind)
    out = np.zeros((threads, chains, lanes), sizes["dtype"])
    count: float = operations * threads * _ROUNDS * chains * lanes
    return count / _fastest(_program(given, "peak", x, out)) / 1e9


def _matrices(kind: str, threads: int, size: int = 1024) -> w.Rate:
    """A product of matrices that lie in the caches, as its rule schedules it."""
    one, many = _FACTORS[kind]
    sums = "float32" if kind == "bfloat16" else "int32"
    text = _MATRICES.format(size=size, one=one, many=many, sums=sums)
    target = Target("llvm")
    with target:
        mod = ApplyDefaultSchedule(*default_rules())(IRModule({"peak": from_source(text)}))
    made = build(mod, target)["peak"]
    given = [tensor(np.zeros((size, size), _numpy(dtype))) for dtype in (one, many, sums)]
    rate = 2.0 * size**3 / _fastest(lambda: made(*given)) / 1e9
    return w.Rate(rate, rate / threads)


def _numpy(dtype: str) -> Any:
    if dtype != "bfloat16":
        return dtype
    import ml_dtypes

    return ml_dtypes.bfloat16


def _gbytes(model: CpuModel, nbytes: int, threads: int) -> float:
    """Bytes a second that threads read, each from memory of its own of this size."""
    lanes, chains = model.lanes(), 8
    blocks = max(1, nbytes // (4 * lanes * chains))
    rounds = max(1, (1 << 22) // nbytes)
    sizes = {
        "lanes": lanes, "chains": chains, "blocks": blocks, "rounds": rounds, "threads": threads
    }  # fmt: skip
    x = np.ones((threads, blocks, chains, lanes), np.float32)
    out = np.zeros((threads, chains, lanes), np.float32)
    return rounds * x.nbytes / _fastest(_program(_READ.format(**sizes), "read", x, out)) / 1e9


def _program(text: str, name: str, x: Any, out: Any) -> Callable[[], object]:
    made = build(IRModule({name: from_source(text)}), Target("llvm"))[name]
    arguments = tensor(x), tensor(out)
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
