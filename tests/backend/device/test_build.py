"""Modules of kernels, and what their builders refuse."""

from __future__ import annotations

import importlib
from typing import Any

import pytest

import tvm
from tests.backend.device.harness import ALL_TARGETS, built, source_of
from tests.backend.device.programs import PROGRAMS
from tvm.error import DTypeError, TargetError, TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T

pytestmark = pytest.mark.cpu
ADD = IRModule({"add_one": PROGRAMS["add_one"].func})
FORMATS = {"cuda": "cuda", "rocm": "hip", "opencl": "opencl", "metal": "metal", "webgpu": "wgsl"}


@pytest.mark.parametrize("kind", ALL_TARGETS)
def test_the_module_of_a_target(kind: str) -> None:
    (device,) = built(ADD, kind).mod.imports
    assert (device.kind, device.type_key, device.fmt) == (kind, kind, FORMATS[kind])
    assert device.is_device_module
    assert device.function_names() == ["add_one_kernel"]
    info = device.kernels["add_one_kernel"]
    assert info.arg_types == ("handle", "handle")
    assert info.launch_param_tags == ("blockIdx.x", "threadIdx.x")


@pytest.mark.parametrize("kind", ALL_TARGETS)
def test_text_of_another_target_is_refused(kind: str) -> None:
    home = importlib.import_module(f"tvm.backend.{kind}.build")
    with pytest.raises(TargetError, match=f"found: another backend's target\n *legal: {kind}"):
        home.build(ADD, "llvm")


def test_a_registered_function_changes_the_text() -> None:
    name = "tvm_callback_cuda_postproc"
    tvm.register_global_func(name, lambda code, target: f"// {target.kind.name}\n{code}")
    try:
        assert source_of(ADD, "cuda").startswith("// cuda\n")
    finally:
        tvm.ffi.registry.remove_global_func(name)
    assert not source_of(ADD, "cuda").startswith("// cuda\n")


def test_functions_that_are_not_lowered() -> None:
    from tvm.backend.cuda.codegen import emit_text

    with pytest.raises(TVMError, match="parameters that are still buffers"):
        emit_text(ADD, "cuda")


@T.prim_func
def in_float64(A: T.Buffer((8,), "float64")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        with T.block("A"):
            i = T.axis.spatial(8, tx)
            A[i] = A[i] + T.float64(1)


@T.prim_func
def no_rule(A: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        with T.block("A"):
            i = T.axis.spatial(8, tx)
            T.reads()
            T.writes(A[i])
            A[i] = T.call_intrin("float32", "tir.texture2d_load", A.data, i, 0)


@T.prim_func
def too_many_threads(A: T.Buffer((8,), "float32"), n: T.int32):
    for tx in T.thread_binding(n, thread="threadIdx.x"):
        with T.block("A"):
            i = T.axis.spatial(8, tx)
            A[i] = A[i] + T.float32(1)


@T.prim_func
def far_memory(A: T.Buffer((8,), "float32")):
    for tx in T.thread_binding(8, thread="threadIdx.x"):
        with T.block("A"):
            i = T.axis.spatial(8, tx)
            T.reads(A[i])
            T.writes(A[i])
            B = T.alloc_buffer((4,), scope="metal.simdgroup")
            B[0] = A[i]
            A[i] = B[0]


@pytest.mark.parametrize(
    ("kind", "func", "error", "words"),
    [
        ("metal", in_float64, DTypeError, "Metal code for values of float64\n *found: a type that"),
        ("webgpu", in_float64, DTypeError, "WGSL code for values of float64"),
        ("cuda", no_rule, TVMError, r"CUDA code for tir.texture2d_load\n *found: no rule"),
        ("webgpu", too_many_threads, TVMError, "threads of a workgroup known only at launch"),
        ("cuda", far_memory, TVMError, "of scope 'metal.simdgroup'"),
    ],
)
def test_refused(kind: str, func: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        built(IRModule({"main": func}), kind)
