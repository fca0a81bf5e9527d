from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import te, tir
from tvm.tir import interp
from tvm.tir.interp import nest

pytestmark = pytest.mark.pure


def both_ways(func: tir.PrimFunc, monkeypatch: Any, *arrays: np.ndarray) -> None:
    """At once and one by one: the same bits."""
    copies = [a.copy() for a in arrays]
    interp.run(func, *arrays)
    with monkeypatch.context() as patch:
        patch.setattr(nest, "MIN_ITERATIONS", 1 << 60)
        interp.run(func, *copies)
    for a, b in zip(arrays, copies):
        np.testing.assert_array_equal(a, b)


def test_reduction_order_is_kept(monkeypatch: Any) -> None:
    a, b = te.placeholder((7, 9), name="a"), te.placeholder((9, 5), name="b")
    k = te.reduce_axis((0, 9), "k")
    c = te.compute((7, 5), lambda i, j: te.sum(a[i, k] * b[k, j], axis=k), name="c")
    rng = np.random.default_rng(0)
    x, y = rng.random((7, 9), "float32"), rng.random((9, 5), "float32")
    both_ways(te.create_prim_func([a, b, c]), monkeypatch, x, y, np.empty((7, 5), "float32"))


def test_guards_shield_loads(monkeypatch: Any) -> None:
    a = te.placeholder((6,), name="a")
    inside = lambda i: tir.all(i >= 2, i < 8, a[i - 2] > 1.0)
    b = te.compute((9,), lambda i: tir.if_then_else(inside(i), a[i - 2], -1.0), name="b")
    func = te.create_prim_func([a, b])
    both_ways(func, monkeypatch, np.arange(6, dtype="float32"), np.empty(9, "float32"))


def loop(extent: int, body: Any) -> tir.Stmt:
    i = tir.Var("i", "int32")
    return tir.For(i, 0, extent, 0, body(i))


def test_iterations_that_share_a_place_run_in_order(monkeypatch: Any) -> None:
    a, b = tir.decl_buffer((8,), "int32", name="a"), tir.decl_buffer((8,), "int32", name="b")
    last = loop(8, lambda i: tir.BufferStore(b, tir.BufferLoad(a, [i]), [i // 2]))
    data = np.arange(8, dtype="int32")
    out = np.zeros(8, "int32")
    both_ways(tir.PrimFunc([a, b], last), monkeypatch, data, out)
    np.testing.assert_array_equal(out[:4], [1, 3, 5, 7])


def test_loads_of_other_elements_run_in_order() -> None:
    a = tir.decl_buffer((8,), "int32", name="a")
    running = loop(
        7,
        lambda i: tir.BufferStore(a, tir.BufferLoad(a, [i]) + tir.BufferLoad(a, [i + 1]), [i + 1]),
    )
    data = np.ones(8, "int32")
    interp.run(tir.PrimFunc([a], running), data)
    np.testing.assert_array_equal(data, np.arange(1, 9))


def test_shared_memory_runs_in_order() -> None:
    a, b = tir.decl_buffer((8,), "int32", name="a"), tir.decl_buffer((8,), "int32", name="b")
    shift = loop(7, lambda i: tir.BufferStore(b, tir.BufferLoad(a, [i]), [i + 1]))
    data = np.arange(8, dtype="int32")
    interp.run(tir.PrimFunc([a, b], shift), data, data)
    np.testing.assert_array_equal(data, np.zeros(8))


def test_large_nests_run_in_parts(monkeypatch: Any) -> None:
    monkeypatch.setattr(nest, "MAX_ITERATIONS", 16)
    a = te.placeholder((6, 7), name="a")
    func = te.create_prim_func([a, te.compute((6, 7), lambda i, j: a[i, j] * 2.0)])
    x, out = np.random.default_rng(0).random((6, 7), "float32"), np.empty((6, 7), "float32")
    interp.run(func, x, out)
    np.testing.assert_array_equal(out, x * 2)


def test_lets_within_guards(monkeypatch: Any) -> None:
    a = te.placeholder((8,), name="a")

    def body(i: tir.Var) -> tir.PrimExpr:
        v = tir.Var("v", "float32")
        return tir.if_then_else(i < 5, tir.Let(v, a[i + 3], v * v), tir.Let(v, a[i], v + v))

    func = te.create_prim_func([a, te.compute((8,), body)])
    both_ways(func, monkeypatch, np.arange(8, dtype="float32"), np.empty(8, "float32"))


@pytest.mark.parametrize(
    ("place", "distinct"),
    [(lambda i: i // 4 + 8 * (i % 4), True), (lambda i: i // 4 + 4 * (i % 4), False),
     (lambda i: 4000 - i * i * 100, True)],
    ids=["transposed", "overlapping", "far apart"],
)  # fmt: skip
def test_scattered_stores(monkeypatch: Any, place: Any, distinct: bool) -> None:
    a, b = tir.decl_buffer((32,), "int32", name="a"), tir.decl_buffer((4096,), "int32", name="b")
    extent = 6 if place(1) == 3900 else 32
    func = tir.PrimFunc(
        [a, b], loop(extent, lambda i: tir.BufferStore(b, tir.BufferLoad(a, [i]), [place(i)]))
    )
    out = np.zeros(4096, "int32")
    both_ways(func, monkeypatch, np.arange(1, 33, dtype="int32"), out)
    assert (np.count_nonzero(out) == extent) == distinct


def test_what_runs_at_once() -> None:
    a = te.placeholder((8, 6), name="a")
    moved = te.compute((6, 8), lambda i, j: a[j, i], name="moved")
    twice = te.compute((6, 8), lambda i, j: moved[i, j] * 2.0, name="twice")
    k = te.reduce_axis((0, 6), "k")
    summed = te.compute((8,), lambda i: te.sum(a[i, k], axis=k), name="summed")
    assert interp.runs_at_once(te.create_prim_func([a, moved]))
    assert interp.runs_at_once(te.create_prim_func([a, twice]))
    assert not interp.runs_at_once(te.create_prim_func([a, summed]))
    chain = loop(8, lambda i: tir.SeqStmt([tir.Evaluate(i), tir.Evaluate(i)]))
    assert not interp.runs_at_once(tir.PrimFunc([], chain))


@pytest.mark.parametrize("bound", [0, 3])
def test_guards_within_a_block_are_not_those_of_its_init(monkeypatch: Any, bound: int) -> None:
    a, k = te.placeholder((6, 7), name="a"), te.reduce_axis((0, 7), "k")
    total = te.compute((6,), lambda i: te.sum(a[i, k], k, where=k.var > bound))
    func = te.create_prim_func([a, total])
    data = np.arange(42, dtype="float32").reshape(6, 7)
    found = np.full(6, 99, "float32")
    both_ways(func, monkeypatch, data, found)
    interp.run(func, data, found)
    np.testing.assert_array_equal(found, data[:, bound + 1 :].sum(1))
