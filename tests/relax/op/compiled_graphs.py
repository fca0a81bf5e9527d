"""A random graph compiled for some CPU, level and number of threads, beside the interpreter."""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import numpy as np

import tvm
from tests.end_to_end.cpus import CPUS
from tests.relax.op.random_typed_graphs import TypedGraph
from tests.relax.op.test_random_graphs import _flat as flat
from tvm import relax
from tvm.relax import interp
from tvm.runtime import threads


class Both(NamedTuple):
    """The results of compiled code and of the interpreter, and for what it was compiled."""

    found: list[Any]
    wanted: list[Any]
    note: str


def run_both(graph: TypedGraph, seed: int) -> Both:
    """Run a graph; leaves the number of threads as it chose it."""
    pick = random.Random(seed)
    with np.errstate(all="ignore"):
        wanted = flat(interp.run(graph.module, *graph.arrays))
    cpu, level, cores = pick.choice(CPUS), pick.choice([0, 1, 2, 2, 2, 3]), pick.choice([1, 2, 4])
    target = f"llvm -mcpu={cpu} -num-cores={cores} -opt-level={level}"
    threads.config_threads(pick.choice([1, 2, 3, 4]))
    vm = relax.VirtualMachine(tvm.compile(graph.module, target), tvm.cpu())
    found = flat(vm["main"](*map(tvm.runtime.tensor, graph.arrays)))
    note = f"seed {seed}, {target}, {graph.ops}"
    for n, (a, b) in enumerate(zip(found, wanted, strict=True)):
        assert (a.shape, a.dtype) == (b.shape, b.dtype), f"{note}, result {n}"
    return Both(found, wanted, note)
