"""Computed extents of parameters get names."""

from __future__ import annotations

import tvm
from tvm import te, tir
from tvm.script import tir as T
from tvm.tir.transform.name_extents import NameExtents


def after(func: tir.PrimFunc) -> tir.PrimFunc:
    return NameExtents()(tvm.IRModule({"main": func}))["main"]


def test_what_no_buffer_tells_is_named() -> None:
    @T.prim_func
    def before(x: T.handle, y: T.handle, w: T.int64):
        X = T.match_buffer(x, ((w - T.int64(1)) // T.int64(4) + T.int64(1),))
        Y = T.match_buffer(y, ((w - T.int64(1)) // T.int64(4) + T.int64(5),))
        for i in range((w - T.int64(1)) // T.int64(4) + T.int64(5)):
            with T.block("pad"):
                v = T.axis.spatial((w - T.int64(1)) // T.int64(4) + T.int64(5), i)
                Y[v] = T.if_then_else(
                    T.int64(2) <= v and v < (w - T.int64(1)) // T.int64(4) + T.int64(3),
                    X[v - T.int64(2)], T.float32(0)
                )  # fmt: skip

    @T.prim_func
    def expected(x: T.handle, y: T.handle, w: T.int64):
        n = T.int64(is_size_var=True)
        X = T.match_buffer(x, (n,))
        Y = T.match_buffer(y, (n + T.int64(4),))
        for i in range(n + T.int64(4)):
            with T.block("pad"):
                v = T.axis.spatial(n + T.int64(4), i)
                Y[v] = T.if_then_else(
                    T.int64(2) <= v and v < n - T.int64(1) + T.int64(3),
                    X[v - T.int64(2)], T.float32(0)
                )  # fmt: skip

    found, wanted = (f.without_attr("global_symbol") for f in (after(before), expected))
    tvm.ir.assert_structural_equal(found, wanted)


def test_what_a_buffer_tells_stays() -> None:
    h = te.size_var("h")
    a = te.placeholder((h,), name="A")
    b = te.compute(((h - 1) // 2 + 1,), lambda i: a[i * 2], name="B")
    func = te.create_prim_func([a, b])
    assert after(func) is func


def test_sizes_of_several_steps() -> None:
    w = tir.SizeVar("w", "int64")
    once = (w - 1) // 2 + 1
    a = tir.decl_buffer((once, 3), name="A")
    b = tir.decl_buffer(((once - 1) // 2 + 1, 3), name="B")
    handles = [tir.Var("a", "handle"), tir.Var("b", "handle")]
    store = tir.BufferStore(b, tir.BufferLoad(a, [0, 0]), [0, 0])
    func = tir.PrimFunc([*handles, w], store, None, dict(zip(handles, (a, b))))
    named = after(func)
    first, second = (named.buffer_map[p].shape[0] for p in named.params[:2])
    assert isinstance(first, tir.Var)
    tvm.ir.assert_structural_equal(second, (first - 1) // 2 + 1)
    assert named.body.buffer is named.buffer_map[named.params[1]]


def test_comparisons_of_what_may_be_no_number_stay() -> None:
    @T.prim_func
    def before(x: T.handle, y: T.handle, w: T.int64):
        X = T.match_buffer(x, (T.max(w - T.int64(5), T.int64(0)),))
        Y = T.match_buffer(y, (T.max(w - T.int64(5), T.int64(0)),), "int64")
        for i in range(T.max(w - T.int64(5), T.int64(0))):
            Y[i] = T.Select(
                X[i] == X[i] and not X[i] <= X[0], i, T.max(w - T.int64(5), T.int64(0))
            )

    text = after(before).script()
    assert "Y[i] = T.Select(X[i] == X[i] and not X[i] <= X[0], i, n0)" in text
