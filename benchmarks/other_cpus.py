"""Every operator of Relax on CPUs of other kinds: compiled for them, run in an emulator, compared.

    python -m benchmarks.other_cpus [sifive-x280 neoverse-n1 ...] [--only conv2d]

The kernels are those that the default pipeline makes of the cases of the tests
(tests/relax/op/cases.py) for the CPU. Each runs on random inputs there and, as it would be made for
it, on this machine: a C program (other_cpus.c) that calls them is linked by the cross compiler and
run by QEMU's user mode. Told is how many agree, and which do not. Debian's packages:
qemu-user-static, gcc-aarch64-linux-gnu, gcc-riscv64-linux-gnu.
"""

from __future__ import annotations

import argparse
import collections
import struct
import subprocess
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import tvm
from tests.relax.op.cases import CASES, SYMBOLS, Case
from tests.relax.op.test_declare import _module
from tvm import tir
from tvm.ir.instrument import PassInstrument, pass_instrument
from tvm.relax.numpy_dtype import numpy_dtype
from tvm.runtime import tensor
from tvm.support.dtype import DataType
from tvm.target import Target
from tvm.tir.functor import substitute, walk

HERE: Final = Target("llvm -num-cores=1")
SOURCE: Final = Path(__file__).with_suffix(".c")
BATCH: Final = 24  # cases to a program: linking and starting QEMU takes longer than most kernels
_CALLS_OUT: Final = ("tir.tvm_call_packed", "tir.call_packed", "tir.tvm_call_cpacked")
_NUMPY_BITS: Final = ("float32", "float64", "float16")

Array = np.ndarray[Any, Any]
Ended = tuple[bool, list[Array]]  # whether a kernel ended well, and its arguments afterwards


class Place(NamedTuple):
    """A CPU, and what compiles and runs C programs for it."""

    options: str
    compiler: str
    emulator: tuple[str, ...]


def _arm(cpu: str) -> Place:
    options = f"-mtriple=aarch64-linux-gnu -mcpu={cpu}"
    return Place(options, "aarch64-linux-gnu-gcc", ("qemu-aarch64-static", "-cpu", "max"))


def _riscv(cpu: str, bits: int) -> Place:
    options = f"-mtriple=riscv64-linux-gnu -mcpu={cpu} -mabi=lp64d"
    shown = f"rv64,v=true,vext_spec=v1.0,vlen={bits},zba=true,zbb=true,zbs=true"
    return Place(options, "riscv64-linux-gnu-gcc", ("qemu-riscv64-static", "-cpu", shown))


PLACES: Final = {
    **{cpu: _arm(cpu) for cpu in ("cortex-a53", "neoverse-n1", "neoverse-v1", "neoverse-v2")},
    "sifive-u74": _riscv("sifive-u74", 128),
    "sifive-x280": _riscv("sifive-x280", 512),
}


class Kernel(NamedTuple):
    """A function as scheduled there and here, and arrays for its arguments."""

    label: str
    there: tir.PrimFunc
    here: tir.PrimFunc
    arrays: list[Array]
    tolerance: float


# --- kernels of cases ---


@pass_instrument
class _Kept(PassInstrument):
    """The module after kernels were scheduled."""

    def __init__(self) -> None:
        self.module = tvm.IRModule()

    def run_after_pass(self, mod: tvm.IRModule, info: Any) -> None:
        """Keep it."""
        if info.name == "ApplyDefaultSchedule":
            self.module = mod


def kernels_of(number: int, case: Case, target: Target) -> Iterator[Kernel | None]:
    """Those that the default pipeline makes of a case; None for each that cannot run alone."""
    here = _scheduled(case, HERE)
    for name, func in _scheduled(case, target).items():
        arrays = None if _calls_out(func) else _arrays(func)
        other = here.get(name)
        if arrays is None or other is None or _shapes(other) != _shapes(func):
            yield None
        else:
            yield Kernel(f"{number} {case} {name}", func, other, arrays, case.tolerance)


