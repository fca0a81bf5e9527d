"""The state of the compiler's files."""

from __future__ import annotations

from tvm.support import compiler_state as state


def test_the_state_is_one_word() -> None:
    assert state.compiler_state() == state.compiler_state()
    assert len(state.compiler_state()) == 128
