from __future__ import annotations

import numpy as np

from tests.tir.schedule.cases import elementwise, open_schedule, refuses
from tvm import tir
from tvm.tir.interp import run
from tvm.tir.schedule.testing import verify_trace_roundtrip


def update() -> tir.PrimFunc:
    """A[i] = A[i] * 2."""
    buffer = tir.decl_buffer((8,), name="A")
    i, vi = tir.Var("i"), tir.Var("vi")
    region = [buffer[vi : vi + 1]]
    store = tir.BufferStore(buffer, buffer[vi] * 2.0, [vi])
    block = tir.Block([tir.IterVar((0, 8), vi)], region, region, "B", store)
    loop = tir.For(i, 0, 8, tir.ForKind.SERIAL, tir.BlockRealize([i], True, block))
    root = tir.Block([], [], [], "root", loop)
    return tir.PrimFunc([buffer], tir.BlockRealize([], True, root))


def test_in_and_out() -> None:
    func = update()
    sch = open_schedule(func)
    read, write = sch.cache_inplace("B", 0, "local")
    names = [sch.get(b).name_hint for b in sch.get_child_blocks(sch.get_block("root"))]
    assert names == ["A_local", "B", "A_local"]
    assert sch.get(read).reads[0].buffer is sch.get(write).writes[0].buffer
    values = np.arange(8, dtype="float32")
    run(sch.mod, values)
    np.testing.assert_array_equal(values, np.arange(8) * 2)
    verify_trace_roundtrip(sch, func)


def test_buffers_that_are_only_read() -> None:
    sch = open_schedule(elementwise(8))
    refuses(sch, "does not write 'A'", "cache_inplace", sch.get_block("B"), 0, "local")