def _scheduled(case: Case, target: Target) -> dict[str, tir.PrimFunc]:
    kept = _Kept()
    with tvm.transform.PassContext(opt_level=3, instruments=[kept]):
        tvm.compile(_module(case), target)
    functions = kept.module.functions_items()
    return {v.name_hint: f for v, f in functions if isinstance(f, tir.PrimFunc)}


def _shapes(func: tir.PrimFunc) -> list[str]:
    return [str(func.buffer_map[p].shape) for p in func.params if p in func.buffer_map]


def _calls_out(func: tir.PrimFunc) -> bool:
    calls = (node for node in walk(func.body) if isinstance(node, tir.Call))
    return any(getattr(call.op, "name", "") in _CALLS_OUT for call in calls)


def _arrays(func: tir.PrimFunc) -> list[Array] | None:
    """Values for all parameters; None where one is no tensor of numpy, or of open size."""
    rng, found = np.random.default_rng(3), []
    for param in func.params:
        buffer = func.buffer_map.get(param)
        if buffer is None:
            return None
        symbols = {v: tir.const(SYMBOLS[v.name], v.dtype) for e in buffer.shape
                   for v in tir.analysis.undefined_vars(e) if v.name in SYMBOLS}  # fmt: skip
        extents = [tvm.arith.Analyzer().simplify(substitute(e, symbols))
                   for e in buffer.shape]  # fmt: skip
        shape = [extent.value for extent in extents if isinstance(extent, tir.IntImm)]
        if len(shape) < len(extents):
            return None
        dtype = DataType(buffer.dtype)
        if dtype == "bool":
            found.append(rng.integers(0, 2, shape).astype(bool))
        elif dtype.is_integer:
            found.append(rng.integers(0, 3, shape).astype(numpy_dtype(dtype)))
        elif str(dtype) in _NUMPY_BITS:
            found.append(rng.uniform(0.1, 0.9, shape).astype(numpy_dtype(dtype)))
        else:
            return None
    return found


# --- there and here ---


def program(functions: Iterable[tir.PrimFunc], target: Target) -> Any:
    """The functions kernel0, kernel1, ... for a target."""
    named = {
        f"kernel{n}": func.without_attr("target").with_attr("global_symbol", f"kernel{n}")
        for n, func in enumerate(functions)
    }
    return tvm.compile(tvm.IRModule(named), target).mod


def run_here(kernels: Sequence[Kernel]) -> list[Ended]:
    """Whether each kernel ended well on this machine, and its arguments afterwards."""
    module, found = program([kernel.here for kernel in kernels], HERE), []
    for n, kernel in enumerate(kernels):
        tensors = [tensor(array) for array in kernel.arrays]
        try:
            module[f"kernel{n}"](*tensors)
            well = True
        except Exception:  # the other machine has to refuse the same
            well = False
        found.append((well, [t.numpy() for t in tensors]))
    return found


