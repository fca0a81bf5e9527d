from __future__ import annotations

import pytest

from tvm.ir.expr import Range
from tvm.script import tir as T
from tvm.tir import expr as e
from tvm.tir.buffer import decl_buffer
from tvm.tir.stmt import BufferStore
from tvm.tir.transform.shared_accesses import (
    READ,
    WRITE,
    Access,
    Conflicts,
    accesses_in,
    over,
    scope_of,
)

pytestmark = pytest.mark.pure

S = decl_buffer((64,), "float32", "S", scope="shared")
tx = e.Var("tx", "int32")
i = e.Var("i", "int32")
THREADS = [e.IterVar(Range(0, 32), tx, e.IterVar.ThreadIndex, "threadIdx.x")]


def store(index: object, value: object = 1.0) -> list[Access]:
    return list(accesses_in(BufferStore(S, T.float32(value), [index]), "shared"))


def load(index: object) -> list[Access]:
    return list(accesses_in(e.BufferLoad(S, [index]), "shared"))


def test_kinds_and_scopes() -> None:
    assert [a.kind for a in store(tx)] == [WRITE]
    assert [a.kind for a in load(tx)] == [READ]
    assert list(accesses_in(e.BufferLoad(S, [tx]), "local")) == []
    assert scope_of(S.data) == "shared"
    assert scope_of(e.Var("p", "handle")) == "global"


def test_conflicts() -> None:
    conflicts = Conflicts(THREADS, [], "shared")
    (write,) = store(tx)
    assert not conflicts.between(write, load(tx)[0])
    assert conflicts.between(write, load(31 - tx)[0])
    assert not conflicts.between(write, load(tx + 32)[0])
    assert conflicts.between(store(i)[0], load(i)[0]), "every thread writes it"


def test_of_iterations() -> None:
    dom = Range(0, 2)
    (write,) = store(i * 32 + tx)
    every = over(write, i, dom)
    assert every.points is None
    conflicts = Conflicts(THREADS, [], "shared")
    assert conflicts.between(every, load(tx)[0])
    assert not conflicts.between(every, load(tx + 64)[0])
