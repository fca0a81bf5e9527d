"""Every operator of Relax on devices: compiled for a kind, run there, compared with the CPU.

    python -m benchmarks.device_operators opencl:0 opencl:1 vulkan:0
    python -m benchmarks.device_operators --emit cuda rocm opencl metal webgpu vulkan nvptx

prints a row a device: cases, right, refused (with reasons), wrong; with `--emit` a row a kind of
target, for which no device is needed: emitted or refused. The cases are those of the tests
(tests/relax/op/cases.py).
"""

from __future__ import annotations

import argparse
import collections
from typing import Any

import numpy as np

import tvm
from tests.relax.op.cases import CASES, Case
from tests.relax.op.test_declare import _arrays, _module
from tvm import relax
from tvm.error import TVMError
from tvm.target import Target


def results(value: Any) -> list[np.ndarray[Any, Any]]:
    """The tensors of a result as arrays."""
    if isinstance(value, (tuple, list)) or type(value).__name__ == "Array":
        return [array for part in value for array in results(part)]
    return [value.numpy() if hasattr(value, "numpy") else np.asarray(value)]


def run(case: Case, target: Target | str, device: Any) -> list[np.ndarray[Any, Any]]:
    """The results of a case on a device."""
    vm = relax.VirtualMachine(tvm.compile(_module(case), target), device)
    return results(vm["main"](*_arrays(case)))


def outcome(case: Case, kind: str, device: Any) -> tuple[str, str]:
    """right, refused or wrong, and what was said."""
    try:
        wanted = run(case, "llvm", tvm.cpu())
    except (TVMError, ValueError) as err:
        return "not run on the CPU", str(err).splitlines()[0]
    try:
        found = run(case, Target(kind, host="llvm"), device)
    except Exception as err:  # the count is the point: what is not a refusal shows by its class
        first = " | ".join(str(err).strip().splitlines()[:3])
        return "refused" if isinstance(err, TVMError) else "raw", f"{type(err).__name__}: {first}"
    for a, b in zip(found, wanted, strict=True):
        limit = max(10 * case.tolerance, 4e-3 if a.dtype.itemsize == 2 else 1e-4)
        if a.dtype != b.dtype or a.shape != b.shape:
            return "wrong", f"{a.dtype}{a.shape} for {b.dtype}{b.shape}"
        if not np.allclose(a.astype("f8"), b.astype("f8"), rtol=limit, atol=limit, equal_nan=True):
            return "wrong", f"off by {np.nanmax(np.abs(a.astype('f8') - b.astype('f8'))):.3g}"
    return "right", ""


def emitted(case: Case, target: Target) -> tuple[str, str]:
    """emitted or refused, and what was said."""
    try:
        tvm.compile(_module(case), target)
    except Exception as err:  # as above
        first = " | ".join(str(err).strip().splitlines()[:3])
        return "refused" if isinstance(err, TVMError) else "raw", f"{type(err).__name__}: {first}"
    return "emitted", ""


def emit_all(kind: str, only: str) -> None:
    """Print what is not emitted for a kind, and how many are."""
    target = Target(kind, host="llvm")
    counts: collections.Counter[str] = collections.Counter()
    for case in CASES:
        if only in str(case):
            found, said = emitted(case, target)
            counts[found] += 1
            if found != "emitted":
                print(f"  {kind} {case}: {found}: {said[:300]}", flush=True)
    print(f"{kind}: {dict(counts)} of {counts.total()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("devices", nargs="*")
    parser.add_argument("--emit", nargs="*", default=[], metavar="KIND")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true")
    args = parser.parse_args()
    for kind in args.emit:
        emit_all(kind, args.only)
    for name in args.devices:
        device = tvm.device(name)
        counts: collections.Counter[str] = collections.Counter()
        for case in CASES:
            if args.only in str(case):
                if args.verbose:
                    print(f"  {case}", flush=True)
                found, said = outcome(case, device.type, device)
                counts[found] += 1
                if found != "right":
                    print(f"  {name} {case}: {found}: {said[:300]}", flush=True)
        print(f"{name} ({device.device_name}): {dict(counts)} of {counts.total()}", flush=True)


if __name__ == "__main__":
    main()
