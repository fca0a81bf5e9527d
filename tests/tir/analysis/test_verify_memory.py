"""Device memory and host code."""

import pytest

from tests.tir.analysis.programs import matmul
from tvm.error import TVMError
from tvm.script import tir as T
from tvm.target import Target
from tvm.tir.analysis import verify_memory

pytestmark = pytest.mark.pure


@T.prim_func
def threads(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")) -> None:
    for i in T.thread_binding(64, "threadIdx.x"):
        B[i] = A[i]


def test_where_memory_is_touched() -> None:
    assert verify_memory(matmul.with_attr("target", Target("llvm")))
    assert not verify_memory(matmul.with_attr("target", Target("cuda")))
    assert verify_memory(threads.with_attr("target", Target("cuda")))


def test_target_is_needed() -> None:
    with pytest.raises(TVMError, match="Require the target attribute"):
        verify_memory(matmul)
