"""Read the last element again instead of padding."""

from __future__ import annotations

from tests.tir.schedule.cases import check, open_schedule, refuses
from tvm.script import tir as T


def test_unsafe_repeat_edge() -> None:
    @T.prim_func
    def before(a: T.Buffer((5,), "float32"), c: T.Buffer((5,), "float32")) -> None:
        padded = T.alloc_buffer((8,), "float32")
        for i in range(8):
            with T.block("pad"):
                v = T.axis.spatial(8, i)
                padded[v] = T.if_then_else(v < 5, a[v], T.float32(0))
        for i in range(5):
            with T.block("use"):
                v = T.axis.spatial(5, i)
                c[v] = padded[v] + T.float32(1)

    sch = open_schedule(before)
    sch.unsafe_repeat_edge("pad")
    assert "padded[v] = a[T.min(v, 4)]" in sch.mod.script()
    check(sch, before)
    refuses(sch, "block use does not pad", "unsafe_repeat_edge", sch.get_block("use"))
