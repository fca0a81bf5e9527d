"""`T` as one module: decorators, annotations, words found by name."""

from __future__ import annotations

import pytest

from tvm.ir import assert_structural_equal
from tvm.script import tir as T
from tvm.tir.script import language

pytestmark = pytest.mark.pure


def test_the_door_shows_the_language() -> None:
    for name in ("Buffer", "prim_func", "macro", "inline", "grid", "int8", "float8_e4m3fnx4"):
        assert getattr(T, name) is getattr(T, name)
        assert type(getattr(T, name)) is type(getattr(language, name))
    assert {"Buffer", "inline", "grid", "int32"} <= set(dir(T))
    with pytest.raises(AttributeError, match="no word 'nonsense'"):
        language.nonsense
    with pytest.raises(AttributeError):
        language._private


def test_inline_is_a_macro() -> None:
    @T.inline
    def store(A, i):  # type: ignore[no-untyped-def]
        A[i] = T.float32(1)

    @T.prim_func
    def by_inline(A: T.Buffer((4,))):
        for i in range(4):
            store(A, i)

    @T.prim_func
    def by_hand(A: T.Buffer((4,))):
        for i in range(4):
            A[i] = T.float32(1)

    assert_structural_equal(by_inline.without_attr("global_symbol"),
                            by_hand.without_attr("global_symbol"))  # fmt: skip


def test_evaluations_of_zero_are_dropped_beside_others():
    @T.prim_func
    def func(A: T.Buffer((4,), "int32")):
        T.evaluate(0)
        for i in range(4):
            T.evaluate(0)
            A[i] = 1
            T.evaluate(T.int64(0))
        if A[0] > 1:
            T.evaluate(0)

    loop, branch = func.body.seq
    assert type(loop.body).__name__ == "BufferStore"
    assert branch.then_case.value.value == 0
