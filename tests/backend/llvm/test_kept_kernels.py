"""Kernels in the compile cache: what hits, what misses, and that the code is the same."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvm
from tests.end_to_end.cpus import PLAIN
from tvm import tir
from tvm.backend.llvm import cache, codegen, kept_kernels
from tvm.backend.llvm.module import LLVMModule
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.target import Target

pytestmark = pytest.mark.cpu

TARGET = f"llvm -mcpu={PLAIN}"


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TVM_CACHE_DIR", str(tmp_path / "cache"))


def program(factor: float = 2.0) -> IRModule:
    """B = take(A * factor, I): a parallel kernel, and one that checks its indices."""

    @I.ir_module
    class Mod:
        @T.prim_func(private=True)
        def scale(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")):
            for i in T.parallel(64):
                with T.block("scale"):
                    v = T.axis.spatial(64, i)
                    C[v] = A[v] * T.float32(factor)

        @T.prim_func(private=True)
        def take(
            C: T.Buffer((64,), "float32"),
            I: T.Buffer((16,), "int32"),
            B: T.Buffer((16,), "float32"),
        ):
            for i in range(16):
                with T.block("take"):
                    v = T.axis.spatial(16, i)
                    B[v] = C[I[v]]

        @T.prim_func
        def main(
            A: T.Buffer((64,), "float32"),
            I: T.Buffer((16,), "int32"),
            B: T.Buffer((16,), "float32"),
        ):
            T.func_attr({"global_symbol": "main"})
            C = T.alloc_buffer((64,), "float32")
            Mod.scale(A.data, C.data)
            Mod.take(C.data, I.data, B.data)

    return Mod


def renamed(mod: IRModule, old: str, new: str) -> IRModule:
    """The module where a function has another name."""
    var = tvm.ir.GlobalVar(new)
    functions = {}
    for known, func in mod.functions.items():

        def visit(node: object, old: str = old) -> object:
            if isinstance(node, tir.Call) and getattr(node.op, "name_hint", "") == old:
                return tir.Call(node.dtype, var, node.args)
            return None

        body = tir.stmt_functor.ir_transform(func.body, None, visit, ["tir.Call"])
        functions[var if known.name_hint == old else known] = func.with_body(body)
    return IRModule(functions, attrs=mod.attrs)


def built(mod: IRModule) -> LLVMModule:
    made = tvm.tir.build(mod, Target(TARGET))
    assert isinstance(made, LLVMModule)
    return made


def run(made: LLVMModule, last: int = 63) -> np.ndarray:
    a = tvm.runtime.tensor(np.arange(64, dtype="float32"))
    places = np.arange(16, dtype="int32")
    places[-1] = last
    out = tvm.runtime.tensor(np.zeros(16, "float32"))
    made["main"](a, tvm.runtime.tensor(places), out)
    return out.numpy()


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the functions that were written, not taken from the cache."""
    names: list[str] = []
    plain = codegen._emit_function

    def note(module, signature, func, places):
        names.append(signature.name)
        return plain(module, signature, func, places)

    monkeypatch.setattr(codegen, "_emit_function", note)
    return names


def test_a_changed_kernel_alone_is_written_again(written: list[str]) -> None:
    first = built(program())
    assert sorted(written) == ["__tvm_ffi_main", "scale", "take"]
    written.clear()
    changed = built(program(3.0))
    assert sorted(written) == ["__tvm_ffi_main", "scale"]
    np.testing.assert_array_equal(run(changed), run(first) * 1.5)
    written.clear()
    again = built(program())
    assert written == ["__tvm_ffi_main"]
    assert again.inspect_source() == first.inspect_source()


def test_the_code_is_that_without_a_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = built(program())
    monkeypatch.setenv("TVM_CACHE", "0")
    plain = built(program())
    assert len(plain.inspect_source()) == len(kept.inspect_source())
    assert sorted(plain.inspect_source().split("\n")) == sorted(kept.inspect_source().split("\n"))


def test_errors_tell_the_name_of_the_kernel(written: list[str]) -> None:
    built(program())
    written.clear()
    other = built(renamed(program(), "take", "pick"))
    assert "pick" in written
    with pytest.raises(Exception, match="pick"):
        run(other, last=64)
    with pytest.raises(Exception, match="take"):
        run(built(program()), last=64)


def test_kernels_with_a_symbol_or_a_result_or_calls_are_none() -> None:
    mod = program()
    marked = kept_kernels.with_kept_kernels(
        tir.transform.BindTarget(Target(TARGET))(mod), Target(TARGET)
    )
    found = {v.name_hint: kept_kernels.KEEP in f.attrs for v, f in marked.functions.items()}
    assert found == {"scale": True, "take": True, "main": False}


def test_debug_information_is_not_kept(written: list[str]) -> None:
    with tvm.transform.PassContext(config={"tir.enable_debug": True}):
        built(program())
        written.clear()
        built(program())
    assert sorted(written) == ["__tvm_ffi_main", "scale", "take"]


def test_a_kernel_with_other_parameters_is_made_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = run(built(program()))
    load = cache.load

    def other(key: str) -> bytes | None:
        content = load(key)
        if content is not None and content.startswith(b'[["ptr"'):
            return content.replace(b'[["ptr"', b'[["i32", "ptr"', 1)
        return content

    monkeypatch.setattr(cache, "load", other)
    np.testing.assert_array_equal(run(built(program())), wanted)
