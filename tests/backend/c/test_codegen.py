"""The text that is generated: whole files as golden text, and what users look for in it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable

import numpy as np
import pytest

import tvm
from tests.backend.llvm.kernel import i32, kernel, lowered, packed, vector
from tvm.backend.c import emit_text
from tvm.backend.c.codegen import emit_module
from tvm.error import TargetError, TVMError
from tvm.ir.module import IRModule
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc


def text_of(*funcs: PrimFunc) -> str:
    return emit_module(lowered({str(f.attrs["global_symbol"]): f for f in funcs})).text


@pytest.mark.pure
def test_golden_a_vector_loop(golden: Callable[[str], None]) -> None:
    a, b = (decl_buffer((64,), "float32", name) for name in "ab")
    i = e.Var("i", "int32")
    at = vector(e.Mul(i, i32(16)), 16)
    total = e.Add(e.Mul(e.BufferLoad(a, [at]), e.BufferLoad(a, [at])), e.BufferLoad(b, [at]))
    golden(text_of(kernel([a, b], s.For(i, 0, 4, s.ForKind.SERIAL, s.BufferStore(b, total, [at])))))


@pytest.mark.pure
def test_golden_a_packed_function_with_a_parallel_loop(golden: Callable[[str], None]) -> None:
    def body(source: Buffer, target: Buffer) -> s.Stmt:
        i = e.Var("i", "int32")
        relu = e.Max(e.BufferLoad(source, [i]), e.FloatImm("float32", 0.0))
        return s.For(i, 0, 64, s.ForKind.PARALLEL, s.BufferStore(target, relu, [i]))

    golden(text_of(packed("relu", 2, body, "float32", "float32")))


@I.ir_module
class Calls:
    @T.prim_func
    def main(A: T.Buffer(1, dtype="float32")):
        Calls.subroutine(A.data)

    @T.prim_func(private=True)
    def subroutine(A_data: T.handle("float32")):
        A = T.decl_buffer(1, dtype="float32", data=A_data)
        A[0] = 42.0


@pytest.mark.cpu
def test_a_private_function_is_declared_defined_and_called_once() -> None:
    built = tvm.tir.build(Calls, target="c")
    assert list(built["get_func_names"]()) == ["main"]
    source = built.inspect_source()
    assert source.count("__tvm_ffi_main(void*") == 2
    assert source.count("subroutine(float*") == 2
    assert source.count("subroutine(") == 3
    out = tvm.runtime.tensor(np.zeros(1, "float32"))
    built["main"](out)
    assert out.numpy()[0] == 42.0


LIGHT = """
import sys
sys.modules["llvmlite"] = sys.modules["tvm_ffi"] = None
import tvm
from tvm.script import from_source
from tvm.ir.transform import Sequential
from tvm.tir.pipeline import default_tir_pipeline, finalize_host_passes
from tvm.backend import find_backend
from tvm.target import Target
from tvm.tir.transform import BindTarget
func = from_source('''
from tvm.script import tir as T
@T.prim_func
def main(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
    for i in range(8):
        B[i] = T.exp(A[i])
''')
mod = BindTarget(Target("c"))(tvm.IRModule.from_expr(func))
mod = Sequential([default_tir_pipeline(), finalize_host_passes()])(mod)
print(find_backend("c").emit_text(mod, Target("c")))
"""


@pytest.mark.pure
def test_text_is_made_without_llvm_and_without_the_runtime_library() -> None:
    done = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, check=True)
    assert "expf(" in done.stdout


@pytest.mark.pure
def test_refuses_functions_that_are_not_lowered_and_targets_of_others() -> None:
    with pytest.raises(TVMError, match="parameters that are still buffers"):
        emit_module(Calls)
    with pytest.raises(TargetError, match="another backend's target"):
        emit_text(IRModule({}), "llvm")


@pytest.mark.pure
def test_pointers_are_restrict_unless_the_function_says_otherwise() -> None:
    a = decl_buffer((4,), "float32", "a")
    body = s.BufferStore(a, e.FloatImm("float32", 1.0), [i32(0)])
    assert "kernel(float* restrict a)" in text_of(kernel([a], body))
    assert "kernel(float* a)" in text_of(kernel([a], body, **{"tir.noalias": False}))
