"""C modules: run, written, exported, loaded again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm.backend.c import CSourceModule
from tvm.error import TVMError
from tvm.runtime import linker, load_module, tensor
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@T.prim_func
def add_one(A: T.Buffer((16,), "float32"), B: T.Buffer((16,), "float32")):
    for i in T.parallel(16):
        B[i] = A[i] + T.float32(1)


def module(name: str = "main", target: str = "c") -> CSourceModule:
    func = add_one.with_attr("global_symbol", name)
    return tvm.tir.build(tvm.IRModule({name: func}), target=target)


def check(made: object) -> None:
    a, b = tensor(np.arange(16, dtype="float32")), tensor(np.zeros(16, "float32"))
    made["main"](a, b)
    np.testing.assert_array_equal(b.numpy(), np.arange(16) + 1)
    made(a, b)


def test_runs_in_this_process() -> None:
    made = module()
    check(made)
    assert made.kind == made.type_key == "c"
    assert made.inspect_source() == made.get_source("c")
    with pytest.raises(tvm.error.ShapeError, match="legal: 16, as in float32\\[16\\]"):
        made["main"](tensor(np.zeros(4, "float32")), tensor(np.zeros(16, "float32")))


@pytest.mark.parametrize("suffix", [".so", ".tar", ".o"])
def test_what_is_exported_is_loaded(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"program{suffix}"
    module().export_library(path)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]
    loaded = load_module(path)
    check(loaded)
    assert loaded.function_names() == ["main"]


def test_the_source_is_a_whole_program(tmp_path: Path) -> None:
    path = tmp_path / "program.c"
    module().write_to_file(path)
    assert path.read_text() == module().inspect_source()
    check(load_module(path))
    linker.create_shared(str(tmp_path / "by_hand.so"), [str(path)], ["-O1"])
    check(load_module(tmp_path / "by_hand.so"))


def test_modules_of_both_kinds_are_exported_as_one(tmp_path: Path) -> None:
    root = module("llvm_one", "llvm")
    root.import_module(module())
    root.import_module(module("two"))
    root.export_library(tmp_path / "both.so")
    loaded = load_module(tmp_path / "both.so")
    assert loaded.function_names() == ["llvm_one", "main", "two"]
    check(loaded)
    root.import_module(module())
    with pytest.raises(TVMError, match="function main in more than one of the modules"):
        root.export_library(tmp_path / "both.so")


def test_without_a_compiler_there_is_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(linker, "get_cc", lambda: None)
    made = module()
    assert "int32_t __tvm_ffi_main(" in made.inspect_source()
    assert not made.is_runnable()
    made.export_library(tmp_path / "program.tar")
    with pytest.raises(TVMError, match="no C compiler on this system"):
        made["main"]


def test_refuses_unknown_forms(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="as 'ptx'"):
        module().inspect_source("ptx")
    with pytest.raises(ValueError, match="legal: c, cc, o, obj"):
        module().write_to_file(tmp_path / "program.txt")


def test_an_unknown_function_of_c_is_named() -> None:
    @T.prim_func
    def main(A: T.Buffer((1,), "int32")):
        A[0] = T.call_extern("int32", "nobody_has_this_function")

    made = tvm.tir.build(tvm.IRModule({"main": main}), target="c")
    with pytest.raises(TVMError, match="unknown external function nobody_has_this_function"):
        made["main"](tensor(np.zeros(1, "int32")))


def test_bytes_come_back() -> None:
    @T.prim_func
    def twice(x: T.int32):
        T.func_attr({"global_symbol": "twice"})
        T.ret(x * 2)

    made = tvm.tir.build(twice, target="c")
    assert made.is_binary_serializable()
    again = tvm.ir.load_json(tvm.ir.save_json(made))
    assert again.kind == "c"
    assert again["twice"](21) == 42
