"""Pipelines of graph passes: by target, by name, of one's own."""

from __future__ import annotations

import importlib
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tests.covering import long
from tests.relax.graphs import random_graph
from tests.relax.programs import arguments, assert_same, calls, run_interp
from tvm import relax
from tvm.backend import BACKENDS, Backend
from tvm.relax import pipeline
from tvm.relax.expr import DataflowBlock, Function
from tvm.target import Target

pytestmark = pytest.mark.pure

LLVM = Target("llvm")
# where tiles are compared: what they are follows from the CPU
WIDE = Target("llvm -mcpu=skylake-avx512")


@pytest.mark.parametrize("seed", range(4))
def test_every_step_keeps_the_meaning(seed: int) -> None:
    mod = random_graph(np.random.default_rng(seed), 12)
    args = arguments(mod["main"])
    wanted = run_interp(mod, args)
    steps = [
        *pipeline.library_dispatch_passes(LLVM),
        *pipeline.legalize_passes(LLVM),
        *pipeline.dataflow_lower_passes(LLVM),
        *pipeline.finalize_passes(LLVM),
    ]
    with LLVM:
        for step in steps:
            mod = step(mod)
            assert_same(wanted, run_interp(mod, args), 1e-4)
    for func in mod.functions.values():
        assert func.attrs.get("global_symbol") is not None
    blocks = [b for f in mod.functions.values() if isinstance(f, Function) for b in f.body.blocks]
    assert not any(isinstance(block, DataflowBlock) for block in blocks)


@pytest.mark.cpu
def test_what_a_pipeline_has_made_is_compiled_again() -> None:
    """As functions do that torch compiles: items outlive the names that end before them."""
    bb = relax.BlockBuilder()
    n, m = (tvm.tir.Var(name, "int64") for name in "nm")
    x = relax.Var("x", relax.TensorStructInfo((n, m), "float32"))
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(relax.op.add(relax.op.nn.relu(x), relax.const(1.0)))
            result = bb.emit_output(relax.Tuple([y]))
        bb.emit_func_output(result)
    with LLVM:
        lowered = relax.get_pipeline("default")(bb.get())
    vm = relax.VirtualMachine(tvm.compile(lowered, LLVM), tvm.cpu())
    given = np.array([[-1, 2, 3]], "float32")
    (found,) = vm["main"](given)
    np.testing.assert_array_equal(found.numpy(), np.maximum(given, 0) + 1)


def test_pipelines_by_name() -> None:
    mod = random_graph(np.random.default_rng(0), 6)
    zero = relax.get_pipeline()(mod)
    assert all(not name.startswith("relax.") for name in calls(zero))
    with LLVM:
        built = relax.get_pipeline("default_build")(mod)
    default = relax.get_default_pipeline(LLVM)(mod)
    tvm.ir.assert_structural_equal(built, default)


def test_zero_may_warn(caplog: pytest.LogCaptureFixture) -> None:
    x = relax.Var("x", relax.TensorStructInfo((4,), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.shape_of(x)))
    with caplog.at_level("WARNING"):
        relax.get_pipeline("zero", enable_warning=True)(bb.get())
    assert "relax.shape_of" in caplog.text


def test_own_pipelines() -> None:
    name = "test.own"

    @relax.register_pipeline(name)
    def own():
        return relax.transform.LegalizeOps()

    try:
        mod = random_graph(np.random.default_rng(1), 5)
        assert all(not n.startswith("relax.") for n in calls(relax.get_pipeline(name)(mod)))
        with pytest.raises(ValueError, match=r"Pipeline 'test\.own' has already been registered"):
            relax.register_pipeline(name)
    finally:
        del pipeline.PIPELINE_MAP[name]


def test_rejects_an_unknown_name() -> None:
    with pytest.raises(ValueError) as caught:
        relax.get_pipeline("zeor")
    assert str(caught.value).startswith("Unknown pre-built pipeline 'zeor'; did you mean 'zero'?")


