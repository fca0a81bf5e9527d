"""The table of backends."""

from __future__ import annotations

import sys
import types

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.backend import BACKENDS, find_backend, register_backend
from tvm.backend.record import Backend
from tvm.error import TargetError
from tvm.ir.module import IRModule
from tvm.runtime.module import Module
from tvm.target import Target
from tvm.target.kind import CPU, KINDS, KindTraits, TargetKind

pytestmark = pytest.mark.cpu


def test_backends_are_found_by_target_kind() -> None:
    found = find_backend("llvm")
    assert found is BACKENDS["llvm"]
    assert found.makes_host_code


def test_unknown_kinds_are_refused_with_near_names() -> None:
    with pytest.raises(TargetError) as caught:
        find_backend("lvm")
    assert "did you mean 'llvm'?" in str(caught.value)
    legal = "c, cuda, hexagon, llvm, metal, nvptx, opencl, rocm, vulkan, webgpu"
    assert f"legal: {legal}" in str(caught.value)


def test_records_name_a_home_that_builds() -> None:
    for record in BACKENDS.values():
        assert isinstance(record, Backend)
        home = record._home()
        assert callable(home.build)
        assert callable(home.emit_text)


TOY_KIND = TargetKind(
    "toy", CPU, ("toy", "cpu"), "speed:int",
    traits=KindTraits(calls_c_library=True, narrow_floats={}, narrow_functions=False),
)  # fmt: skip
TOY = Backend("toy", "toy_backend", makes_host_code=True, target_kind=TOY_KIND)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """An installed package that brings a backend and its kind; the functions that it compiled."""

    class Entry:
        def load(self) -> Backend:
            return TOY

    compiled: list[str] = []

    def build(mod: IRModule, target: Target) -> Module:
        compiled.extend(var.name_hint for var in mod.functions)
        return find_backend("c").build(mod, Target("c"))

    home = types.ModuleType("toy_backend")
    home.build = build  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "toy_backend", home)
    for place in ("tvm.backend", "tvm.target.kind"):
        monkeypatch.setattr(f"{place}.entry_points", lambda group: [Entry()])
    monkeypatch.setattr("tvm.backend.BACKENDS", dict(BACKENDS))
    monkeypatch.setattr("tvm.target.kind.KINDS", dict(KINDS))
    return compiled


def test_installed_packages_may_add_records(toy: list[str]) -> None:
    assert find_backend("toy") is TOY
    target = Target("toy -speed=3")
    assert target.kind is TOY_KIND
    assert target.attrs["speed"] == 3
    assert not target.has_float("float16")
    with pytest.raises(TargetError, match="has no option 'sped'; did you mean 'speed'"):
        Target("toy -sped=3")


@pytest.mark.parametrize("exec_mode", ["bytecode", "compiled"])
def test_an_installed_backend_compiles_graphs(toy: list[str], exec_mode: str) -> None:
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo((3, 4), "float16"))
    with bb.function("main", [x]):
        y = bb.emit(relax.op.nn.softmax(x))
        bb.emit_func_output(bb.emit(relax.op.add(y, y)))
    made = relax.build(bb.get(), "toy", exec_mode=exec_mode)
    values = np.arange(12, dtype="float16").reshape(3, 4) / 4
    found = relax.VirtualMachine(made, tvm.cpu())["main"](values).numpy()
    powers = np.exp(values.astype("float32"))
    wanted = (2 * powers / powers.sum(1, keepdims=True)).astype("float16")
    np.testing.assert_allclose(found, wanted, rtol=4e-3)
    assert toy, "its own code ran"


def test_backends_of_ones_own_are_registered_with_their_kind(toy: list[str]) -> None:
    register_backend(Backend("other", "toy_backend", target_kind=TargetKind("other", CPU, (), "")))
    assert find_backend("other").home == "toy_backend"
    assert Target("other").kind.name == "other"
