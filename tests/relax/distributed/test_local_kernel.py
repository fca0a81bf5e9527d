"""Kernels on the pieces of one worker."""

import pytest

from tests.relax.distributed.transform.programs import Whole
from tvm.error import TVMError
from tvm.relax.distributed.local_kernel import local_kernel
from tvm.script import tir as T

pytestmark = pytest.mark.pure
MATMUL = Whole["matmul"]


def _shapes(func):
    return [[int(n) for n in func.buffer_map[p].shape] for p in func.params]


def test_cuts_of_rows_need_no_combination():
    made = local_kernel(MATMUL, {(0, 0): 4, (2, 0): 4})
    assert made.combine is None
    assert _shapes(made.func) == [[2, 8], [8, 8], [2, 8]]


def test_cuts_of_what_is_summed_are_added():
    made = local_kernel(MATMUL, {(0, 1): 2, (1, 0): 2})
    assert made.combine == "sum"
    assert _shapes(made.func) == [[8, 4], [4, 8], [8, 8]]


def test_maxima():
    @T.prim_func(private=True)
    def largest(a: T.Buffer((4, 8), "float32"), b: T.Buffer((4,), "float32")):
        for i, j in T.grid(4, 8):
            with T.block("b"):
                vi, vj = T.axis.remap("SR", [i, j])
                with T.init():
                    b[vi] = T.min_value("float32")
                b[vi] = T.max(b[vi], a[vi, vj])

    assert local_kernel(largest, {(0, 1): 2}).combine == "max"


def test_misfits_are_refused():
    with pytest.raises(TVMError, match="a known multiple"):
        local_kernel(MATMUL, {(0, 0): 3})
    with pytest.raises(TVMError, match="cut in two ways"):
        local_kernel(MATMUL, {(0, 0): 2, (2, 0): 4})

    @T.prim_func(private=True)
    def split(a: T.Buffer((8,), "float32"), b: T.Buffer((8,), "float32")):
        for i, j in T.grid(2, 4):
            with T.block("b"):
                v = T.axis.spatial(8, i * 4 + j)
                b[v] = a[v]

    with pytest.raises(TVMError, match="a loop variable"):
        local_kernel(split, {(0, 0): 2})
