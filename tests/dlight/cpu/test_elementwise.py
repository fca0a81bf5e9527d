from __future__ import annotations

import pytest

from tests.dlight.programs import SPR, scheduled
from tvm import te, tir
from tvm.dlight.cpu import Fallback
from tvm.dlight.cpu.elementwise import vector_width
from tvm.target import Target


def relu(*shape: int) -> tir.PrimFunc:
    a = te.placeholder(shape, name="A")
    zero = tir.const(0.0, "float32")
    return te.create_prim_func([a, te.compute(shape, lambda *i: tir.max(a[i], zero), name="B")])


@pytest.mark.parametrize("shape", [(4, 8, 16), (3, 5), (1,), (7, 11, 13), (100,)])
def test_shapes(shape: tuple[int, ...]) -> None:
    text = scheduled(Fallback(), relu(*shape)).script()
    assert "T.vectorized" in text


def test_broadcast_keeps_whole_rows_together() -> None:
    a = te.placeholder((2, 3, 4, 4), name="A")
    b = te.placeholder((3,), name="b")
    func = te.create_prim_func(
        [a, b, te.compute(a.shape, lambda n, c, y, x: a[n, c, y, x] + b[c], name="C")]
    )
    text = scheduled(Fallback(), func).script()
    assert "fused in T.vectorized(16)" in text


def test_transpose() -> None:
    a = te.placeholder((6, 20), name="A")
    func = te.create_prim_func([a, te.compute((20, 6), lambda i, j: a[j, i], name="B")])
    scheduled(Fallback(), func)


def test_threads_only_for_much_work() -> None:
    target = Target("llvm -mcpu=sapphirerapids -num-cores=4")
    assert "T.parallel" not in Fallback().apply(relu(64, 64), target, False).mod.script()
    assert "T.parallel" in Fallback().apply(relu(4096, 1024), target, False).mod.script()


def test_symbolic_extents() -> None:
    n = te.size_var("n")
    a = te.placeholder((n, 4), name="A")
    func = te.create_prim_func([a, te.compute((n, 4), lambda i, j: a[i, j] * 2.0, name="B")])
    scheduled(Fallback(), func, SPR, sizes={"n": 5})


def test_widths() -> None:
    assert vector_width(None, 16) == 16
    assert vector_width(10, 16) == 10
    assert vector_width(4096, 16) == 64
    assert vector_width(98, 16) == 14
    assert vector_width(1021, 16) == 16
