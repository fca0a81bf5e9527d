"""Which dimensions of buffers one iterator walks."""

import pytest

from tests.relax.distributed.transform.programs import Whole
from tvm.relax.distributed.tir_axes import AxisGroups, linked_buffer_axes
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def test_products():
    assert linked_buffer_axes(Whole["matmul"]) == [
        [(0, 0), (2, 0)], [(0, 1), (1, 0)], [(1, 1), (2, 1)],
    ]  # fmt: skip


def test_buffers_between_and_other_indices():
    @T.prim_func
    def func(a: T.Buffer((4, 8), "float32"), n: T.int32, b: T.Buffer((8, 4), "float32")):
        c = T.alloc_buffer((8, 4))
        for i, j in T.grid(4, 8):
            with T.block("turn"):
                vi, vj = T.axis.remap("SS", [i, j])
                c[vj, vi] = a[vi, vj]
        for i, j in T.grid(8, 4):
            with T.block("shift"):
                vi, vj = T.axis.remap("SS", [i, j])
                b[vi, vj] = c[vi, (vj + n) % 4]

    assert linked_buffer_axes(func) == [[(0, 1), (1, 0)]]
    groups = AxisGroups(func)
    a, b = func.buffer_map[func.params[0]], func.buffer_map[func.params[2]]
    assert groups.find((a, 1)) == groups.find((b, 0))
    assert groups.find((b, 1)) != groups.find((a, 0))
