"""What CUDA says in words of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.backend.device import harness
from tests.backend.device.harness import source_of
from tvm import tir
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.script import ir as I
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


def elementwise(dtype: str, out: str, lanes: int, compute: Callable[[Any], Any]) -> IRModule:
    """B[i] = compute(A[i]), `lanes` at once."""
    from tvm import te

    a = te.placeholder((256,), dtype, name="A")
    b = te.compute((256,), lambda i: compute(a[i]), name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]).with_attr("tir.noalias", True))
    (loop,) = sch.get_loops(sch.get_block("B"))
    bx, tx, v = sch.split(loop, [None, 16, lanes])
    sch.bind(bx, "blockIdx.x")
    sch.bind(tx, "threadIdx.x")
    if lanes > 1:
        sch.vectorize(v)
    return sch.mod


def test_functions_that_kernels_call() -> None:
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def add(a: T.float32, b: T.float32) -> T.float32:
            return a + b

        @T.prim_func
        def main(
            A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32"),
            C: T.Buffer((4, 8), "float32"),
        ):  # fmt: skip
            for bx in T.thread_binding(4, "blockIdx.x"):
                for tx in T.thread_binding(8, "threadIdx.x"):
                    C[bx, tx] = Module.add(A[bx, tx], B[bx, tx])

    text = source_of(Module, "cuda")
    assert 'extern "C" __device__ float add(float a, float b) {\n  return (a + b);\n}' in text
    library = harness.built(Module, "cuda")
    a, b, c = np.ones((4, 8), "float32"), np.ones((4, 8), "float32"), np.zeros((4, 8), "float32")
    harness.run(library, "cuda", "main", a, b, c)
    np.testing.assert_array_equal(c, a + b)


def test_functions_that_host_and_kernels_call() -> None:
    @I.ir_module
    class Module:
        @T.prim_func(private=True)
        def add(a: T.int32, b: T.int32) -> T.int32:
            return a + b

        @T.prim_func
        def main(
            A: T.Buffer((128, 128), "int32"), B: T.Buffer((128, 128), "int32"),
            C: T.Buffer((128, 128), "int32"),
        ):  # fmt: skip
            length: T.int32 = Module.add(64, 64)
            for bx in T.thread_binding(length, "blockIdx.x"):
                for tx in T.thread_binding(length, "threadIdx.x"):
                    C[bx, tx] = Module.add(A[bx, tx], B[bx, tx])

    text = source_of(Module, "cuda")
    assert 'extern "C" __device__ int add(int a, int b) {\n  return (a + b);\n}' in text
    a = np.arange(128 * 128, dtype="int32").reshape(128, 128)
    c = np.zeros((128, 128), "int32")
    harness.run(harness.built(Module, "cuda"), "cuda", "main", a, a, c)
    np.testing.assert_array_equal(c, a + a)


def test_bounds_of_a_launch() -> None:
    text = source_of(elementwise("float32", "float32", 1, lambda x: x + 1), "cuda")
    assert (
        'extern "C" __global__ void __launch_bounds__(16) '
        "main_kernel(float* __restrict__ A, float* __restrict__ B) {\n"
        "  B[((((int)blockIdx.x) * 16) + ((int)threadIdx.x))] = "
        "(A[((((int)blockIdx.x) * 16) + ((int)threadIdx.x))] + 1.000000e+00f);\n}"
    ) in text


@pytest.mark.parametrize(
    ("dtype", "lanes", "words"),
    [
        ("float32", 4, ["float4 v_ = *(float4*)(A + ", "make_float4((v_.x + 1.000000e+00f), "]),
        ("float32", 2, ["*(float2*)(B + "]),
        ("int32", 4, ["int4 v_", "make_int4((v_.x + 1), "]),
        ("int8", 4, ["char4 v_", "make_char4(((signed char)(v_.x + 1)), "]),
        ("uint8", 2, ["uchar2 v_", "make_uchar2("]),
        ("int8", 16, ["lanes<signed char, 16>", "v_.s[15]"]),
        ("float16", 2, ["half2 v_", "make_half2((v_.x + ((half)1.000000e+00f)), "]),
        ("float16", 8, ["lanes<half, 8> v_", "(v_.s[7] + ((half)1.000000e+00f))"]),
        ("float64", 2, ["double2 v_", "make_double2("]),
        ("int64", 2, ["longlong2 v_", "make_longlong2((v_.x + 1ll), "]),
    ],
)
def test_vectors(dtype: str, lanes: int, words: list[str]) -> None:
    one = tir.const(1, dtype)
    text = source_of(elementwise(dtype, dtype, lanes, lambda x: x + one), "cuda")
    for word in words:
        assert word in text, text


@pytest.mark.parametrize(
    ("name", "dtype", "word"),
    [
        ("exp", "float32", "__expf(A["), ("exp", "float64", " exp(A["),
        ("exp", "float16", "hexp(A["), ("log", "float32", "__logf(A["),
        ("tanh", "float32", "tanhf(A["), ("tanh", "float16", "((half)tanhf(((float)A["),
        ("rsqrt", "float32", "rsqrtf(A["), ("round", "float32", "rintf(A["),
        ("sqrt", "float16", "hsqrt(A["), ("abs", "float32", "fabsf(A["),
        ("erf", "float32", "erff(A["), ("ceil", "float64", " ceil(A["),
    ],
)  # fmt: skip
def test_functions_of_the_library(name: str, dtype: str, word: str) -> None:
    func = getattr(tir, name)
    assert word in source_of(elementwise(dtype, dtype, 1, func), "cuda")


def test_bfloat16_is_native_where_the_machine_computes_with_it() -> None:
    mod = elementwise("bfloat16", "bfloat16", 2, lambda x: x + tir.const(1, "bfloat16"))
    text = source_of(mod, "cuda")
    assert "#include <cuda_bf16.h>" in text
    assert "(v_.s[0] + ((__nv_bfloat16)1.000000e+00f))" in text


def test_loops_are_unrolled_by_the_compiler() -> None:
    @T.prim_func
    def main(A: T.Buffer((4, 8), "float32")):
        for tx in T.thread_binding(4, "threadIdx.x"):
            for i in T.unroll(8):
                A[tx, i] = A[tx, i] + T.float32(1)

    with PassContext(config={"tir.UnrollLoop": {"explicit_unroll": False}}):
        text = source_of(IRModule({"main": main}), "cuda")
    assert "  #pragma unroll\n  for (int i = 0; i < 8; ++i) {" in text


def test_a_thread_returns() -> None:
    @T.prim_func
    def main(A: T.Buffer((16, 16), "float32"), B: T.Buffer((16, 16), "float32")):
        for bx in T.thread_binding(32, "blockIdx.x"):
            for tx in T.thread_binding(32, "threadIdx.x"):
                if bx >= 16 or tx >= 16:
                    T.thread_return()
                B[bx, tx] = A[bx, tx]

    mod = IRModule({"main": main})
    assert "return;" in source_of(mod, "cuda")
    a, b = np.random.rand(16, 16).astype("float32"), np.zeros((16, 16), "float32")
    harness.run(harness.built(mod, "cuda"), "cuda", "main", a, b)
    np.testing.assert_array_equal(b, a)


def test_sums_of_thousands_of_terms() -> None:
    from tvm import te

    a = te.placeholder((3000,), name="A")
    total = a[0]
    for n in range(1, 3000):
        total = total + a[n]
    b = te.compute((8,), lambda i: total, name="B")
    sch = tir.Schedule(te.create_prim_func([a, b]))
    sch.bind(sch.get_loops(sch.get_block("B"))[0], "threadIdx.x")
    library = harness.built(sch.mod, "cuda")
    given, made = np.ones(3000, "float32"), np.zeros(8, "float32")
    harness.run(library, "cuda", "main", given, made)
    np.testing.assert_array_equal(made, np.full(8, 3000, "float32"))
