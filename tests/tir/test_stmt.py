"""Statements: what constructors check, sequences, regions."""

from __future__ import annotations

from collections.abc import Callable

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
    for size in (tir.IntImm("int64", 8), tir.const(8, "uint16")):
        with pytest.raises(tvm.TVMError, match="For: the loop variable is int8, a bound is"):
            tir.For(tir.Var("i", "int8"), 0, size, 0, NOTHING)
    with pytest.raises(tvm.TVMError, match="legal: bounds of the variable's type"):
        tir.For(tir.Var("j", "int64"), 0, tir.Var("n", "int32"), 0, NOTHING)
    assert tir.For(tir.Var("j", "int64"), 0, tir.IntImm("int32", 8), 0, NOTHING).extent.value == 8
    with pytest.raises(TypeError, match="For: loop variable x is float32"):
        tir.For(tir.Var("x", "float32"), 0.0, 8.0, 0, NOTHING)


def test_stores_check_the_type() -> None:
    with pytest.raises(TypeError, match="BufferStore: A holds float32 at this index"):
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
    nested = tir.SeqStmt([b, tir.SeqStmt([a, b])])
    assert list(nested) == [b, a, b]
    flat = tir.SeqStmt.flatten(a, nested, NOTHING, None)
    assert list(flat) == [a, b, a, b]
    assert len(flat) == 4
    assert tir.SeqStmt.flatten(a) is a
    assert isinstance(tir.SeqStmt.flatten(), tir.Evaluate)
    inner = tir.SeqStmt([tir.Evaluate(1), tir.Evaluate(0)])
    assert [part.value.value for part in tir.SeqStmt([inner, tir.Evaluate(2)])] == [1, 2]
    assert tir.stmt_list(tir.stmt_seq(a, b)) == [a, b]


@pytest.mark.parametrize("few", [[], [NOTHING], [tir.SeqStmt([NOTHING, NOTHING])]])
def test_sequences_hold_two_statements(few: list[tir.Stmt]) -> None:
    with pytest.raises(tvm.error.InternalError, match="is prohibited"):
        tir.SeqStmt(few)


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


BLOCK = tir.Block([], [], [], "b", NOTHING)
POINTER = A.data


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: tir.For("i", 0, 4, 0, NOTHING), "For: loop_var is a str: 'i'; legal: Var"),
        (lambda: tir.LetStmt(3, 1, NOTHING), "LetStmt: var is a int: 3; legal: Var"),
        (lambda: tir.Allocate("p", "int8", [4], True, NOTHING), "buffer_var is a str"),
        (lambda: tir.Allocate(POINTER, "int8", [4], I32, NOTHING), "the condition is int32"),
        (lambda: tir.Allocate(POINTER, "int8", [1.5], True, NOTHING), "is float32; legal: int"),
        (lambda: tir.BufferStore(I32, 1, [0]), "BufferStore: buffer is a Var"),
        (lambda: tir.BufferLoad(I32, [0]), "BufferLoad: buffer is a Var"),
        (lambda: tir.DeclBuffer(I32, NOTHING), "DeclBuffer: buffer is a Var"),
        (lambda: tir.BufferRealize(A, [1, 2], True, NOTHING), "bounds is a int: 1; legal: Range"),
        (lambda: tir.BufferRegion(A, [0, 1]), "ranges is a int: 0; legal: Range"),
        (lambda: tir.BufferRegion(A, 3), "ranges are a int; legal: a list of Range"),
        (lambda: tir.MatchBufferRegion(A, A), "source is a Buffer"),
        (lambda: tir.Block([I32], [], [], "b", NOTHING), "iter_vars is a Var"),
        (lambda: tir.Block([], [A], [], "b", NOTHING), "reads is a Buffer"),
        (lambda: tir.Block([], [], A, "b", NOTHING), "writes are a Buffer"),
        (lambda: tir.Block([], [], [], 3, NOTHING), "name_hint is a int"),
        (lambda: tir.BlockRealize([], True, NOTHING), "block is a Evaluate"),
        (lambda: tir.SeqStmt(NOTHING), "seq is a Evaluate"),
        (lambda: tir.PrimFunc([I32], I32), "a statement is wanted here"),
        (lambda: tir.PrimFunc([I32], NOTHING, buffer_map={"i": A}), "a key of buffer_map is a str"),
        (lambda: tir.PrimFunc([I32], NOTHING, buffer_map={I32: 1}), "a value of buffer_map"),
        (lambda: tir.Call("int32", I32, []), "Call: op is a Var"),
        (lambda: tir.Call("float32", "tir.exp", 1), "Call: args are a int"),
        (lambda: tir.StringImm(1), "StringImm: value is a int"),
        (lambda: tir.Var(1, "int32"), "Var: the name is of type int"),
        (lambda: tir.SizeVar(None, "int32"), "SizeVar: the name is of type NoneType"),
        (lambda: tir.IterVar((0, 1), 3, 0), "the name is of type int"),
        (lambda: tvm.ir.GlobalVar(1), "GlobalVar: name_hint is a int"),
    ],
)
def test_parts_are_of_their_kinds(make: Callable[[], object], words: str) -> None:
    with pytest.raises(TypeError) as error:
        make()
    assert words in str(error.value)


def view(**options: object) -> tir.MatchBufferRegion:
    whole = tir.BufferRegion.full_region(A)
    return tir.MatchBufferRegion(tir.decl_buffer((8, 16), **{"dtype": "float32", **options}), whole)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"dtype": "float16"}, "data type mismatch: float16 vs. float32"),
        ({"scope": "shared"}, "scope mismatch: shared vs. global"),
        ({"data_alignment": 256}, "lower alignment requirement"),
        ({"buffer_type": "auto_broadcast"}, "AutoBroadcast is not allowed"),
    ],
)
def test_views_are_of_the_kind_of_their_source(options: dict[str, object], words: str) -> None:
    assert view().buffer.scope() == "global"
    with pytest.raises(tvm.error.InternalError, match=words):
        view(**options)
    deep = tir.decl_buffer((1, 8, 16), "float32")
    with pytest.raises(tvm.error.InternalError, match="larger or equal than target buffer shape"):
        tir.MatchBufferRegion(deep, tir.BufferRegion.full_region(A))
    for shape, words in [((8, 8), "mismatched .* got 16 vs. 8"), ((16,), "be 1, but got 8")]:
        with pytest.raises(tvm.error.InternalError, match=words):
            tir.MatchBufferRegion(tir.decl_buffer(shape), tir.BufferRegion.full_region(A))


def test_kinds_of_axes_are_known() -> None:
    assert tir.IterVar((0, 4), None, 0).var.name == "iter"
    with pytest.raises(tvm.TVMError, match=r"iter_type is 99; legal: 0 \(DataPar\)"):
        tir.IterVar((0, 4), "i", 99)
