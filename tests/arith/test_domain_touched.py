"""The box that accesses touch."""

from __future__ import annotations

import pytest

from tvm.arith import _ffi_api
from tvm.arith.domain_touched import domain_touched
from tvm.error import CheckError
from tvm.tir import decl_buffer
from tvm.tir import expr as e
from tvm.tir import stmt as s

pytestmark = pytest.mark.pure
i, j = e.Var("i", "int32"), e.Var("j", "int32")


def nest(body: s.Stmt) -> s.Stmt:
    return s.For(i, 0, 16, 0, s.For(j, 0, 8, 0, body))


def test_loads_and_stores() -> None:
    a, b = decl_buffer((64, 64), name="a"), decl_buffer((64, 64), name="b")
    body = nest(s.BufferStore(a, a[i - 1, j] + b[i, j * 2], [i, j + 4]))
    show = lambda ranges: [(int(r.min), int(r.extent)) for r in ranges]
    assert show(domain_touched(body, a, True, False)) == [(-1, 16), (0, 8)]
    assert show(domain_touched(body, a, False, True)) == [(0, 16), (4, 8)]
    assert show(domain_touched(body, a)) == [(-1, 17), (0, 12)]
    assert show(_ffi_api.DomainTouched(body, b, True, True)) == [(0, 16), (0, 15)]
    assert domain_touched(body, b, False, True) == []
    with pytest.raises(CheckError, match="at least one of loads and stores"):
        domain_touched(body, a, False, False)


def test_names_for_values() -> None:
    a, v = decl_buffer((64,), name="a"), e.Var("v", "int32")
    body = nest(s.LetStmt(v, i * 2, s.BufferStore(a, 0.0, [v + 1])))
    found = domain_touched(body, a)
    assert [(int(r.min), int(r.extent)) for r in found] == [(1, 31)]
