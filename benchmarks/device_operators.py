"""Every operator of Relax on GPUs: emitted for a kind of target, compiled, run, and compared.

    python -m benchmarks.device_operators
    python -m benchmarks.device_operators shim:cuda opencl:0 vulkan:0 --only scatter
    python -m benchmarks.device_operators --write docs/gpu.md

A place is a device, as `opencl:0`, or `shim:KIND`: the kernels of a kind as C++ on this CPU
(tests/backend/device/harness.py). Without any, each kind is given what stands in for it here. Of
each place it is told how many cases are emitted, how many of these the compiler of the field takes
(NVRTC for two machines, clang with AMD's device libraries, or the driver of the device), and how
many give what the CPU gives; what fails is named. The cases are those of the tests
(tests/relax/op/cases.py), several to a program. `--write` puts the counts into a page.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import tvm
from tests.backend.device import harness
from tests.backend.rocm import hip_compiler
from tests.relax.op.cases import CASES, Case
from tests.relax.op.test_declare import _arrays, _module
from tvm import relax
from tvm.contrib import nvrtc
from tvm.error import TVMError
from tvm.target import Target

PLACES = ("shim:cuda", "shim:rocm", "opencl:0", "shim:metal", "webgpu:0", "vulkan:0")
BATCH = 16  # cases in a program: most of the time to compile one is the same for all programs
ROW = "| {kind} | {cases} | {emitted} | {compiled} | {right} | {by} |"
_MARKS = ("<!-- operators -->", "<!-- end of operators -->")

Array = np.ndarray[Any, Any]


class Outcome(NamedTuple):
    """How far a case came; `said` tells what kept it from the next step."""

    step: str  # "", "emitted", "compiled" or "right"
    said: str = ""


def results(value: Any) -> list[Array]:
    """The tensors of a result as arrays."""
    if isinstance(value, (tuple, list)) or type(value).__name__ == "Array":
        return [array for part in value for array in results(part)]
    return [value.numpy() if hasattr(value, "numpy") else np.asarray(value)]


def difference(found: Sequence[Array], wanted: Sequence[Array], tolerance: float) -> str:
    """How results differ from those wanted; nothing where they do not."""
    for a, b in zip(found, wanted, strict=True):
        limit = max(10 * tolerance, 4e-3 if a.dtype.itemsize == 2 else 1e-4)
        if a.dtype != b.dtype or a.shape != b.shape:
            return f"{a.dtype}{a.shape} for {b.dtype}{b.shape}"
        if not np.allclose(a.astype("f8"), b.astype("f8"), rtol=limit, atol=limit, equal_nan=True):
            return f"off by {np.nanmax(np.abs(a.astype('f8') - b.astype('f8'))):.3g}"
    return ""


def program(cases: Iterable[tuple[str, Case]]) -> tvm.IRModule:
    """One module with a function a case."""
    return tvm.IRModule({
        name: _module(case)["main"].with_attr("global_symbol", name) for name, case in cases
    })  # fmt: skip


def sources(module: Any) -> list[tvm.runtime.device_module.DeviceModule]:
    """The modules of kernels in a module and in those it imports."""
    own = [module] if isinstance(module, tvm.runtime.device_module.DeviceModule) else []
    return own + [found for inner in module.imports for found in sources(inner)]


# --- compilers of the field ---


def _by_nvrtc(text: str) -> None:
    for arch in ("sm_80", "sm_90"):
        nvrtc.compile_source(text, "cubin", arch)


COMPILERS: dict[str, tuple[Callable[[str], Any], str, Callable[[], bool]]] = {
    "cuda": (_by_nvrtc, "NVRTC to sm_80 and sm_90", nvrtc.available),
    "rocm": (hip_compiler.compiled, "clang to gfx90a", hip_compiler.available),
}


# --- cases at a place ---


class Place:
    """Where kernels of a kind run."""

    def __init__(self, name: str) -> None:
        self.shim = name.startswith("shim:")
        self.device = tvm.device(name.removeprefix("shim:"))
        self.kind = self.device.type
        with self.used():
            self.device_name = self.device.device_name
        found = COMPILERS.get(self.kind)
        known = found is not None and found[2]()
        self.compile, self.compiler = found[:2] if found is not None and known else (None, "")

    def used(self) -> contextlib.AbstractContextManager[None]:
        """Within, the device can be used."""
        return harness.launches_here() if self.shim else contextlib.nullcontext()

    def by(self) -> str:
        """What compiles and what runs the kernels, in words."""
        run = self.device_name
        return f"{self.compiler}; {run}" if self.compiler else str(run)

    def target(self) -> Target:
        """What is compiled for."""
        return harness.target_of(self.kind)

    def outcomes(self, cases: dict[str, Case], wanted: dict[str, list[Array]]
                 ) -> dict[str, Outcome]:  # fmt: skip
        """How far each case comes; a program that fails is taken apart, to know by which case."""
        try:
            made = tvm.compile(program(cases.items()), self.target())
        except Exception as err:  # the count is the point: what is no refusal shows by its class
            return self._apart(cases, wanted, Outcome("", _words(err)))
        try:
            for module in sources(made.mod) if self.compile is not None else ():
                self.compile(module.source)
            with self.used():
                vm = relax.VirtualMachine(made, self.device)
        except Exception as err:
            return self._apart(cases, wanted, Outcome("emitted", _words(err)))
        told = {}
        for name, case in cases.items():
            try:
                with self.used():
                    found = results(vm[name](*_arrays(case)))
            except Exception as err:
                if len(cases) > 1:  # the kernels of a program are compiled together, at a launch
                    return self._apart(cases, wanted, Outcome("emitted"))
                told[name] = Outcome("emitted", _words(err))
                continue
            wrong = difference(found, wanted[name], case.tolerance)
            told[name] = Outcome("compiled", wrong) if wrong else Outcome("right")
        return told

    def _apart(
        self, cases: dict[str, Case], wanted: dict[str, list[Array]], outcome: Outcome
    ) -> dict[str, Outcome]:
        if len(cases) == 1:
            return dict.fromkeys(cases, outcome)
        names = list(cases)
        halves = names[: len(names) // 2], names[len(names) // 2 :]
        return {
            name: found
            for half in halves
            for name, found in self.outcomes({n: cases[n] for n in half}, wanted).items()
        }


def _words(err: Exception) -> str:
    first = " | ".join(str(err).strip().splitlines()[:3])[:300]
    return first if isinstance(err, TVMError) else f"{type(err).__name__}: {first}"


def on_the_cpu(cases: dict[str, Case]) -> dict[str, list[Array]]:
    """What the cases give by LLVM."""
    vm = relax.VirtualMachine(tvm.compile(program(cases.items()), "llvm"), tvm.cpu())
    return {name: results(vm[name](*_arrays(case))) for name, case in cases.items()}


# --- the table ---


def row(place: Place, found: collections.Counter[str]) -> str:
    """A line of the table."""
    right = found["right"]
    compiled = right + found["compiled"]
    return ROW.format(
        kind=place.kind, cases=found.total(), emitted=compiled + found["emitted"],
        compiled=compiled, right=right, by=place.by(),
    )  # fmt: skip


def write(page: Path, rows: Iterable[str]) -> None:
    """Put lines into the table of a page, each in the place of that of its kind."""
    text = page.read_text()
    before, rest = text.split(_MARKS[0])
    table, after = rest.split(_MARKS[1])
    lines = {line.split("|")[1]: line for line in [*table.splitlines(), *rows] if "|" in line}
    table = "\n".join(["", *lines.values(), ""])
    page.write_text(before + _MARKS[0] + table + _MARKS[1] + after)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("places", nargs="*", default=PLACES)
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--batch", type=int, default=BATCH)
    parser.add_argument("--write", type=Path, metavar="PAGE")
    args = parser.parse_args()
    places = [Place(name) for name in args.places]
    counts: dict[str, collections.Counter[str]] = {
        name: collections.Counter() for name in args.places
    }
    chosen = [case for case in CASES if args.only in str(case)]
    for first in range(0, len(chosen), args.batch):
        cases = {f"case{n}": case for n, case in enumerate(chosen[first : first + args.batch])}
        wanted = on_the_cpu(cases)
        for place, name in zip(places, args.places):
            for key, (step, said) in place.outcomes(cases, wanted).items():
                counts[name][step] += 1
                if step != "right":
                    print(f"  {name} {cases[key]}: {step or 'refused'}: {said}", flush=True)
    rows = [row(place, counts[name]) for name, place in zip(args.places, places)]
    print("\n".join(rows), flush=True)
    if args.write is not None:
        write(args.write, rows)


if __name__ == "__main__":
    main()
