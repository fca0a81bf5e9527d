"""Kernels on the pieces of one worker."""

import numpy as np
import pytest

from tests.relax.distributed.transform.programs import Whole
from tvm import te, topi
from tvm.error import TVMError
from tvm.relax.distributed.local_kernel import local_kernel
from tvm.relax.distributed.tir_axes import linked_buffer_axes
from tvm.script import tir as T
from tvm.tir.interp import run

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


@pytest.mark.parametrize(
    ("before", "after", "cuts"),
    [
        ((2, 3, 24), (2, 3, 4, 6), {(0, 2): 2, (1, 2): 2}),
        ((2, 3, 4, 6), (2, 3, 24), {(0, 2): 4, (1, 2): 4}),
        ((2, 3, 4, 6), (6, 4, 6), {(0, 2): 2, (1, 1): 2}),
        ((4, 6), (2, 2, 6), {(0, 0): 2, (1, 0): 2}),
    ],
)
def test_pieces_of_dimensions_that_are_joined_or_split(before, after, cuts):
    data = te.placeholder(before, "float32", name="data")
    whole = te.create_prim_func([data, topi.reshape(data, after)])
    assert sorted(cuts) in [sorted(group) for group in linked_buffer_axes(whole)]
    made = local_kernel(whole, cuts).func
    (_, at_a), (_, at_b) = cuts
    given = np.arange(np.prod(before), dtype="float32").reshape(before)
    pieces = []
    for piece in np.split(given, cuts[(0, at_a)], axis=at_a):
        out = np.zeros(_shapes(made)[1], "float32")
        run(made, np.ascontiguousarray(piece), out)
        pieces.append(out)
    np.testing.assert_array_equal(np.concatenate(pieces, axis=at_b), given.reshape(after))


def test_places_that_no_iterator_tells_are_not_cut():
    @T.prim_func(private=True)
    def moved(a: T.Buffer((8,), "float32"), n: T.int32, b: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block("b"):
                v = T.axis.spatial(8, i)
                b[v] = a[(v + n) % 8]

    with pytest.raises(TVMError, match="dimension 0 of 'a' is cut"):
        local_kernel(moved, {(0, 0): 2, (1, 0): 2})


def test_reductions_that_others_read_are_not_cut():
    data = te.placeholder((4, 8), "float32", name="data")
    whole = te.create_prim_func([data, topi.nn.softmax(data, 1)])
    assert local_kernel(whole, {(0, 0): 2, (1, 0): 2}).combine is None
    with pytest.raises(TVMError, match="whose result other blocks read"):
        local_kernel(whole, {(0, 1): 2, (1, 1): 2})
