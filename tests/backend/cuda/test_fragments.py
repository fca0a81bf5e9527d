"""Matrix fragments of tensor cores."""

from __future__ import annotations

import pytest

from tests.backend.device.harness import source_of
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


@T.prim_func
def product(A: T.Buffer((16, 16), "float16"), B: T.Buffer((16, 16), "float16"),
            C: T.Buffer((16, 16), "float32")):  # fmt: skip
    T.func_attr({"tir.noalias": True})
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.block("C"):
            T.reads(A[0:16, 0:16], B[0:16, 0:16])
            T.writes(C[0:16, 0:16])
            a = T.alloc_buffer((16, 16), "float16", scope="wmma.matrix_a")
            b = T.alloc_buffer((16, 16), "float16", scope="wmma.matrix_b")
            c = T.alloc_buffer((16, 16), "float32", scope="wmma.accumulator")
            T.tvm_fill_fragment(c.data, 16, 16, 16, 0, T.float32(0))
            T.tvm_load_matrix_sync(a.data, 16, 16, 16, 0, A.access_ptr("r"), 16, "row_major")
            T.tvm_load_matrix_sync(b.data, 16, 16, 16, 0, B.access_ptr("r"), 16, "col_major")
            T.tvm_mma_sync(c.data, 0, a.data, 0, b.data, 0, c.data, 0)
            T.tvm_store_matrix_sync(c.data, 16, 16, 16, 0, C.access_ptr("w"), 16, "row_major")


def test_a_product_of_fragments() -> None:
    text = source_of(IRModule({"main": product}), "cuda")
    for word in (
        "#include <mma.h>",
        "nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, half, "
        "nvcuda::wmma::row_major> a[1];",
        "nvcuda::wmma::fragment<nvcuda::wmma::matrix_b, 16, 16, 16, half, "
        "nvcuda::wmma::col_major> b[1];",
        "nvcuda::wmma::fragment<nvcuda::wmma::accumulator, 16, 16, 16, float> c[1];",
        "nvcuda::wmma::fill_fragment(c[0], 0.000000e+00f);",
        "nvcuda::wmma::load_matrix_sync(b[0], (&(B[0])), 16);",
        "nvcuda::wmma::mma_sync(c[0], a[0], b[0], c[0]);",
        "nvcuda::wmma::store_matrix_sync((&(C[0])), c[0], 16, nvcuda::wmma::mem_row_major);",
    ):
        assert word in text, text


def test_other_devices_have_no_such_memory() -> None:
    with pytest.raises(TVMError, match=r"Metal code for memory c of scope 'wmma\.accumulator'"):
        source_of(IRModule({"main": product}), "metal")


@T.prim_func
def unused(A: T.Buffer((16,), "float16")):
    for tx in T.thread_binding(16, thread="threadIdx.x"):
        with T.block("A"):
            i = T.axis.spatial(16, tx)
            T.reads()
            T.writes(A[i])
            a = T.alloc_buffer((256,), "float16", scope="wmma.matrix_a")
            a[i] = T.float16(0)
            A[i] = a[i]


def test_a_fragment_of_no_known_shape() -> None:
    with pytest.raises(TVMError, match=r"fragment a\n *found: nothing loads, fills or multiplies"):
        source_of(IRModule({"main": unused}), "cuda")
