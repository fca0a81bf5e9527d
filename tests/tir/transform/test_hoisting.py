from __future__ import annotations

import pytest

from tvm.script import tir as T
from tvm.tir import stmt as s
from tvm.tir.functor import walk
from tvm.tir.transform.hoisting import HoistedConditionals, HoistedLetBindings, hoist

pytestmark = pytest.mark.pure


@T.prim_func(private=True)
def choices(A: T.Buffer((64,), "int32"), m: T.int32):
    for i in range(64):
        A[i] = (
            T.if_then_else(m > 1, 1, i)
            + T.if_then_else(m > 2, 2, i)
            + T.if_then_else(m > 3, 3, i)
            + T.if_then_else(m > 4, 4, i)
            + T.if_then_else(m > 5, 5, i)
        )


def test_copies_of_a_loop_are_few() -> None:
    func = hoist(choices, HoistedConditionals.All, HoistedLetBindings.Never)
    loops = [node.loop_var for node in walk(func.body) if isinstance(node, s.For)]
    assert len(loops) == 16
    assert len(set(loops)) == 16


def test_nothing_to_hoist() -> None:
    assert hoist(choices, HoistedConditionals.IfElseStmt, HoistedLetBindings.All) is choices
