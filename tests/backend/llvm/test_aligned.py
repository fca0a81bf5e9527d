"""Constants lie where code expects them, whatever address numpy gave them."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.backend.llvm.aligned import CONSTANT_ALIGNMENT, aligned_copy
from tvm.ir import HostTensor, PointerType, PrimType

pytestmark = pytest.mark.cpu


def test_copy_is_aligned() -> None:
    copy = aligned_copy(b"abc" * 50)
    assert copy.ctypes.data % CONSTANT_ALIGNMENT == 0
    assert copy.tobytes() == b"abc" * 50


def test_a_kernel_reads_constants_from_odd_addresses() -> None:
    memory = np.zeros(4096 * 4 + 68, np.uint8)
    start = -memory.ctypes.data % 64 + 4
    values = memory[start : start + 4096 * 4].view(np.float32)
    values[:] = np.arange(4096)
    assert values.ctypes.data % 64 == 4
    var = tir.Var("c", PointerType(PrimType("float32")))
    table = tir.decl_buffer((4096,), "float32", "table", data=var)
    out = tir.decl_buffer((4096,), "float32", "out")
    i = tir.Var("i", "int32")
    loop = tir.For(i, 0, 4096, 0, tir.BufferStore(out, table[i] * 2.0, [i]))
    body = tir.AllocateConst(var, "float32", [4096], HostTensor(values), loop)
    func = tir.PrimFunc([out], body, attrs={"global_symbol": "main", "tir.noalias": True})
    result = np.zeros(4096, np.float32)
    tvm.compile(func)["main"](result)
    np.testing.assert_array_equal(result, np.arange(4096) * 2.0)
