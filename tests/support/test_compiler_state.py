"""The state of the compiler: its files, and rules that others brought."""

from __future__ import annotations

import functools

import pytest

from tvm.support import compiler_state as state


def test_rules_of_others_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_customised", False)
    state.note_rule("a word")
    state.note_rule(functools.partial(state.compiler_state))
    state.note_rule(state.customised)
    assert not state.customised()
    state.note_rule(functools.partial(test_rules_of_others_are_noticed))
    assert state.customised()


def test_operators_bring_rules_of_ours_only() -> None:
    import subprocess
    import sys

    program = (
        "import tvm; from tvm import relax; from tvm.ir.op import OPS; OPS.names()\n"
        "from tvm.support.compiler_state import customised\n"
        "print(customised())\n"
        "tvm.ir.register_op_attr('relax.add', 'FLegalize', lambda bb, call: call, level=11)\n"
        "print(customised())"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == ["False", "True"], done.stderr


def test_the_state_is_one_word() -> None:
    assert state.compiler_state() == state.compiler_state()
    assert len(state.compiler_state()) == 128
