"""StaticSharedMemory: no launch says how much memory is shared where the kind has no such thing."""

from __future__ import annotations

import pytest

import tvm
from tvm.error import CheckError
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.transform.static_shared_memory import StaticSharedMemory

pytestmark = pytest.mark.pure


@T.prim_func
def turned(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
    S = T.alloc_buffer((64,), "float32", scope="shared.dyn")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("S"):
                i = T.axis.spatial(64, tx)
                S[i] = A[i]
        for tx in T.thread_binding(64, thread="threadIdx.x"):
            with T.block("B"):
                i = T.axis.spatial(64, tx)
                B[i] = S[63 - i]


@T.prim_func
def open_turned(a: T.handle, b: T.handle):
    n = T.int32()
    A, B = T.match_buffer(a, (n,)), T.match_buffer(b, (n,))
    S = T.alloc_buffer((n,), "float32", scope="shared.dyn")
    for bx in T.thread_binding(1, thread="blockIdx.x"):
        for tx in T.thread_binding(n, thread="threadIdx.x"):
            with T.block("S"):
                i = T.axis.spatial(n, tx)
                S[i] = A[i]
        for tx in T.thread_binding(n, thread="threadIdx.x"):
            with T.block("B"):
                i = T.axis.spatial(n, tx)
                B[i] = S[n - 1 - i]


def kernels(func: tvm.tir.PrimFunc, kind: str) -> tvm.runtime.Module:
    (device,) = tvm.compile(func, target=Target({"kind": kind}, "llvm")).mod.imports
    return device


@pytest.mark.parametrize(("kind", "words"), [
    ("opencl", "__local float S[64]"), ("metal", "threadgroup float S[64]"),
    ("webgpu", "var<workgroup> S : array<f32, 64>"), ("cuda", "extern __shared__"),
])  # fmt: skip
def test_memory_of_constant_size(kind: str, words: str) -> None:
    device = kernels(turned, kind)
    assert words in device.inspect_source()
    asked = any("dyn" in tag for one in device.kernels.values() for tag in one.launch_param_tags)
    assert asked == (kind == "cuda")


def test_what_no_target_says_and_what_is_open_stays() -> None:
    mod = tvm.IRModule({"main": turned})
    assert StaticSharedMemory()(mod)["main"] is turned
    with pytest.raises(CheckError, match="a size known only at launch"):
        kernels(open_turned, "opencl")
    assert "extern __shared__" in kernels(open_turned, "cuda").inspect_source()
