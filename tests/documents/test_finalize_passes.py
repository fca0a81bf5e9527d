"""The lists of passes for graphs: one function a step, one folder a target."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import tvm
from tests.relax.graphs import random_graph
from tests.relax.programs import arguments, assert_same, run_interp
from tvm import relax
from tvm.ir.transform import Pass
from tvm.relax import pipeline
from tvm.relax.pipeline import finalize_passes
from tvm.target import Target

pytestmark = pytest.mark.pure
SUPPORTED = {
    "cuda": relax.backend.cuda, "rocm": relax.backend.rocm, "metal": relax.backend.gpu_generic,
    "llvm -mcpu=core-avx2": relax.backend.cpu_generic,
    "opencl -device=adreno": relax.backend.adreno,
}  # fmt: skip


@pytest.mark.parametrize("kind", SUPPORTED)
def test_a_list_of_passes_from_the_targets_folder(kind: str) -> None:
    target = Target(kind)
    found = finalize_passes(target)
    assert isinstance(found, list)
    assert all(isinstance(one, Pass) for one in found)
    own: Any = SUPPORTED[kind]
    assert [p.info.name for p in found] == [p.info.name for p in own.finalize_passes(target)]
    assert list(inspect.signature(finalize_passes).parameters) == ["target"]


@pytest.mark.parametrize("kind", SUPPORTED)
def test_an_empty_module_passes_through(kind: str) -> None:
    with tvm.transform.PassContext(opt_level=3):
        out = tvm.transform.Sequential(finalize_passes(Target(kind)))(tvm.IRModule())
    assert len(out.functions) == 0


def test_in_order_they_make_a_program_for_the_machine() -> None:
    target = Target("llvm")
    mod = random_graph(np.random.default_rng(2), 8)
    args = arguments(mod["main"])
    wanted = run_interp(mod, args)
    with target:
        for step in (
            pipeline.library_dispatch_passes, pipeline.legalize_passes,
            pipeline.dataflow_lower_passes, finalize_passes,
        ):  # fmt: skip
            mod = tvm.transform.Sequential(step(target))(mod)
    assert_same(wanted, run_interp(mod, args), 1e-4)
    assert mod["main"].attrs["global_symbol"] == "main"
    assert "R.builtin.alloc_tensor" not in str(mod["main"])  # memory is planned
    default = relax.get_default_pipeline(target)(random_graph(np.random.default_rng(2), 8))
    tvm.ir.assert_structural_equal(mod, default)


def test_other_targets_are_refused() -> None:
    with pytest.raises(ValueError, match=r"^Target vulkan .*by finalization passes\.$"):
        finalize_passes(Target("vulkan"))