LISTS = {
    "library_dispatch_passes": "library dispatch passes",
    "legalize_passes": "legalization passes",
    "dataflow_lower_passes": "dataflow lowering passes",
    "finalize_passes": "finalization passes",
}
OWNERS = {
    "cuda": "cuda", "rocm": "rocm", "metal": "gpu_generic", "llvm": "cpu_generic",
    "opencl -device=adreno": "adreno",
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("kind", ["vulkan", "opencl", "webgpu", "c", "hexagon"])
def test_rejects_a_target_without_lists(name: str, kind: str) -> None:
    with pytest.raises(ValueError) as caught:
        getattr(pipeline, name)(Target(kind))
    assert str(caught.value) == f"Target {kind} is not yet supported by {LISTS[name]}."


@pytest.mark.parametrize(("kind", "owner"), OWNERS.items())
def test_each_backend_has_lists_of_its_own(kind: str, owner: str) -> None:
    target = Target(kind)
    lists = importlib.import_module(f"tvm.relax.backend.{owner}.pipeline")
    for name in LISTS:
        own = getattr(lists, name)
        assert own is getattr(getattr(relax.backend, owner), name)
        found = getattr(pipeline, name)(target)
        assert [p.info.name for p in found] == [p.info.name for p in own(target)]
    graphs = [p.info.name for p in pipeline.finalize_passes(target)]
    assert ("RewriteCUDAGraph" in graphs) == (kind == "cuda")


def test_targets_without_lists_compile_by_the_generic_ones() -> None:
    mod = random_graph(np.random.default_rng(0), 6)
    like = {"c": "llvm", "webgpu": "metal", "opencl": "metal", "vulkan": "metal"}
    for kind, other in like.items():
        made = relax.get_default_pipeline(Target(kind))
        assert made._lists is relax.get_default_pipeline(Target(other))._lists
    with Target("c"):
        assert relax.get_pipeline("default_build")(mod)["main"].attrs["global_symbol"] == "main"
    with pytest.raises(ValueError) as caught:
        relax.get_default_pipeline(Target("hexagon"))
    assert str(caught.value) == (
        "Target hexagon is not yet supported by default pipeline. "
        "Please lower and build the IRModule manually."
    )


def test_a_backend_of_users_brings_its_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with the four functions, named by the record of the backend."""
    lists = types.ModuleType("own_lists")
    ran: list[str] = []

    def note(name: str, passes: list[tvm.transform.Pass]) -> Any:
        def give(target: Target) -> list[tvm.transform.Pass]:
            ran.append(f"{name} {target.kind}")
            return passes

        return give

    like = {name: getattr(pipeline, name)(LLVM) for name in LISTS}
    for name, passes in like.items():
        setattr(lists, name, note(name, passes))
    monkeypatch.setitem(sys.modules, "own_lists", lists)
    record = Backend("ext_dev", "nowhere", graph_passes="own_lists")
    monkeypatch.setitem(BACKENDS, "ext_dev", record)
    target = Target("ext_dev")
    assert pipeline.finalize_passes(target) is like["finalize_passes"]
    ran.clear()
    mod = relax.get_default_pipeline(target)(random_graph(np.random.default_rng(0), 6))
    assert mod["main"].attrs["global_symbol"] == "main"
    assert ran == [f"{name} ext_dev" for name in LISTS]


@pytest.mark.slow
@pytest.mark.cpu
@pytest.mark.parametrize("prepack", [long(False), True])
def test_tuned_for_fixed_shapes(prepack: bool, tmp_path: Path) -> None:
    x, w = (relax.Var(n, relax.TensorStructInfo((16, 16), "float32")) for n in "xw")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, w], attrs={"num_input": 1}):
        with bb.dataflow():
            out = bb.emit_output(relax.op.nn.relu(bb.emit(relax.op.matmul(x, w))))
        bb.emit_func_output(out)
    tuned = relax.get_pipeline(
        "static_shape_tuning", total_trials=4, target="llvm -num-cores=2", work_dir=str(tmp_path),
        cpu_weight_prepack=prepack,
    )(bb.get())  # fmt: skip
    assert (tmp_path / "database_tuning_record.json").read_text().count("\n") == 4
    vm = relax.VirtualMachine(tvm.compile(tuned, "llvm"), tvm.cpu())
    a, b = np.random.default_rng(0).standard_normal((2, 16, 16)).astype("float32")
    weights = [tvm.runtime.tensor(b)]
    if prepack:
        weights = list(vm["main_transform_params"](weights))
    found = vm["main"](tvm.runtime.tensor(a), *weights).numpy()
    np.testing.assert_allclose(found, np.maximum(a @ b, 0), rtol=1e-4, atol=1e-5)
    # what is known is applied without a search
    again = relax.get_pipeline(
        "static_shape_tuning", total_trials=0, target="llvm -num-cores=2", work_dir=str(tmp_path),
        cpu_weight_prepack=prepack,
    )(bb.get())  # fmt: skip
    tvm.ir.assert_structural_equal(tuned, again)


def _linear(rows: object, weight: np.ndarray | None) -> tvm.IRModule:
    """x @ w + x, with a weight that is constant or else the second parameter."""
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((rows, 48), "float32"))
    w = relax.Var("w", relax.TensorStructInfo((48, 48), "float32"))
    with bb.function("main", [x] if weight is not None else [x, w], {"num_input": 1}):
        with bb.dataflow():
            y = bb.emit(relax.op.matmul(x, w if weight is None else relax.const(weight)))
            out = bb.emit_output(relax.op.add(y, x))
        bb.emit_func_output(out)
    return bb.get()


def _kernels(func: Function) -> list[relax.Call]:
    values = [b.value for block in func.body.blocks for b in block.bindings]
    return [v for v in values if isinstance(v, relax.Call) and v.op.name == "relax.call_tir"]


@pytest.mark.parametrize("rows", [1, 7, 64, "symbolic"])
def test_constant_weights_are_packed_while_compiling(rows: int | str) -> None:
    rng = np.random.default_rng(3)
    weight = rng.standard_normal((48, 48)).astype("float32")
    mod = _linear(tvm.tir.Var("m", "int64") if rows == "symbolic" else rows, weight)
    with WIDE:
        for step in pipeline.legalize_passes(WIDE):
            mod = step(mod)
    (call,) = _kernels(mod["main"])
    (packed,) = [f.data.numpy() for f in call.args[1].fields if isinstance(f, relax.Constant)]
    assert packed.ndim == 3
    assert sorted(packed.ravel()) == sorted(weight.ravel())
    assert not [v for v in mod.functions if "prepack" in v.name_hint and "weight" in v.name_hint]
    for m in (0, 1, 9) if rows == "symbolic" else (rows,):
        x = rng.standard_normal((m, 48)).astype("float32")
        (found,) = [run_interp(mod, [x])]
        np.testing.assert_allclose(found, x @ weight + x, rtol=1e-4, atol=1e-4)


def test_weights_that_are_parameters_are_packed_where_they_are_transformed() -> None:
    """Layouts are free to choose before `LiftTransformParams` has been run."""
    t = relax.transform
    mod = _linear(tvm.tir.Var("m", "int64"), None)
    with WIDE:
        for step in (
            t.LegalizeOps(), t.AnnotateTIROpPattern(), t.FuseOps(), t.FuseTIR(),
            t.AttachAttrLayoutFreeBuffers(),
            tvm.dlight.ApplyDefaultSchedule(*tvm.dlight.cpu.default_rules()),
            t.SplitLayoutRewritePreproc(), t.LiftTransformParams(),
        ):  # fmt: skip
            mod = step(mod)
    assert mod["main"].params[1].struct_info.shape[0] == 1  # panels, rows, columns
    assert len(_kernels(mod["main_transform_params"])) == 1
    rng = np.random.default_rng(4)
    x, w = (rng.standard_normal((n, 48)).astype("float32") for n in (5, 48))
    machine = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    (packed,) = machine["main_transform_params"]([tvm.runtime.tensor(w)])
    found = machine["main"](tvm.runtime.tensor(x), packed)
    np.testing.assert_allclose(found.numpy(), x @ w + x, rtol=1e-4, atol=1e-4)
