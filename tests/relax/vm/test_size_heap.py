"""Symbolic sizes at run time: which are known, and the kernels that compute the others."""

import numpy as np
import pytest

from tvm import tir
from tvm.error import TVMError
from tvm.ir import IRModule
from tvm.relax.vm.size_heap import (
    ASSERT_KNOWN,
    ASSERT_NUMBER,
    LOAD,
    SKIP,
    STORE,
    USE_NUMBER,
    SizeHeap,
)
from tvm.tir import interp

pytestmark = pytest.mark.pure


def _symbols() -> tuple[tir.SizeVar, tir.SizeVar]:
    return tir.SizeVar("n", "int64"), tir.SizeVar("m", "int64")


def test_a_symbol_is_stored_once_and_compared_later():
    n, m = _symbols()
    heap = SizeHeap("f")
    assert heap.match_code(n) == (STORE, 0)
    assert heap.match_code(m) == (STORE, 1)
    assert heap.match_code(n) == (ASSERT_KNOWN, 0)
    assert heap.match_code(tir.IntImm("int64", 7)) == (ASSERT_NUMBER, 7)
    assert heap.match_code(n * m + 1) == (SKIP, 0)
    assert heap.make_code(m) == (LOAD, 1)
    assert heap.make_code(tir.IntImm("int64", 7)) == (USE_NUMBER, 7)
    assert heap.size == 2


def test_a_kernel_computes_what_is_not_known():
    n, m = _symbols()
    heap = SizeHeap("f")
    heap.match_code(n)
    heap.match_code(m)
    name = heap.compute([n * 2, n, n * m + 1, n * 2])
    assert name == "shape_func_f_0"
    assert heap.compute([n * 2]) is None
    (kernel,) = heap.kernels().values()
    room = np.zeros(heap.size, np.int64)
    room[:2] = 5, 3
    interp.run(IRModule({"k": kernel}), room, name="k")
    assert room[heap.make_code(n * 2)[1]] == 10
    assert room[heap.make_code(n * m + 1)[1]] == 16


def test_an_expression_of_unknown_symbols_waits():
    n, m = _symbols()
    heap = SizeHeap("f")
    heap.match_code(n)
    assert heap.compute([n + m]) is None
    assert heap.match_code(n + m) == (SKIP, 0)
    heap.match_code(m)
    assert heap.compute([n + m]) is not None
    assert heap.match_code(n + m)[0] == ASSERT_KNOWN


def test_what_was_learnt_in_a_branch_is_forgotten():
    n, m = _symbols()
    heap = SizeHeap("f")
    heap.match_code(n)
    known = heap.snapshot()
    heap.match_code(m)
    heap.restore(known)
    assert heap.match_code(n) == (ASSERT_KNOWN, 0)
    assert heap.match_code(m) == (STORE, 2)  # a slot of its own: the other branch may have run


def test_rejects_a_size_that_no_shape_tells():
    n, _ = _symbols()
    with pytest.raises(TVMError) as caught:
        SizeHeap("f").make_code(n + 1)
    assert str(caught.value) == (
        f"f: the size {n + 1} is used before any shape tells it"
    )
