"""Compiled modules: functions, errors, sources, other machines."""

from __future__ import annotations

import platform
from pathlib import Path

import numpy as np
import pytest

from tests.backend.llvm.kernel import i32, packed
from tvm.backend.llvm.module import build, emit_text
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.runtime import tensor
from tvm.runtime.files import FileError
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer

pytestmark = pytest.mark.cpu


def twice(source: Buffer, target: Buffer) -> s.Stmt:
    i = e.Var("i", "int32")
    double = e.Add(e.BufferLoad(source, [i]), e.BufferLoad(source, [i]))
    return s.For(i, 0, 64, s.ForKind.SERIAL, s.BufferStore(target, double, [i]))


def module(target: str = "llvm"):
    return build(IRModule({"twice": packed("twice", 2, twice, "float32", "float32")}), target)


def test_functions_run() -> None:
    made = module()
    values, out = np.arange(64, dtype="float32"), np.zeros(64, "float32")
    result = tensor(out)
    made["twice"](tensor(values), result)
    np.testing.assert_array_equal(result.numpy(), values * 2)
    assert made.function_names() == ["twice"]
    assert made.kind == "llvm"
    assert made.is_runnable()
    assert made.entry_func is made["twice"]


def test_a_function_outlives_its_module() -> None:
    func = module()["twice"]
    result = tensor(np.zeros(64, "float32"))
    func(tensor(np.ones(64, "float32")), result)
    assert result.numpy().sum() == 128


def test_wrong_counts_are_refused_with_both_numbers() -> None:
    with pytest.raises(TypeError, match=r"^twice: 1 arguments given, legal: 2$"):
        module()["twice"](tensor(np.ones(64, "float32")))


def test_sources() -> None:
    made = module()
    assert "define i32 @__tvm_ffi_twice" in made.inspect_source()
    assert made.get_source("ll") == made.inspect_source()
    assert "__tvm_ffi_twice:" in made.inspect_source("asm")
    assert "define" in made.inspect_source("opt")
    with pytest.raises(ValueError, match="legal: ll, opt, asm"):
        made.inspect_source("cuda")


def test_text_without_compiling() -> None:
    func = packed("twice", 2, twice, "float32", "float32")
    text = emit_text(IRModule({"twice": func}), "llvm -mtriple=riscv64-unknown-linux-gnu")
    assert 'target triple = "riscv64-unknown-linux-gnu"' in text


@pytest.mark.parametrize("form", ["ll", "o", "s"])
def test_written_forms(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"m.{form}"
    module().write_to_file(str(path))
    assert path.stat().st_size > 100
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


def test_a_place_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="legal: a file name in a folder that exists"):
        module().write_to_file(str(tmp_path / "missing" / "m.ll"))
    with pytest.raises(ValueError, match="format 'xyz'"):
        module().write_to_file(str(tmp_path / "m.xyz"))


def test_code_for_another_machine_is_made_but_not_run() -> None:
    other = "x86_64" if platform.machine() in ("aarch64", "arm64") else "aarch64"
    made = module(f"llvm -mtriple={other}-linux-gnu")
    assert not made.is_runnable()
    with pytest.raises(TVMError) as caught:
        made["twice"]
    assert str(caught.value).startswith(f"call of a compiled function\n  found: code for {other}")


def test_functions_with_buffers_are_refused() -> None:
    from tvm.tir.buffer import decl_buffer
    from tvm.tir.function import PrimFunc

    b = decl_buffer((4,), "int32", "b")
    func = PrimFunc([b], s.BufferStore(b, i32(1), [i32(0)]))
    with pytest.raises(TVMError, match=r"tvm\.compile lowers and builds in one step"):
        build(IRModule({"f": func}), "llvm")
