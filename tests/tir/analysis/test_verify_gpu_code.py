"""Limits of kernels."""

import pytest

from tvm.error import TVMError
from tvm.script import tir as T
from tvm.tir.analysis import verify_gpu_code
from tvm.tir.analysis.verify_gpu_code import gpu_errors

pytestmark = pytest.mark.pure


@T.prim_func
def kernel(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")) -> None:
    for bx in T.thread_binding(8, "blockIdx.x"):
        for tx in T.thread_binding(128, "threadIdx.x"):
            with T.block("root2"):
                S = T.alloc_buffer((128,), "float32", scope="shared")
                L = T.alloc_buffer((4,), "float32", scope="local")
                S[tx] = A[bx * 128 + tx]
                L[0] = S[tx]
                B[bx * 128 + tx] = L[0]


@pytest.mark.parametrize(
    ("limits", "legal"),
    [
        ({}, True),
        ({"max_threads_per_block": 128, "max_thread_x": 128}, True),
        ({"max_threads_per_block": 64}, False),
        ({"max_thread_x": 64}, False),
        ({"max_shared_memory_per_block": 512}, True),
        ({"max_shared_memory_per_block": 511}, False),
        ({"max_local_memory_per_block": 15}, False),
        ({"max_kernels": 0}, False),
        ({"max_vthread": 1, "max_vector_bytes": 4}, True),
    ],
)
def test_limits(limits, legal) -> None:
    assert verify_gpu_code(kernel, limits) is legal


def test_messages() -> None:
    assert gpu_errors(kernel, {"max_thread_x": 64}) == [
        "max_thread_x: 128 is used; legal: at most 64"
    ]
    with pytest.raises(TVMError, match="did you mean 'max_thread_x'"):
        verify_gpu_code(kernel, {"max_threadx": 1})


def test_blocks_may_be_as_many_as_a_symbol_says() -> None:
    @T.prim_func
    def symbolic(a: T.handle, n: T.int32):  # type: ignore[no-untyped-def]
        A = T.match_buffer(a, (n,), "float32")
        for bx in T.thread_binding(n, thread="blockIdx.x"):
            A[bx] = T.float32(0)

    assert verify_gpu_code(symbolic, {"max_threads_per_block": 64})