def run_there(kernels: Sequence[Kernel], place: Place) -> list[Ended]:
    """The same on the other machine; shorter where it stopped."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        target = Target(f"llvm {place.options} -num-cores=1")
        program([kernel.there for kernel in kernels], target).save(str(folder / "k.o"))
        symbols = [f"__tvm_ffi_kernel{n}" for n in range(len(kernels))]
        declared = "".join(f"int {s}(void *, const Any *, int32_t, Any *);\n" for s in symbols)
        table = f"static const Kernel KERNELS[] = {{{', '.join(symbols)}}};\n"
        (folder / "kernels.h").write_text(declared + table)
        command = [place.compiler, "-O1", "-w", "-static", f"-I{folder}", str(SOURCE),
                   str(folder / "k.o"), "-lm", "-o", str(folder / "run")]  # fmt: skip
        subprocess.run(command, check=True, capture_output=True, text=True)
        (folder / "in").write_bytes(_calls(kernels))
        run = [*place.emulator, str(folder / "run"), str(folder / "in"), str(folder / "out")]
        subprocess.run(run, check=False, capture_output=True, timeout=300)
        return list(_results((folder / "out").read_bytes(), kernels))


def _calls(kernels: Sequence[Kernel]) -> bytes:
    parts = [struct.pack("<i", len(kernels))]
    for n, kernel in enumerate(kernels):
        parts.append(struct.pack("<ii", n, len(kernel.arrays)))
        for array in kernel.arrays:
            code = {"i": 0, "u": 1, "f": 2, "b": 6}[array.dtype.kind]
            shape = struct.pack(f"<{array.ndim}q", *array.shape)
            head = struct.pack("<BBHi", code, 8 * array.dtype.itemsize, 1, array.ndim)
            parts += [head, shape, struct.pack("<q", array.nbytes), array.tobytes()]
    return b"".join(parts)


def _results(data: bytes, kernels: Sequence[Kernel]) -> Iterator[Ended]:
    at = 0
    for kernel in kernels:
        if at + 4 + sum(array.nbytes for array in kernel.arrays) > len(data):
            return
        code, at = struct.unpack_from("<i", data, at)[0], at + 4
        arrays = []
        for array in kernel.arrays:
            part = np.frombuffer(data, array.dtype, array.size, at)
            arrays.append(part.reshape(array.shape))
            at += array.nbytes
        yield code == 0, arrays


# --- the comparison ---


def difference(kernel: Kernel, here: Ended, there: Ended) -> str:
    """How what a kernel did there differs from what it did here; nothing where it does not."""
    if here[0] != there[0]:
        return "refused here alone" if there[0] else "refused there alone"
    for a, b in zip(here[1], there[1]):
        limit = max(10 * kernel.tolerance, 1e-2 if a.dtype.itemsize == 2 else 1e-5)
        wide = (a.astype("f8"), b.astype("f8"))
        if not np.allclose(*wide, rtol=limit, atol=limit, equal_nan=True):
            return f"off by {np.nanmax(np.abs(wide[0] - wide[1])):.3g}"
    return ""


def outcomes(kernels: list[Kernel], place: Place) -> dict[str, str]:
    """What is wrong with each kernel; programs that fail as a whole are halved."""
    if not kernels:
        return {}
    try:
        there = run_there(kernels, place)
        here = run_here(kernels)
    except Exception as err:  # the count is the point
        detail = getattr(err, "stderr", None) or str(err)
        said, there, here = f"{type(err).__name__}: {detail.strip().splitlines()[-1][:200]}", [], []
    else:
        said = "it ended the program"
    if len(there) < len(kernels):
        if len(kernels) == 1:
            return {kernels[0].label: said}
        half = len(kernels) // 2
        return {**outcomes(kernels[:half], place), **outcomes(kernels[half:], place)}
    return {k.label: difference(k, a, b) for k, a, b in zip(kernels, here, there)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cpus", nargs="*", default=list(PLACES), metavar="CPU")
    parser.add_argument("--only", default="", help="cases whose name has this")
    args = parser.parse_args()
    chosen = [case for case in CASES if args.only in str(case)]
    for cpu in args.cpus:
        place, count = PLACES[cpu], collections.Counter[str]()
        target = Target(f"llvm {place.options} -num-cores=1")
        for first in range(0, len(chosen), BATCH):
            found: list[Kernel] = []
            for number, case in enumerate(chosen[first : first + BATCH], first):
                try:
                    made = list(kernels_of(number, case, target))
                except Exception as err:
                    print(f"  {cpu} {case}: {type(err).__name__}: {err}", flush=True)
                    count["wrong"] += 1
                    continue
                found += [kernel for kernel in made if kernel is not None]
                count["left out"] += made.count(None)
            for label, wrong in outcomes(found, place).items():
                count["wrong" if wrong else "agree"] += 1
                if wrong:
                    print(f"  {cpu} {label}: {wrong}", flush=True)
        print(f"{cpu}: " + ", ".join(f"{n} {what}" for what, n in count.items()), flush=True)


if __name__ == "__main__":
    main()
