from collections.abc import Iterator

import pytest

import tvm
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.functor import walk
from tvm.tir.transform import UnmaskLocalVectors, unmask_local_vectors

pytestmark = pytest.mark.pure


class TestRowsOfFour(PassTest):
    """Rows of six elements in vectors of eight get eight places each."""

    run = UnmaskLocalVectors()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        data = T.allocate([12], "float32", "local")
        C = T.decl_buffer((12,), "float32", data=data, scope="local")
        m = T.meta_var(T.Ramp(0, 1, 8) < T.Broadcast(6, 8))
        C.vstore([T.Ramp(0, 1, 8)], T.Broadcast(T.float32(0), 8), predicate=m)
        C.vstore([T.Ramp(6, 1, 8)], A.vload([T.Ramp(6, 1, 8)], predicate=m), predicate=m)
        C.vstore(
            [T.Ramp(0, 1, 8)],
            C.vload([T.Ramp(0, 1, 8)], predicate=m) + A.vload([T.Ramp(0, 1, 8)], predicate=m),
            predicate=m,
        )
        B.vstore([T.Ramp(0, 1, 8)], C.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)
        B.vstore([T.Ramp(6, 1, 8)], C.vload([T.Ramp(6, 1, 8)], predicate=m), predicate=m)

    @T.prim_func
    def Expected(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        data = T.allocate([16], "float32", "local")
        C = T.decl_buffer((16,), "float32", data=data, scope="local")
        m = T.meta_var(T.Ramp(0, 1, 8) < T.Broadcast(6, 8))
        C[0:8] = T.Broadcast(T.float32(0), 8)
        C[8:16] = A.vload([T.Ramp(6, 1, 8)], predicate=m)
        C[0:8] = C[0:8] + A.vload([T.Ramp(0, 1, 8)], predicate=m)
        B.vstore([T.Ramp(0, 1, 8)], C[0:8], predicate=m)
        B.vstore([T.Ramp(6, 1, 8)], C[8:16], predicate=m)


class TestKeepsVectorsThatShareElements(PassTest):
    run = UnmaskLocalVectors()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32")):
        data = T.allocate([12], "float32", "local")
        C = T.decl_buffer((12,), "float32", data=data, scope="local")
        m = T.meta_var(T.Ramp(0, 1, 8) < T.Broadcast(6, 8))
        C.vstore([T.Ramp(0, 1, 8)], A.vload([T.Ramp(6, 1, 8)], predicate=m), predicate=m)
        B.vstore([T.Ramp(0, 1, 8)], C.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)
        B.vstore([T.Ramp(8, 1, 8)], C.vload([T.Ramp(4, 1, 8)], predicate=m), predicate=m)

    Expected = Before


class TestKeepsWhatIsReadWhole(PassTest):
    """The lanes behind the mask are those of the first store."""

    run = UnmaskLocalVectors()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        data = T.allocate([8], "float32", "local")
        C = T.decl_buffer((8,), "float32", data=data, scope="local")
        m = T.meta_var(T.Ramp(0, 1, 8) < T.Broadcast(6, 8))
        C[0:8] = T.Broadcast(T.float32(1), 8)
        C.vstore([T.Ramp(0, 1, 8)], A.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)
        B[0:8] = C[0:8]

    Expected = Before


class TestKeepsMasksThatChange(PassTest):
    """What one iteration wrote, another one with a wider mask reads."""

    run = UnmaskLocalVectors()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        data = T.allocate([8], "float32", "local")
        C = T.decl_buffer((8,), "float32", data=data, scope="local")
        for i in range(2):
            m = T.meta_var(T.Ramp(i, 1, 8) < T.Broadcast(6, 8))
            C.vstore([T.Ramp(0, 1, 8)], A.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)
            B.vstore([T.Ramp(0, 1, 8)], C.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)

    Expected = Before


class TestKeepsScalars(PassTest):
    run = UnmaskLocalVectors()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        data = T.allocate([8], "float32", "local")
        C = T.decl_buffer((8,), "float32", data=data, scope="local")
        m = T.meta_var(T.Ramp(0, 1, 8) < T.Broadcast(6, 8))
        C.vstore([T.Ramp(0, 1, 8)], A.vload([T.Ramp(0, 1, 8)], predicate=m), predicate=m)
        B[0] = C[3]

    Expected = Before


def _masked_tiles(count: int) -> tvm.tir.PrimFunc:
    """Each tile stands within the memory of those before it, as where a loop was unrolled."""
    mask = tvm.tir.Ramp(0, 1, 8) < tvm.tir.Broadcast(6, 8)
    out = tvm.tir.decl_buffer([8 * count], "float32", "B")
    body: tvm.tir.Stmt = tvm.tir.Evaluate(0)
    for n in range(count):
        tile = tvm.tir.decl_buffer([8], "float32", f"tile{n}", scope="local")
        ramp = [tvm.tir.Ramp(0, 1, 8)]
        zero = tvm.tir.Broadcast(tvm.tir.const(0, "float32"), 8)
        kept = tvm.tir.BufferStore(
            out, tvm.tir.BufferLoad(tile, ramp, mask), [tvm.tir.Ramp(8 * n, 1, 8)], mask
        )
        body = tvm.tir.SeqStmt([tvm.tir.BufferStore(tile, zero, ramp, mask), kept, body])
        body = tvm.tir.Allocate(tile.data, "float32", [8], tvm.tir.const(1, "bool"), body)
    return tvm.tir.PrimFunc([out.data], body)


def _nodes_walked(count: int, monkeypatch: pytest.MonkeyPatch) -> int:
    seen = 0

    def counted(node: tvm.ir.Node) -> Iterator[object]:
        nonlocal seen
        for part in walk(node):
            seen += 1
            yield part

    monkeypatch.setattr(unmask_local_vectors, "walk", counted)
    made = UnmaskLocalVectors()(tvm.IRModule({"main": _masked_tiles(count)}))["main"]
    assert made.script().count("predicate") == count  # of the stores to B alone
    return seen


def test_nodes_walked_grow_with_the_program(monkeypatch: pytest.MonkeyPatch):
    few, many = (_nodes_walked(count, monkeypatch) for count in (10, 40))
    assert many < 5 * few


@pytest.mark.parametrize("later", [False, True])
def test_memory_of_one_name_is_looked_at_by_allocation(later: bool):
    """A mask may hang on a variable that gets its values elsewhere."""
    i = tvm.tir.Var("i", "int32")
    mask = tvm.tir.Ramp(i, 1, 8) < tvm.tir.Broadcast(6, 8)
    out = tvm.tir.decl_buffer([8], "float32", "B")
    tile = tvm.tir.decl_buffer([8], "float32", "tile", scope="local")
    ramp = [tvm.tir.Ramp(0, 1, 8)]
    zero = tvm.tir.Broadcast(tvm.tir.const(0, "float32"), 8)
    uses = tvm.tir.SeqStmt([
        tvm.tir.BufferStore(tile, zero, ramp, mask),
        tvm.tir.BufferStore(out, tvm.tir.BufferLoad(tile, ramp, mask), ramp, mask),
    ])  # fmt: skip

    def alloc(body: tvm.tir.Stmt) -> tvm.tir.Stmt:
        return tvm.tir.Allocate(tile.data, "float32", [8], tvm.tir.const(1, "bool"), body)

    def loop(body: tvm.tir.Stmt) -> tvm.tir.Stmt:
        return tvm.tir.For(i, 0, 2, tvm.tir.ForKind.SERIAL, body)

    outside, inside = loop(alloc(uses)), alloc(loop(uses))
    body = tvm.tir.SeqStmt([outside, inside] if later else [inside, outside])
    func = tvm.tir.PrimFunc([out.data], body)
    made = UnmaskLocalVectors()(tvm.IRModule({"main": func}))["main"]
    counts = [part.script().count("predicate") for part in made.body.seq]
    assert counts == ([1, 3] if later else [3, 1])
