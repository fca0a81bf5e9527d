"""Work tells how far it is; nobody has to listen."""

from __future__ import annotations

import threading

import pytest

import tvm
from tvm.ir.transform import Sequential, module_pass
from tvm.support.progress import advance, listening, one_stage

pytestmark = pytest.mark.pure

Told = list[tuple[str, int, int]]


def test_listeners_hear_within_their_scope() -> None:
    told: Told = []
    advance("before", 0, 1)
    with listening(lambda *step: told.append(step)):
        advance("lower", 1, 3)
    advance("after", 0, 1)
    assert told == [("lower", 1, 3)]


def test_stages_within_one_are_not_told() -> None:
    told: Told = []
    with listening(lambda *step: told.append(step)), one_stage() as tell:
        advance("inner", 0, 9)
        tell("outer", 1, 2)
    assert told == [("outer", 1, 2)]


def test_other_threads_are_not_heard() -> None:
    told: Told = []
    with listening(lambda *step: told.append(step)):
        other = threading.Thread(target=advance, args=("elsewhere", 0, 1))
        other.start()
        other.join()
    assert told == []


def test_sequences_of_passes_tell_where_they_are() -> None:
    told: Told = []
    passes = [module_pass(lambda mod, ctx: mod, opt_level=0, name=name) for name in "ab"]
    with listening(lambda *step: told.append(step)):
        Sequential(passes)(tvm.IRModule({}))
    assert told == [("a", 0, 2), ("b", 1, 2)]
