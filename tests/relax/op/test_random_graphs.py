"""Graphs of 5 to 50 random operators: what is compiled computes what the interpreter says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.op.random_graphs import USABLE, Graph, random_graph
from tvm import relax
from tvm.relax import interp

GRAPHS = 1000  # of which the first few run each time


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tuple) or (hasattr(value, "__len__") and not hasattr(value, "shape")):
        return [leaf for part in value for leaf in _flat(part)]
    return [value.numpy() if hasattr(value, "numpy") else value]


def _sensitivity(graph: Graph, wanted: list[Any]) -> list[Any]:
    """How far results move when inputs move by a few units in the last place.

    Where elements are nearly equal a norm divides by almost nothing; rounding moves it as much.
    """
    rng = np.random.default_rng(0)
    moved = [np.zeros(np.shape(value)) for value in wanted]
    for _ in range(2):
        near = [
            (x * (1 + 1e-6 * rng.choice([-1, 1], x.shape))).astype(x.dtype)
            if x.dtype.kind == "f" else x
            for x in graph.arrays
        ]  # fmt: skip
        for k, value in enumerate(_flat(interp.run(graph.module, *near))):
            gap = np.abs(value.astype("float64") - wanted[k].astype("float64"))
            moved[k] = np.maximum(moved[k], np.nan_to_num(gap, posinf=0))
    return moved


def compare(seed: int, longest: int = 50) -> None:
    """The results of graph `seed`, interpreted and compiled."""
    graph = random_graph(seed, longest=longest)
    assert relax.analysis.well_formed(graph.module)
    wanted = _flat(interp.run(graph.module, *graph.arrays))
    vm = relax.VirtualMachine(tvm.compile(graph.module, target="llvm"), tvm.cpu())
    found = _flat(vm["main"](*map(tvm.runtime.tensor, graph.arrays)))
    for a, b, moved in zip(found, wanted, _sensitivity(graph, wanted), strict=True):
        assert a.dtype == b.dtype, graph.ops
        atol = 2e-3 + 20 * float(np.max(moved, initial=0))
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=atol, err_msg=str(graph.ops))


@pytest.mark.cpu
@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_graphs(seed: int) -> None:
    compare(seed, longest=8)


@pytest.mark.cpu
@pytest.mark.long
@pytest.mark.parametrize("first", range(3, GRAPHS, 20))
def test_many_graphs(first: int) -> None:
    for seed in range(first, min(first + 20, GRAPHS)):
        compare(seed)


@pytest.mark.pure
def test_graphs_reach_nearly_every_operator() -> None:
    seen = {name for seed in range(60) for name in random_graph(seed).ops}
    assert len(seen) >= 0.9 * len({case.op for case in USABLE})
