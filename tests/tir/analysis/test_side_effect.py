"""Effects of expressions."""

import pytest

from tvm import tir
from tvm.tir import expr as e
from tvm.tir.analysis.side_effect import is_pure, side_effect
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
