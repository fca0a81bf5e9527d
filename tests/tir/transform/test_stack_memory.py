"""Small pieces of scratch memory lie on the stack, but no more than it has room for."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backend.llvm import kernel
from tests.backend.llvm.kernel import i32, run
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.transform.stack_memory import LOCAL_BYTES, PIECE_BYTES, TOTAL_BYTES, StackMemory

pytestmark = pytest.mark.cpu


def allocation(
    extent: e.PrimExpr | int, scope: str = "global", dtype: str = "int8"
) -> s.Allocate:
    data = decl_buffer((1,), dtype, "piece", scope=scope).data
    return s.Allocate(data, dtype, [extent], True, s.Evaluate(i32(0)))


def test_pieces_are_small_and_of_known_size() -> None:
    stack = StackMemory()
    assert stack.take(allocation(PIECE_BYTES)) == PIECE_BYTES
    assert stack.take(allocation(PIECE_BYTES + 1)) is None
    assert stack.take(allocation(PIECE_BYTES // 4 + 1, dtype="float32")) is None
    assert stack.take(allocation(LOCAL_BYTES, "local")) == LOCAL_BYTES
    assert stack.take(allocation(e.Var("n", "int32"))) is None


def test_all_pieces_together_are_bounded() -> None:
    stack = StackMemory()
    pieces = [stack.take(allocation(PIECE_BYTES)) for _ in range(40)]
    assert [p for p in pieces if p is not None] == [PIECE_BYTES] * (TOTAL_BYTES // PIECE_BYTES)
    assert stack.take(allocation(0)) == 0


@pytest.mark.parametrize(("target", "count"), [("llvm", 132), ("c", 20)])
def test_a_function_with_more_scratch_memory_than_a_stack(
    target: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel, "TARGET", target)

    def body(b: Buffer) -> s.Stmt:
        size = LOCAL_BYTES // 4
        pieces = [decl_buffer((size,), "float32", f"s{n}", scope="local") for n in range(count)]
        fill = []
        for piece in pieces:
            i = e.Var("i", "int32")
            fill.append(s.For(i, 0, size, s.ForKind.SERIAL,
                              s.BufferStore(piece, e.Cast("float32", i), [i])))  # fmt: skip
        total, place = e.BufferLoad(b, [i32(0)]), e.Cast("int32", e.BufferLoad(b, [i32(1)]))
        add = [s.BufferStore(b, e.Add(total, e.BufferLoad(p, [place])), [i32(0)]) for p in pieces]
        nest: s.Stmt = s.SeqStmt([*fill, *add])
        for piece in reversed(pieces):
            nest = s.Allocate(piece.data, "float32", [size], True, nest)
        return nest

    out = np.array([0, 7], "float32")
    assert run(body, out) == 0
    assert out[0] == 7 * count
