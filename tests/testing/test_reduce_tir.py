"""Each kind of statement and expression, made simpler."""

from __future__ import annotations

import pytest

import tvm
from tvm.ir import IRModule
from tvm.script import tir as T
from tvm.testing.reduce_tir import prim_func_edits
from tvm.tir.function import PrimFunc

pytestmark = pytest.mark.pure


def _stores(mod: IRModule, value: str) -> bool:
    return value in mod["main"].script()


def test_scopes_around_a_store_go() -> None:
    @T.prim_func
    def main(a: T.Buffer((8,), "int32"), n: T.int32):
        assert n > 0, "n"
        x = T.let(T.int32, n * 2) if False else n + 1
        T.attr(0, "pragma", 1)
        w = T.decl_buffer((4,), "int32")
        w[0] = x
        while w[0] > 0:
            if w[0] > 3:
                a[0] = T.max(77, x)
            else:
                a[1] = 5

    small = tvm.testing.reduce(main, lambda mod: _stores(mod, "77"))
    text = small["main"].script()
    for gone in ("assert", "attr", "while", "if ", "max", "decl_buffer", "n:"):
        assert gone not in text, text


def test_blocks_and_their_parts_go() -> None:
    @T.prim_func
    def main(a: T.Buffer((8, 8), "float32"), b: T.Buffer((8,), "float32")):
        for i, j in T.grid(8, 8):
            with T.block("sum"):
                vi, vj = T.axis.remap("SR", [i, j])
                T.where(i < 7)
                T.block_attr({"key": 1})
                with T.init():
                    b[vi] = T.float32(0)
                b[vi] = b[vi] + T.sqrt(a[vi, vj])

    small = tvm.testing.reduce(main, lambda mod: _stores(mod, "T.sqrt"))
    text = small["main"].script()
    for gone in ("block", "for ", "init", "where"):
        assert gone not in text, text


def test_edits_are_made_when_they_are_called() -> None:
    @T.prim_func
    def main(a: T.Buffer((8,), "int32")):
        for i in T.parallel(8):
            a[i] = i

    texts = [made.script() for edit in prim_func_edits(main) if (made := edit()) is not None]
    assert all(isinstance(text, str) for text in texts)
    assert any("a[0] = 0" in text for text in texts)
    assert any("for i in range(8):" in text for text in texts)
    assert isinstance(main, PrimFunc)
    assert "T.parallel" in main.script()
