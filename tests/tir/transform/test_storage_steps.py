from __future__ import annotations

import pytest

from tvm.script import tir as T
from tvm.tir.transform.storage_steps import Steps

pytestmark = pytest.mark.pure


def test_a_loop_is_one_step_for_what_is_allocated_outside() -> None:
    @T.prim_func
    def func(P: T.Buffer((8,))):
        A = T.decl_buffer((8,))
        for i in range(8):
            B = T.decl_buffer((1,))
            B[0] = P[i]
            A[i] = B[0]
        P[0] = A[1]

    found = Steps(func.body)
    events = [
        (type(step.stmt).__name__, phase, [v.name for v in step.born], [v.name for v in step.dying])
        for step, phase in found.timeline
    ]
    assert events == [
        ("For", Steps.BEGIN, ["A"], []),
        ("BufferStore", Steps.WHOLE, ["B"], []),
        ("BufferStore", Steps.WHOLE, [], ["B"]),
        ("For", Steps.END, ["A"], []),
        ("BufferStore", Steps.WHOLE, [], ["A"]),
    ]


def test_memory_with_another_name_is_fixed() -> None:
    @T.prim_func
    def func(P: T.Buffer((8,))):
        A = T.decl_buffer((8,))
        other: T.handle("float32") = T.address_of(A[2])
        B = T.decl_buffer((4,), data=other)
        B[0] = P[0]
        P[1] = A[2]

    assert [var.name for var in Steps(func.body).fixed] == ["A"]


def test_values_that_lets_name_are_uses() -> None:
    @T.prim_func
    def func(P: T.Buffer((8,))):
        A = T.decl_buffer((8,))
        A[0] = P[0]
        x: T.float32 = A[0]
        P[1] = x

    first, last = [step for step, _ in Steps(func.body).timeline]
    assert [v.name for v in first.born] == ["A"]
    assert type(last.stmt).__name__ == "Evaluate"
    assert [v.name for v in last.dying] == ["A"]
