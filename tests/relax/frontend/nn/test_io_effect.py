"""The effect that keeps prints in order."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.relax.frontend import nn

pytestmark = pytest.mark.pure


def test_a_token_goes_through() -> None:
    effect = nn.IOEffect()
    bb = relax.BlockBuilder()
    with bb.function("main", []):
        (first,) = effect.emit_init("a", bb)
        bb.emit_func_output(first)
    assert first.name_hint == "a_io"
    assert "R.null_value()" in bb.get().script()
    (made,) = effect.create("b")
    assert effect.finalize() == [made]
    effect.set_state([first])
    assert effect.finalize() == [first]
    assert effect.effect is None
