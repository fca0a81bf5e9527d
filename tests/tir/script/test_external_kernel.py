"""`T.call_kernel`: the call in the function, the kernel in the module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tvm.error import DiagnosticError
from tvm.ffi import get_global_func, register_global_func
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.script.ir_builder.tir.external_kernel import BaseKernel, SourceKernel

pytestmark = pytest.mark.cpu
TEXT = "__global__ void add_one(float* x, long n);"


@pytest.fixture(autouse=True)
def compiled() -> Iterator[list[str]]:
    """The texts that were compiled, by a compiler that is no more than its name."""
    kept = get_global_func("tvm_callback_cuda_compile")
    texts: list[str] = []

    def compile_text(code: str, target: Any) -> bytes:
        texts.append(code)
        return b"compiled"

    register_global_func("tvm_callback_cuda_compile", compile_text, override=True)
    yield texts
    register_global_func("tvm_callback_cuda_compile", kept, override=True)


def module_with(statement: str) -> Any:
    text = f"""
@I.ir_module
class Module:
    @T.prim_func
    def main(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        with T.block("root"):
            T.reads()
            T.writes(A[0:n])
            {statement}
"""
    return from_source(text, extra_vars={"T": T, "I": I, "TEXT": TEXT, "SourceKernel": SourceKernel,
                                         "Other": Other})  # fmt: skip


class Other(BaseKernel):
    pass


def test_a_text(compiled: list[str]) -> None:
    given = "((T.ceildiv(n, 64),), (64,)), A.data, n, 2.5"
    call = f'T.call_kernel(TEXT, {given}, kernel_name="add_one")'
    mod = module_with(f"{call}\n            {call}")
    plain = 'T.call_packed("add_one", A.data, n, T.float32(2.5), T.ceildiv(n, 64), 64)'
    expected = module_with(f"{plain}\n            {plain}")
    assert_structural_equal(mod["main"], expected["main"])
    (kernels,) = mod.get_attr("external_mods")  # the second call found the first one's
    assert kernels.function_names() == ["add_one"]
    info = kernels.kernels["add_one"]
    assert info.arg_types == ("handle", "int64", "float32")
    assert info.launch_param_tags == ("blockIdx.x", "threadIdx.x")
    assert kernels.inspect_source() == TEXT
    assert set(compiled) == {TEXT}


def test_a_file(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text(TEXT)
    assert SourceKernel(str(tmp_path / "k.cu")).source_code == TEXT


@pytest.mark.parametrize(
    ("call", "wanted"),
    [
        ("T.call_kernel(TEXT, ((1,), (64,)), n)", "no kernel_name"),
        ("T.call_kernel(TEXT, (1, 64), n, kernel_name='f')", "two lists of one to three extents"),
        ("T.call_kernel(TEXT, ((1, 1, 1, 1), (64,)), n, kernel_name='f')", "two lists of one to"),
        ("T.call_kernel(3, ((1,), (64,)), n)", "Unsupported kernel type builtins.int"),
        ("T.call_kernel(Other(), ((1,), (64,)), n)", "compile a Other"),
    ],
)
def test_refused(call: str, wanted: str) -> None:
    with pytest.raises(DiagnosticError, match=wanted):
        module_with(call)


def test_a_kernel_needs_a_module() -> None:
    with pytest.raises(DiagnosticError, match="module"):
        from_source(
            "@T.prim_func\ndef main(n: T.int32):\n"
            "    T.call_kernel(TEXT, ((1,), (64,)), n, kernel_name='f')\n",
            extra_vars={"T": T, "TEXT": TEXT},
        )
