"""Operators and nodes that a body uses."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.script import tir as T
from tvm.tir.transform.nodes_used import nodes_used

pytestmark = pytest.mark.pure


@T.prim_func
def main(A: T.Buffer((8,), "float32"), n: T.int32):
    for i in range(8):
        if n % 3 == 0:
            A[i] = T.exp(A[i] + T.float32(1)) * T.call_extern("float32", "f", T.sqrt(A[0]))


def test_operators_and_nodes() -> None:
    words = nodes_used(main.body)
    assert {"tir.exp", "tir.sqrt", "tir.call_extern", "FloorMod", "For", "IfThenElse"} <= words
    assert "tir.log" not in words
    assert "FloorDiv" not in words


def test_a_body_is_walked_once() -> None:
    assert nodes_used(main.body) is nodes_used(main.body)
    bodies = [tir.Evaluate(tir.exp(tir.Var(f"x{i}", "float32"))) for i in range(20)]
    assert [nodes_used(body) for body in bodies] == [{"Evaluate", "tir.exp"}] * 20
    assert nodes_used(main.body) >= {"tir.exp", "For"}, "it was forgotten meanwhile"
