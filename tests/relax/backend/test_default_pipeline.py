"""The lists of a backend as one pass, whole and in two halves."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.relax.graphs import random_graph
from tests.relax.programs import arguments, assert_same, calls, run_interp
from tvm.relax.backend import cpu_generic
from tvm.relax.backend.default_pipeline import DefaultPipeline
from tvm.target import Target

pytestmark = pytest.mark.pure
LLVM = Target("llvm")


def test_the_halves_are_the_whole() -> None:
    mod = random_graph(np.random.default_rng(5), 8)
    made = DefaultPipeline(LLVM, cpu_generic)
    args = arguments(mod["main"])
    wanted = run_interp(mod, args)
    graph = made.graph(mod)
    assert all(not name.startswith("relax.nn") for name in calls(graph))
    assert_same(wanted, run_interp(graph, args), 1e-4)
    tvm.ir.assert_structural_equal(made.lower(graph), made(mod))


def test_what_was_lowered_before_stays() -> None:
    made = DefaultPipeline(LLVM, cpu_generic)
    lowered = made(random_graph(np.random.default_rng(5), 8))
    again = made.lower(lowered)
    assert again["main"] is lowered["main"]
