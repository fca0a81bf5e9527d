from __future__ import annotations

from tests.dlight.programs import SPR, scheduled
from tvm import te, tir
from tvm.dlight.cpu import Fallback
from tvm.tir.functor import walk


def test_chains_become_one_loop() -> None:
    a = te.placeholder((8, 16), name="A")
    b = te.compute(a.shape, lambda *i: a[i] * 2.0, name="B")
    c = te.compute(a.shape, lambda *i: b[i] + 1.0, name="C")
    text = scheduled(Fallback(), te.create_prim_func([a, c])).script()
    assert "alloc_buffer" not in text
    assert 'T.block("B")' not in text


def test_pooling() -> None:
    a = te.placeholder((2, 3, 8, 8), name="A")
    ry, rx = te.reduce_axis((0, 2), name="ry"), te.reduce_axis((0, 2), name="rx")
    pool = te.compute(
        (2, 3, 4, 4),
        lambda n, c, y, x: te.max(a[n, c, y * 2 + ry, x * 2 + rx], axis=[ry, rx]),
        name="P",
    )
    scheduled(Fallback(), te.create_prim_func([a, pool]))


def test_average_pool_finishes_in_the_same_loop() -> None:
    a = te.placeholder((2, 4, 4, 4), name="A")
    ry, rx = te.reduce_axis((0, 4), name="ry"), te.reduce_axis((0, 4), name="rx")
    total = te.compute((2, 4), lambda n, c: te.sum(a[n, c, ry, rx], axis=[ry, rx]), name="S")
    mean = te.compute((2, 4), lambda n, c: total[n, c] / 16.0, name="M")
    text = scheduled(Fallback(), te.create_prim_func([a, mean])).script()
    assert 'S_local = T.alloc_buffer((2, 4), scope="local")' in text


def test_blocks_with_an_order_of_their_own_stay() -> None:
    n = te.size_var("n")
    a = te.placeholder((n,), name="A")
    b = te.extern(
        (8,), [a], lambda ins, outs: tir.call_packed("f", ins[0], outs[0]), name="E",
        dtype="float32",
    )
    sch = Fallback().apply(te.create_prim_func([a, b]), SPR, False)
    assert "call_packed" in sch.mod.script()


def test_values_that_are_read_often_are_kept_before_they_grow() -> None:
    def step(x: te.Tensor) -> te.Tensor:  # reads x three times
        return te.compute(x.shape, lambda *i: tir.exp(x(*i)) + x(*i) * tir.log(x(*i)), name="V")

    value = a = te.placeholder((8, 16), name="A")
    for _ in range(12):
        value = step(value)
    func = te.create_prim_func([a, value])
    after = scheduled(Fallback(), func)
    assert sum(1 for _ in walk(after.body)) < 20_000
