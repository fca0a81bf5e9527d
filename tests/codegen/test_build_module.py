"""Code generators of users: what they get, what they may give, what becomes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.codegen import build_module
from tvm.codegen.build_module import CODEGENS, CodeGenBase, find_codegen, register_codegen
from tvm.runtime import Module
from tvm.script import ir as I
from tvm.script import tir as T

pytestmark = [pytest.mark.cpu, pytest.mark.filterwarnings("ignore:build is deprecated")]


@T.prim_func
def shift(a: T.handle, b: T.handle, k: T.float32):
    n = T.int32()
    A = T.match_buffer(a, (n, 4))
    B = T.match_buffer(b, (n, 4))
    for i, j in T.grid(n, 4):
        with T.block("B"):
            vi, vj = T.axis.remap("SS", [i, j])
            B[vi, vj] = A[vi, vj] + k


@I.ir_module
class Two:
    @T.prim_func
    def first(A: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "first"})
        for i in range(4):
            A[i] = A[i] + 1.0

    @T.prim_func
    def second(A: T.Buffer((4,), "float32")):
        T.func_attr({"global_symbol": "second"})
        for i in range(4):
            A[i] = A[i] * 2.0


class HandWritten(CodeGenBase):
    """C as a person would write it: the function has the name of the PrimFunc."""

    def generate_code(self, stmt: tir.PrimFunc, target: tvm.target.Target) -> str:
        return (
            "#include <stdint.h>\n"
            "void shift(const float* a, float* b, float k, int32_t n) {\n"
            "  for (int i = 0; i < n * 4; ++i) b[i] = a[i] + k;\n"
            "}\n"
        )


class Listing(CodeGenBase):
    language = "listing"

    def generate_code(self, stmt: tir.PrimFunc, target: tvm.target.Target) -> str:
        return f"{stmt.attrs['global_symbol']}: {type(stmt.body).__name__} for {target.kind}"


def build(mod: Any, codegen: Any, target: str = "llvm") -> Module:
    made = tvm.build(mod, target=target, codegen=codegen)
    assert isinstance(made, Module)
    return made


def run_shift(module: Module) -> None:
    a = np.arange(12, dtype="float32").reshape(3, 4)
    out = tvm.runtime.tensor(np.zeros((3, 4), "float32"))
    module["shift"](tvm.runtime.tensor(a), out, 2.5)
    np.testing.assert_array_equal(out.numpy(), a + np.float32(2.5))


def test_a_generator_gets_flat_functions_of_plain_parameters() -> None:
    seen: list[tir.PrimFunc] = []

    class Look(CodeGenBase):
        def generate_code(self, stmt: tir.PrimFunc, target: tvm.target.Target) -> None:
            assert target.kind.name == "llvm"
            seen.append(stmt)

    made = build(shift, Look())
    (func,) = seen
    assert [str(p.dtype) for p in func.params] == ["handle", "handle", "float32", "int32"]
    assert not func.buffer_map
    assert "with T.block" not in str(func)
    assert func.attrs["global_symbol"] == "shift"
    assert made.function_names() == []  # nothing was generated


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_c_runs_and_is_checked(target: str) -> None:
    made = build(shift, HandWritten(), target)
    assert made.inspect_source() == HandWritten().generate_code(shift, tvm.target.Target("c"))
    run_shift(made)
    wrong = [tvm.runtime.tensor(np.zeros((n, 4), "float32")) for n in (3, 2)]
    with pytest.raises(ValueError, match="dimension 0 is 2"):
        made["shift"](*wrong, 1.0)


@pytest.mark.parametrize("suffix", [".so", ".tar"])
def test_c_is_exported(suffix: str, tmp_path: Path) -> None:
    file = str(tmp_path / f"shift{suffix}")
    build(shift, HandWritten()).export_library(file)
    run_shift(tvm.runtime.load_module(file))


def test_cpp_runs() -> None:
    class Cpp(CodeGenBase):
        language = "cc"

        def generate_code(self, stmt: tir.PrimFunc, target: tvm.target.Target) -> str:
            return (
                "#include <algorithm>\n#include <cstdint>\n"
                'extern "C" void shift(const float* a, float* b, float k, int32_t n) {\n'
                "  std::transform(a, a + n * 4, b, [k](float x) { return x + k; });\n}\n"
            )

    run_shift(build(shift, Cpp()))


def test_text_may_have_the_packed_convention_itself() -> None:
    class Packed(CodeGenBase):
        def generate_code(self, stmt: tir.PrimFunc, target: tvm.target.Target) -> str:
            return (
                "#include <tvm/ffi/c_api.h>\n"
                "int __tvm_ffi_shift(void* s, TVMFFIAny* a, int n, TVMFFIAny* r) {\n"
                "  r->type_index = 1; r->v_int64 = n; return 0;\n}\n"
            )

    assert build(shift, Packed())["shift"](1, 2, 3) == 3


def test_functions_of_a_module_become_one_text(tmp_path: Path) -> None:
    made = build(Two, Listing())
    assert made.inspect_source() == "first: For for llvm\nsecond: For for llvm"
    with pytest.raises(tvm.TVMError, match="code in listing, which does not run here"):
        made["first"](1)
    file = str(tmp_path / "two.so")
    made.export_library(file)
    (kept,) = tvm.runtime.load_module(file).imports
    assert kept.inspect_source() == made.inspect_source()
    made.write_to_file(str(tmp_path / "two.txt"))
    assert (tmp_path / "two.txt").read_text() == made.inspect_source()


def test_bytes_are_kept(tmp_path: Path) -> None:
    class Binary(CodeGenBase):
        language = "bin"

        def generate_code(self, stmt: tir.PrimFunc, target: tvm.target.Target) -> bytes:
            return bytes([0, 255, 7])

    file = str(tmp_path / "two.so")
    build(Two, Binary()).export_library(file)
    (kept,) = tvm.runtime.load_module(file).imports
    assert kept.functions == {"first": bytes([0, 255, 7]), "second": bytes([0, 255, 7])}  # type: ignore[attr-defined]


class Interpreted(Module):
    kind = "interpreted"

    def __init__(self, func: tir.PrimFunc, name: str) -> None:
        super().__init__()
        self.func, self.name = func, name

    def function_names(self) -> list[str]:
        return [self.name]

    def _find(self, name: str) -> Any:
        if name != self.name:
            return None
        return lambda tensor: tensor.copyfrom(tensor.numpy() + 1)


def test_a_generator_may_give_modules() -> None:
    class Modules(CodeGenBase):
        def generate_code(self, stmt: tir.PrimFunc, target: tvm.target.Target) -> Module:
            return Interpreted(stmt, str(stmt.attrs["global_symbol"]))

    made = build(Two, Modules())
    assert [m.kind for m in made.imports] == ["interpreted"] * 2
    tensor = tvm.runtime.tensor(np.zeros(4, "float32"))
    made["second"](tensor)
    assert tensor.numpy().tolist() == [1.0] * 4


def test_kernels_of_a_gpu_go_to_the_generator() -> None:
    @T.prim_func
    def first(A: T.Buffer((4,), "float32")):
        for i in T.thread_binding(4, thread="threadIdx.x"):
            A[i] = A[i] + 1.0

    made = build(first, Listing(), "cuda")
    assert made.kind == "llvm"  # the launch is ours
    assert made.function_names() == ["first"]
    assert made.imports[0].inspect_source() == "first_kernel: DeclBuffer for cuda"


def test_passes_of_users_come_first() -> None:
    def empty(stmt: tir.Stmt) -> tir.Stmt:
        return tir.Evaluate(tir.IntImm("int32", 0))

    with tvm.transform.PassContext() as ctx:
        ctx.add_custom_pass(empty, "empty")
        assert build(Two, Listing()).inspect_source().count("Evaluate") == 2


def test_generators_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Entry:
        name = "from.elsewhere"

        def load(self) -> type[CodeGenBase]:
            return Listing

    monkeypatch.setattr(build_module, "entry_points", lambda group: [Entry()])
    monkeypatch.setattr(build_module, "CODEGENS", {})
    assert isinstance(find_codegen("from.elsewhere"), Listing)
    assert "for llvm" in build(Two, "from.elsewhere").inspect_source()
    with pytest.raises(tvm.TVMError, match=r"none of this name; did you mean 'from\.elsewhere'"):
        find_codegen("from.elsewher")


def test_names_are_registered_once() -> None:
    register_codegen("test.listing", Listing)
    try:
        register_codegen("test.listing", Listing)
        assert isinstance(find_codegen("test.listing"), Listing)
        with pytest.raises(ValueError, match="is Listing already"):
            register_codegen("test.listing", HandWritten)
    finally:
        del CODEGENS["test.listing"]


def test_rejects() -> None:
    class Wrong(CodeGenBase):
        def generate_code(self, stmt: tir.PrimFunc, target: tvm.target.Target) -> Any:
            return 3

    with pytest.raises(TypeError) as caught:
        build(shift, Wrong())
    assert "found: int\n  where: function shift\n  legal: text, bytes" in str(caught.value)
    with pytest.raises(TypeError, match="CodeGenBase does not say how code is generated"):
        build(shift, CodeGenBase())
    with pytest.raises(TypeError, match="an instance of a class derived from"):
        build(shift, 3)
