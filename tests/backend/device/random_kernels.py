"""Random kernels, and where they run: the same numbers come out of all places.

There are three families, `random_threads`, `random_types` and `random_stages`, each with `made`,
which gives the kernel of a number: a function, scheduled at random, and the same before that. As
all values are small whole numbers, equal ones come out of the interpreter, of the shim and of
every driver.

    python -m tests.backend.device.random_kernels COUNT [FIRST] [--of types]
        [--on shim:cuda,opencl,webgpu]

runs kernels in batches everywhere and prints what differs. A place that has no such type, by
`LACKS`, leaves a kernel out.
"""

from __future__ import annotations

import argparse
import collections
from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

import tvm
from tests.backend.device import harness, random_stages, random_threads, random_types
from tests.backend.device.random_words import Array, Made
from tvm.ir.expr import PrimExpr
from tvm.ir.module import IRModule
from tvm.target import Target
from tvm.tir.functor import walk
from tvm.tir.interp import run as interpret

FAMILIES: Final[dict[str, Callable[[int], Made]]] = {
    "threads": random_threads.made, "types": random_types.made, "stages": random_stages.made,
}  # fmt: skip
# WGSL has no such type; Mesa 22, which is what there is, compares these numbers wrongly
LACKS: Final = {"webgpu": ("float64",), "vulkan": ("int64", "uint64"), "shim:metal": ("float64",)}


def can_be_at(one: Made, place: str) -> bool:
    """Whether a place has all the types of a kernel."""
    lacking = LACKS.get(place, ())
    return not lacking or not any(
        isinstance(node, PrimExpr) and str(node.dtype.element_of()) in lacking
        for node in walk(one.func.body)
    )


# --- where they run ---


def wanted(one: Made, seed: int) -> Array:
    """What the function computes without a schedule, by the interpreter."""
    arrays = one.arrays(seed)
    interpret(one.plain, *arrays)
    return arrays[-1]


def module_of(kernels: dict[str, Made]) -> IRModule:
    """The kernels as one module."""
    return IRModule({
        name: one.func.with_attr("global_symbol", name) for name, one in kernels.items()
    })  # fmt: skip


def results(kernels: dict[str, Made], seeds: dict[str, int], place: str) -> dict[str, Array]:
    """The results by name: at `interpreter`, `shim:KIND` or a device as `opencl`."""
    found: dict[str, Array] = {}
    if place == "interpreter":
        for name, one in kernels.items():
            arrays = one.arrays(seeds[name])
            interpret(one.func, *arrays)
            found[name] = arrays[-1]
        return found
    if place.startswith("shim:"):
        kind = place.removeprefix("shim:")
        library = harness.built(module_of(kernels), kind)
        for name, one in kernels.items():
            arrays = one.arrays(seeds[name])
            harness.run(library, kind, name, *arrays)
            found[name] = arrays[-1]
        return found
    target = Target(place, host="llvm")
    library, device = tvm.compile(module_of(kernels), target), tvm.device(place)
    for name, one in kernels.items():
        given = [tvm.runtime.tensor(array, device) for array in one.arrays(seeds[name])]
        library[name](*given)
        found[name] = given[-1].numpy()
    return found


def differences(
    first: int, count: int, places: Sequence[str], family: str = "threads"
) -> list[str]:
    """What is not as it should be, of kernels from a number on; a line each."""
    told: list[str] = []
    kernels: dict[str, Made] = {}
    seeds: dict[str, int] = {}
    for seed in range(first, first + count):
        kernels[f"k{seed}"] = FAMILIES[family](seed)
        seeds[f"k{seed}"] = seed
    right = {name: wanted(one, seeds[name]) for name, one in kernels.items()}
    for place in places:
        here = {name: one for name, one in kernels.items() if can_be_at(one, place)}
        if not here:
            continue
        try:
            found = results(here, seeds, place)
        except Exception as err:  # which of them it was is found one by one
            if len(kernels) == 1:
                said = " | ".join(str(err).strip().splitlines()[:3])
                words = kernels[f"k{first}"].words
                told.append(f"{first} on {place}: {type(err).__name__}: {said[:300]} ({words})")
            else:
                told += [
                    line for seed in seeds.values()
                    for line in differences(seed, 1, [place], family)
                ]  # fmt: skip
            continue
        told += [
            f"{seeds[name]} on {place}: {np.count_nonzero(found[name] != right[name])} of "
            f"{right[name].size} differ ({kernels[name].words})"
            for name in here if not np.array_equal(found[name], right[name])
        ]  # fmt: skip
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("first", type=int, nargs="?", default=0)
    parser.add_argument("--on", default="interpreter,shim:cuda,opencl,webgpu")
    parser.add_argument("--of", choices=list(FAMILIES), default="threads")
    parser.add_argument("--batch", type=int, default=25)
    args = parser.parse_args()
    counts: collections.Counter[str] = collections.Counter()
    for first in range(args.first, args.first + args.count, args.batch):
        many = min(args.batch, args.first + args.count - first)
        for line in differences(first, many, args.on.split(","), args.of):
            counts[line.split(":")[0].split(" on ")[-1]] += 1
            print(line, flush=True)
    print(f"{args.count} kernels from {args.first} on: {counts.total()} differ", flush=True)


if __name__ == "__main__":
    main()
