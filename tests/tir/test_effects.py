"""Effects of expressions."""

import pytest

from tvm import tir
from tvm.tir import expr as e
from tvm.tir.effects import (
    has_effect,
    has_stateful_call,
    is_pure,
    reads_memory,
    side_effect,
)
from tvm.tir.expr import CallEffectKind

pytestmark = pytest.mark.pure


def test_strongest_effect() -> None:
    x, a = e.Var("x", "int32"), tir.decl_buffer((4,))
    assert side_effect(x + 1) == CallEffectKind.Pure
    assert side_effect(tir.exp(a[x]) + 1.0) == CallEffectKind.ReadState
    assert side_effect(tir.call_extern("int32", "f", x) + 1) == CallEffectKind.UpdateState
    assert side_effect(tir.tvm_access_ptr("handle", a.data, 0, 1, 1)) > CallEffectKind.Pure
    assert is_pure(tir.likely(x < 3))
    assert not is_pure(a[x])


def test_reads_are_no_effects_and_effects_may_read() -> None:
    x, a = e.Var("x", "int32"), tir.decl_buffer((4,))
    called = tir.call_extern("int32", "f", x) + 1
    asked = [a[x] + 1.0, called, tir.call_pure_extern("int32", "f", x), tir.likely(x < 3)]
    assert [reads_memory(one) for one in asked] == [True, True, False, False]
    assert [has_effect(one) for one in asked] == [False, True, False, False]
    assert [has_stateful_call(one) for one in asked] == [False, True, False, False]
