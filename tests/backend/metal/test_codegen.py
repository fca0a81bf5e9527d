"""What Metal says in words of its own."""

from __future__ import annotations

import pytest

from tests.backend.cuda.test_codegen import elementwise
from tests.backend.device.harness import source_of
from tests.backend.device.programs import PROGRAMS
from tvm import tir
from tvm.ir.module import IRModule
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


def test_buffers_are_numbered() -> None:
    mod = elementwise("float32", "float32", 4, lambda x: x + tir.const(1, "float32"))
    text = source_of(mod, "metal")
    assert text.startswith("#include <metal_stdlib>\nusing namespace metal;\n")
    assert (
        "kernel void main_kernel(device float* A [[buffer(0)]], device float* B [[buffer(1)]], "
        "uint3 blockIdx [[threadgroup_position_in_grid]], "
        "uint3 threadIdx [[thread_position_in_threadgroup]]) {"
    ) in text
    assert "*(device float4*)(B + " in text


def test_numbers_come_together() -> None:
    text = source_of(IRModule({"scaled": PROGRAMS["scaled"].func}), "metal")
    assert "struct scaled_kernel_args_t {\n  float x;\n};" in text
    assert "constant scaled_kernel_args_t& arg [[buffer(2)]]" in text
    assert " * arg.x);" in text


def test_matrices_of_simdgroups() -> None:
    @T.prim_func
    def main(A: T.Buffer((8, 8), "float32"), B: T.Buffer((8, 8), "float32"),
             C: T.Buffer((8, 8), "float32")):  # fmt: skip
        for tx in T.thread_binding(32, thread="threadIdx.x"):
            with T.block("C"):
                T.reads(A[0:8, 0:8], B[0:8, 0:8])
                T.writes(C[0:8, 0:8])
                a = T.alloc_buffer((8, 8), scope="metal.simdgroup")
                b = T.alloc_buffer((8, 8), scope="metal.simdgroup")
                c = T.alloc_buffer((8, 8), scope="metal.simdgroup")
                T.make_filled_simdgroup_matrix(c.data, 0, T.float32(0), 8, 8)
                T.simdgroup_load(a.data, 0, A.access_ptr("r"), 8, 8, 8, T.bool(False))
                T.simdgroup_load(b.data, 0, B.access_ptr("r"), 8, 8, 8, T.bool(True))
                T.simdgroup_multiply_accumulate(c.data, 0, a.data, 0, b.data, 0, c.data, 0)
                T.simdgroup_store(c.data, 0, C.access_ptr("w"), 8, 8, 8, T.bool(False))

    text = source_of(IRModule({"main": main}), "metal")
    for word in (
        "simdgroup_float8x8 a[1];",
        "c[0] = make_filled_simdgroup_matrix<float, 8, 8>(0.000000e+00f);",
        "simdgroup_load(b[0], (&(B[0])), 8, 0, true);",
        "simdgroup_multiply_accumulate(c[0], a[0], b[0], c[0]);",
        "simdgroup_store(c[0], (&(C[0])), 8, 0, false);",
    ):
        assert word in text, text
