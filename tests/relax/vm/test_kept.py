"""Whole models in the compile cache: what hits, what misses, damage, and equal files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvm
from tests.end_to_end.cpus import PLAIN
from tvm import relax
from tvm.backend.llvm import cache, setting
from tvm.relax import vm_build
from tvm.relax.vm import kept
from tvm.target import Target

TARGET = f"llvm -mcpu={PLAIN}"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(vm_build, "_WORTH_KEEPING_SECONDS", -1.0)


def model(scale: float = 1.0, name: str = "x", rows: int | str = 4) -> tvm.IRModule:
    """relu(x @ w + b): a large constant and a small one."""
    rng = np.random.default_rng(0)
    weight = relax.const((rng.standard_normal((96, 64)) * scale).astype("float32"))
    bias = relax.const(rng.standard_normal(64).astype("float32"))
    extent = tvm.tir.Var(rows, "int64") if isinstance(rows, str) else rows
    x = relax.Var(name, relax.TensorStructInfo((extent, 96), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            y = bb.emit(relax.op.add(relax.op.matmul(x, weight), bias))
            out = bb.emit_output(relax.op.nn.relu(y))
        bb.emit_func_output(out)
    return bb.get()


def compiled(mod: tvm.IRModule, mode: str = "compiled") -> relax.VMExecutable:
    return relax.build(mod, Target(TARGET), exec_mode=mode)


def results(made: relax.VMExecutable, rows: int = 4) -> np.ndarray:
    x = np.random.default_rng(1).standard_normal((rows, 96)).astype("float32")
    return relax.VirtualMachine(made, tvm.cpu())["main"](tvm.runtime.tensor(x)).numpy()


@pytest.mark.parametrize("mode", ["compiled", "bytecode"])
@pytest.mark.parametrize("rows", [4, "n"])
def test_a_hit_runs_no_pass_and_gives_the_same(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, mode: str, rows: int | str
) -> None:
    first = compiled(model(rows=rows), mode)
    first.export_library(str(tmp_path / "a.tar"))
    with monkeypatch.context() as patch:
        patch.setattr(vm_build, "_pipeline", lambda *_: pytest.fail("a pass ran"))
        again = compiled(model(rows=rows), mode)
        again.export_library(str(tmp_path / "b.tar"))
        np.testing.assert_array_equal(results(first), results(again))
        assert first.mod.inspect_source() == again.mod.inspect_source()
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    assert (again.mod.variant_builder is None) == isinstance(rows, int)


def test_bytecode_of_a_kept_model() -> None:
    first, again = compiled(model()), compiled(model())
    assert first.mod.bytecode_form is not None
    assert again.mod.bytecode_form is not None
    assert first.mod.bytecode_form().as_text() == again.mod.bytecode_form().as_text()


def test_the_same_module_after_its_own_compilation() -> None:
    mod = model()
    key = kept.model_key(mod, Target(TARGET), "compiled")
    compiled(mod)
    assert kept.model_key(mod, Target(TARGET), "compiled") == key


def test_what_counts() -> None:
    target = Target(TARGET)
    keys = [
        kept.model_key(model(), target, "compiled"),
        kept.model_key(model(2.0), target, "compiled"),
        kept.model_key(model(name="y"), target, "compiled"),
        kept.model_key(model(), target, "bytecode"),
        kept.model_key(model(), Target("llvm -mcpu=haswell"), "compiled"),
    ]
    with tvm.transform.PassContext(opt_level=3):
        keys.append(kept.model_key(model(), target, "compiled"))
    with tvm.transform.PassContext(config={"tir.disable_vectorize": True}):
        keys.append(kept.model_key(model(), target, "compiled"))
    assert None not in keys
    assert len(set(keys)) == len(keys)


def test_weights_that_were_written_to_count() -> None:
    memory = np.ones((96, 64), "float32")
    x = relax.Var("x", relax.TensorStructInfo((4, 96), "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(relax.op.matmul(x, relax.const(memory))))
    mod = bb.get()
    (weight,) = kept.key_text(mod)[1]
    before = kept.model_key(mod, Target(TARGET), "compiled")
    shared = np.shares_memory(weight.numpy(), memory)
    memory[0, 0] = 5
    assert (kept.model_key(mod, Target(TARGET), "compiled") != before) is shared


def test_who_watches_the_passes_sees_them() -> None:
    seen: list[str] = []

    @tvm.instrument.pass_instrument
    class Watch:
        def run_before_pass(self, mod: tvm.IRModule, info: object) -> None:
            seen.append(info.name)

    compiled(model())
    with tvm.transform.PassContext(instruments=[Watch()]):
        compiled(model())
    assert "LegalizeOps" in seen


def test_others_rules_and_the_switch_leave_the_cache_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(TARGET)
    assert kept.model_key(model(), Target("c"), "compiled") is None
    monkeypatch.setenv("TVM_CACHE", "0")
    assert kept.model_key(model(), target, "compiled") is None
    monkeypatch.delenv("TVM_CACHE")
    monkeypatch.setattr(setting, "customised", lambda: True)
    assert kept.model_key(model(), target, "compiled") is None


@pytest.mark.parametrize("harm", ["flip", "cut", "gone", "fifo"])
def test_damaged_constants_count_as_missing(tmp_path: Path, harm: str) -> None:
    wanted = results(compiled(model()))
    key = kept.model_key(model(), Target(TARGET), "compiled")
    assert key is not None
    (path,) = (tmp_path / "cache").glob("*/*.data")
    content = bytearray(path.read_bytes())
    path.unlink()
    if harm == "flip":
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif harm == "cut":
        path.write_bytes(content[:100])
    elif harm == "fifo":
        import os

        os.mkfifo(path)
    assert kept.load_model(key, Target(TARGET)) is None
    np.testing.assert_array_equal(results(compiled(model())), wanted)
    assert kept.load_model(key, Target(TARGET)) is not None


def test_a_model_larger_than_its_share_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(cache, "limit", lambda: 50_000)
    compiled(model())
    assert not list((tmp_path / "cache").glob("*/*.data"))
