from __future__ import annotations

from tests.dlight.programs import SPR, scheduled
from tvm import te, tir
from tvm.dlight.cpu import Fallback
from tvm.dlight.cpu.base import root_blocks
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


def test_what_is_looked_up_is_not_looked_up_again() -> None:
    """As in resizing, one axis after the other: four look-ups an element otherwise, not two."""
    x = te.placeholder((40, 6, 48), name="x")
    rows, columns = (te.placeholder((2, 64), "int32", name=name) for name in ("rows", "columns"))
    a = te.compute((40, 64, 48), lambda c, i, j: x[c, rows[0, i] % 6, j] + x[c, rows[1, i] % 6, j])
    b = te.compute(
        (40, 64, 64), lambda c, i, j: a[c, i, columns[0, j] % 48] + a[c, i, columns[1, j] % 48]
    )
    once = te.compute((40, 64, 64), lambda c, i, j: a[c, i, columns[0, j] % 48] * 2.0)
    both = te.create_prim_func([x, rows, columns, b])
    found = Fallback().apply(both, SPR, False)
    assert found is not None
    assert len(root_blocks(found)) == 2
    inlined = Fallback().apply(te.create_prim_func([x, rows, columns, once]), SPR, False)
    assert inlined is not None
    assert len(root_blocks(inlined)) == 1
    text = found.mod["main"].script()
    assert "fused" in text  # rows of both are shared out ...
    assert "T.parallel(2560)" in text or "range(2560)" in text  # ... whole
