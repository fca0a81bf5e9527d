"""Statements: what constructors check, sequences, regions."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.ir import Range

pytestmark = pytest.mark.pure
A = tir.decl_buffer((8, 16), "float32", "A")
I32 = tir.Var("i", "int32")
NOTHING = tir.Evaluate(0)


def test_loops() -> None:
    loop = tir.For(I32, 0, 8, tir.ForKind.PARALLEL, NOTHING)
    assert loop.kind == tir.ForKind.PARALLEL == 1
    wide = tir.For(tir.Var("j", "int64"), 0, 8, 0, NOTHING)
    assert wide.extent.dtype == "int64"
    with pytest.raises(TypeError, match="For: the loop variable is int32, a bound is int64"):
        tir.For(I32, 0, tir.Var("n", "int64"), 0, NOTHING)
    with pytest.raises(TypeError, match="For: loop variable x is float32"):
        tir.For(tir.Var("x", "float32"), 0.0, 8.0, 0, NOTHING)


def test_stores_check_the_type() -> None:
    with pytest.raises(TypeError, match="BufferStore: A holds float32 at this place"):
        tir.BufferStore(A, 1, [0, 0])
    tir.BufferStore(A, tir.Broadcast(1.0, 4), [0, tir.Ramp(0, 1, 4)])
    flags = tir.decl_buffer((4,), "bool", "flags")
    tir.BufferStore(flags, tir.const(1, "int8"), [0])


def test_other_checks() -> None:
    with pytest.raises(TypeError, match="AssertStmt: the condition is int32"):
        tir.AssertStmt(I32, "message", NOTHING)
    with pytest.raises(TypeError, match="Allocate: i is int32; legal: a variable of pointer type"):
        tir.Allocate(I32, "float32", [4], True, NOTHING)
    with pytest.raises(TypeError, match="LetStmt: variable i is int32"):
        tir.LetStmt(I32, 1.0, NOTHING)
    block = tir.Block([tir.IterVar((0, 4), "v", 0)], [], [], "b", NOTHING)
    with pytest.raises(tvm.TVMError, match="block 'b' has 1 iteration variables, 0 values"):
        tir.BlockRealize([], True, block)
    with pytest.raises(tvm.TVMError, match="A has 2 dimensions, the region 1"):
        tir.BufferRegion(A, [Range(0, 1)])


def test_sequences_flatten() -> None:
    a, b = tir.Evaluate(I32), tir.Evaluate(I32 + 1)
    flat = tir.SeqStmt.flatten(a, tir.SeqStmt([b, tir.SeqStmt([a])]), NOTHING, None)
    assert list(flat) == [a, b, a]
    assert len(flat) == 3
    assert tir.SeqStmt.flatten(a) is a
    assert isinstance(tir.SeqStmt.flatten(), tir.Evaluate)
    assert tir.stmt_list(tir.stmt_seq(a, b)) == [a, b]


def test_regions() -> None:
    full = tir.BufferRegion.full_region(A)
    assert [int(r.extent) for r in full.region] == [8, 16]
    point = tir.BufferRegion.from_point(A, [I32, 3])
    assert isinstance(point.as_prim_expr(), tir.BufferLoad)
    row = tir.BufferRegion(A, [Range.from_min_extent(I32, 1), Range(0, 16)])
    assert row.as_prim_expr().dtype == "float32x16"
    with pytest.raises(TypeError, match="stands for no single load"):
        full.as_prim_expr()


def test_constants_by_data_or_by_place() -> None:
    pointer = tvm.ir.PointerType(tvm.ir.PrimType("int32"))
    var = tir.Var("c", pointer)
    by_data = tir.AllocateConst(var, "int32", [3], np.arange(3, dtype="int32"), NOTHING)
    assert by_data.data.numpy().tolist() == [0, 1, 2]
    by_place = tir.AllocateConst(var, "int32", [3], 7, NOTHING)
    assert by_place.irmod_storage_idx == 7
    assert by_place.data is None


def test_bodies_are_statements() -> None:
    x = tir.Var("x", "int32")
    for make in (
        lambda: tir.For(x, 0, 4, tir.ForKind.SERIAL, 1),
        lambda: tir.SeqStmt([tir.Evaluate(0), 1]),
        lambda: tir.IfThenElse(x > 1, tir.Evaluate(0), 1),
        lambda: tir.Block([], [], [], "b", 1),
        lambda: tir.LetStmt(x, 1, x + 1),
    ):
        with pytest.raises(TypeError, match="a statement is wanted here, found"):
            make()


def test_kinds_of_axes_are_known() -> None:
    with pytest.raises(tvm.TVMError, match=r"iter_type is 99; legal: 0 \(DataPar\)"):
        tir.IterVar((0, 4), "i", 99)
