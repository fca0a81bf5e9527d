"""Graphs of layers over images and tokens, compiled for any CPU: as the interpreter says."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
import pytest

import tvm
from tests.end_to_end.cpus import CPUS
from tests.relax.op.random_image_graphs import image_graph
from tests.relax.op.test_random_graphs import _flat as flat
from tvm import relax
from tvm.relax import interp
from tvm.runtime import threads

pytestmark = pytest.mark.cpu
CLOSE = 2e-4  # of the largest element


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    yield
    threads.config_threads(0)


def check(seed: int) -> None:
    """One graph, for some CPU, level and number of threads."""
    graph, pick = image_graph(seed, 3 + seed % 5), random.Random(seed)
    with np.errstate(all="ignore"):
        wanted = flat(interp.run(graph.module, *graph.arrays))
    cpu, level, cores = pick.choice(CPUS), pick.choice([0, 1, 2, 2, 2, 3]), pick.choice([1, 2, 4])
    target = f"llvm -mcpu={cpu} -num-cores={cores} -opt-level={level}"
    threads.config_threads(pick.choice([1, 2, 3, 4]))
    vm = relax.VirtualMachine(tvm.compile(graph.module, target), tvm.cpu())
    found = flat(vm["main"](*map(tvm.runtime.tensor, graph.arrays)))
    for n, (a, b) in enumerate(zip(found, wanted, strict=True)):
        note = f"seed {seed}, {target}, result {n}, {graph.ops}"
        assert (a.shape, a.dtype) == (b.shape, b.dtype), note
        near = CLOSE * max(1.0, float(np.abs(b).max()))
        np.testing.assert_allclose(a, b, rtol=0, atol=near, err_msg=note)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 4, 3017])
def test_some(seed: int) -> None:
    check(seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(200_000, 202_000, 20))
def test_many(first: int) -> None:
    for seed in range(first, first + 20):
        check(seed)
