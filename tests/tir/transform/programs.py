"""Small programs in all shapes that schedules produce, to check that passes keep their meaning."""

from __future__ import annotations

from collections.abc import Callable

from tvm import tir
from tvm.ir import Range
from tvm.tir import (
    Block,
    BlockRealize,
    Buffer,
    BufferRegion,
    BufferStore,
    Evaluate,
    For,
    ForKind,
    IfThenElse,
    IterVar,
    LetStmt,
    MatchBufferRegion,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    While,
    decl_buffer,
)

SERIAL, PARALLEL = ForKind.SERIAL, ForKind.PARALLEL
VECTORIZED, UNROLLED = ForKind.VECTORIZED, ForKind.UNROLLED
Loop = tuple[Var, "int | tir.PrimExpr", ForKind]


def names(text: str, dtype: str = "int32") -> list[Var]:
    """One variable a word."""
    return [Var(name, dtype) for name in text.split()]


def floats(**shapes: tuple[int | tir.PrimExpr, ...]) -> list[Buffer]:
    """Buffers of float32 by name and shape."""
    return [decl_buffer(shape, "float32", name) for name, shape in shapes.items()]


def nest(body: Stmt, *loops: Loop) -> Stmt:
    """The body in loops, the outermost first."""
    for var, extent, kind in reversed(loops):
        body = For(var, 0, extent, kind, body)
    return body


def point(buffer: Buffer, *indices: tir.PrimExpr) -> BufferRegion:
    """One element as a region."""
    return BufferRegion.from_point(buffer, indices)


def block(
    axes: list[tuple[str, int | tir.PrimExpr, str]],
    values: list[tir.PrimExpr],
    make: Callable[..., tuple[list[BufferRegion], list[BufferRegion], Stmt, Stmt | None]],
    predicate: tir.PrimExpr | bool = True,
    name: str = "block",
) -> Stmt:
    """A block with axes (name, extent, "s" or "r"); `make` gives reads, writes, body and init."""
    kinds = {"s": IterVar.DataPar, "r": IterVar.CommReduce}
    iter_vars = [IterVar(Range(0, n), Var(v), kinds[kind]) for v, n, kind in axes]
    reads, writes, body, init = make(*[iv.var for iv in iter_vars])
    return BlockRealize(values, predicate, Block(iter_vars, reads, writes, name, body, init))


def root(body: Stmt, *allocs: Buffer) -> Stmt:
    """The body in the outermost block, which allocates buffers."""
    return BlockRealize([], True, Block([], [], [], "root", body, alloc_buffers=allocs))


def func(params: list[Buffer | Var], body: Stmt, name: str = "main") -> PrimFunc:
    """A function that can be called from outside."""
    return PrimFunc(params, body, attrs={"global_symbol": name, "tir.noalias": True})


def matmul(m: int = 5, n: int = 7, k: int = 6) -> PrimFunc:
    """Nothing scheduled."""
    a, b, c = floats(A=(m, k), B=(k, n), C=(m, n))
    i, j, r = names("i j k")

    def make(vi: Var, vj: Var, vk: Var):
        update = BufferStore(c, c[vi, vj] + a[vi, vk] * b[vk, vj], [vi, vj])
        init = BufferStore(c, tir.const(0.0, "float32"), [vi, vj])
        return [point(a, vi, vk), point(b, vk, vj)], [point(c, vi, vj)], update, init

    axes = [("vi", m, "s"), ("vj", n, "s"), ("vk", k, "r")]
    inner = block(axes, [i, j, r], make, name="C")
    return func([a, b, c], root(nest(inner, (i, m, SERIAL), (j, n, SERIAL), (r, k, SERIAL))))


def tiled_matmul(m: int = 8, n: int = 16, k: int = 6, lanes: int = 4) -> PrimFunc:
    """A packed panel, accumulators close to the loop that reduces, vectors and unrolled loops."""
    a, b, c = floats(A=(m, k), B=(k, n), C=(m, n))
    panel = decl_buffer((k, n), "float32", "panel")
    acc = decl_buffer((m, n), "float32", "acc", scope="local")
    jo, io, ko, ku, kk, jj = names("jo io ko ku kk jj")

    def tile(make: Callable[[tir.PrimExpr, tir.PrimExpr], Stmt]) -> Stmt:
        i, jv = names("i jv")
        inner = make(io * 2 + i, jo * lanes + jv)
        return nest(inner, (i, 2, UNROLLED), (jv, lanes, VECTORIZED))

    column = jo * lanes + jj
    pack = nest(BufferStore(panel, b[kk, column], [kk, column]), (kk, k, SERIAL),
                (jj, lanes, VECTORIZED))  # fmt: skip
    init = tile(lambda x, y: BufferStore(acc, tir.const(0.0, "float32"), [x, y]))
    step = ko * 2 + ku
    update = tile(lambda x, y: BufferStore(acc, acc[x, y] + a[x, step] * panel[step, y], [x, y]))
    update = nest(update, (ko, k // 2, SERIAL), (ku, 2, UNROLLED))
    out = tile(lambda x, y: BufferStore(c, acc[x, y], [x, y]))
    rows = nest(SeqStmt([init, update, out]), (io, m // 2, SERIAL))
    body = nest(SeqStmt([pack, rows]), (jo, n // lanes, PARALLEL))
    return func([a, b, c], root(body, panel, acc))


def tail(n: int = 37, lanes: int = 8) -> PrimFunc:
    """A split that does not divide, guarded by a predicate, in vectors."""
    a, b = decl_buffer((n,), "float32", "A"), decl_buffer((n,), "float32", "B")
    io, ii = names("io ii")

    def make(v: Var):
        return [point(a, v)], [point(b, v)], BufferStore(b, a[v] * 2.0 + 1.0, [v]), None

    index = io * lanes + ii
    inner = block([("v", n, "s")], [index], make, predicate=index < n)
    outer = (n + lanes - 1) // lanes
    return func([a, b], root(nest(inner, (io, outer, PARALLEL), (ii, lanes, VECTORIZED))))


def blur(n: int = 16) -> PrimFunc:
    """A stage computed at the tiles of the one that reads it."""
    a, c = decl_buffer((n + 2,), "float32", "A"), decl_buffer((n,), "float32", "C")
    b = decl_buffer((n + 2,), "float32", "B")
    io, i, ii = names("io i ii")

    def first(v: Var):
        return [point(a, v)], [point(b, v)], BufferStore(b, a[v] * a[v], [v]), None

    def second(v: Var):
        reads = [BufferRegion(b, [Range.from_min_extent(v, 3)])]
        return reads, [point(c, v)], BufferStore(c, b[v] + b[v + 1] + b[v + 2], [v]), None

    producer = nest(block([("v", n + 2, "s")], [io * 4 + i], first), (i, 6, SERIAL))
    consumer = nest(block([("v", n, "s")], [io * 4 + ii], second), (ii, 4, VECTORIZED))
    return func([a, c], root(nest(SeqStmt([producer, consumer]), (io, n // 4, SERIAL)), b))


def padded(n: int = 19, lanes: int = 4) -> PrimFunc:
    """A window over a padded row: conditions that differ between lanes."""
    a, w, c = (decl_buffer((s,), "float32", x) for s, x in ((n, "A"), (3, "W"), (n + 1, "C")))
    io, ii, k = names("io ii k")
    place = io * lanes + ii
    inside = tir.all(place + k >= 1, place + k < n + 1)
    value = tir.if_then_else(inside, a[place + k - 1], tir.const(0.0, "float32"))
    update = BufferStore(c, c[place] + value * w[k], [place])
    init = BufferStore(c, tir.const(0.0, "float32"), [place])
    body = SeqStmt([init, nest(update, (k, 3, SERIAL))])
    loops = ((io, (n + 1) // lanes, SERIAL), (ii, lanes, VECTORIZED))
    return func([a, w, c], nest(body, *loops))


def argmax(n: int = 4, k: int = 9) -> PrimFunc:
    """A reduction of pairs."""
    a, best, where = (
        decl_buffer((n, k), "float32", "A"), decl_buffer((n,), "float32", "best"),
        decl_buffer((n,), "int32", "where"),
    )  # fmt: skip
    i, r = names("i k")

    def make(vi: Var, vk: Var):
        better = a[vi, vk] > best[vi]
        new = tir.Var("new", "float32")
        pick = LetStmt(new, tir.Select(better, a[vi, vk], best[vi]), SeqStmt([
            BufferStore(where, tir.Select(better, vk, where[vi]), [vi]),
            BufferStore(best, new, [vi]),
        ]))  # fmt: skip
        init = SeqStmt([BufferStore(best, tir.const(-1e30, "float32"), [vi]),
                        BufferStore(where, -1, [vi])])  # fmt: skip
        return [point(a, vi, vk)], [point(best, vi), point(where, vi)], pick, init

    inner = block([("vi", n, "s"), ("vk", k, "r")], [i, r], make)
    return func([a, best, where], root(nest(inner, (i, n, SERIAL), (r, k, SERIAL))))


def symbolic() -> PrimFunc:
    """Sizes known when the function is called, with a guarded tail."""
    n, m = tir.SizeVar("n"), tir.SizeVar("m")
    a, b, c = floats(A=(n, m), B=(m,), C=(n, m))
    i, jo, ji = names("i jo ji")
    j = jo * 8 + ji
    store = BufferStore(c, a[i, j] * b[j], [i, j])
    guarded = IfThenElse(j < m, store)
    loops = ((i, n, PARALLEL), (jo, (m + 7) // 8, SERIAL), (ji, 8, VECTORIZED))
    return func([a, b, c], nest(guarded, *loops))


def lane_scratch(n: int = 16) -> PrimFunc:
    """Scratch memory of each lane."""
    a, c = decl_buffer((n, 4), "float32", "A"), decl_buffer((n,), "float32", "C")
    t = decl_buffer((4,), "float32", "t")
    i, r, s = names("i r s")
    fill = nest(BufferStore(t, a[i, r] + 1.0, [r]), (r, 4, SERIAL))
    use = nest(BufferStore(c, c[i] + t[s] * t[s], [i]), (s, 4, SERIAL))
    zero = BufferStore(c, tir.const(0.0, "float32"), [i])
    body = tir.DeclBuffer(t, SeqStmt([fill, zero, use]))
    scratch = tir.Allocate(t.data, "float32", [4], True, body)
    return func([a, c], nest(scratch, (i, n, VECTORIZED)))


def matched(n: int = 4, m: int = 8) -> PrimFunc:
    """Buffers that stand for rows of others."""
    a, c = decl_buffer((n, m), "float32", "A"), decl_buffer((n, m), "float32", "C")
    row_a = decl_buffer((m,), "float32", "row_a", offset_factor=1)
    stride = Var("stride")
    row_c = decl_buffer((1, m), "float32", "row_c", strides=[stride, 1], offset_factor=1)
    i, k = names("i k")
    reads = [BufferRegion(a, [Range.from_min_extent(i, 1), Range(0, m)])]
    writes = [BufferRegion(c, [Range.from_min_extent(i, 1), Range(0, m)])]
    store = BufferStore(row_c, row_a[k] + tir.Cast("float32", stride), [0, k])
    body = nest(store, (k, m, VECTORIZED))
    inner = Block([], reads, writes, "row", body, match_buffers=[
        MatchBufferRegion(row_a, reads[0]), MatchBufferRegion(row_c, writes[0])])  # fmt: skip
    return func([a, c], root(nest(BlockRealize([], True, inner), (i, n, SERIAL))))


def fused_transpose(n: int = 6, m: int = 8) -> PrimFunc:
    """One loop over two dimensions; strides, quotients and rests in vectors."""
    a, b = decl_buffer((n, m), "float32", "A"), decl_buffer((m, n), "float32", "B")
    f, v = names("f v")
    place = f * 4 + v
    row, column = tir.floordiv(place, m), tir.floormod(place, m)
    store = BufferStore(b, a[row, column], [column, row])
    return func([a, b], nest(store, (f, n * m // 4, SERIAL), (v, 4, VECTORIZED)))


def mixed_types(n: int = 12) -> PrimFunc:
    """Integers, truth values, casts and choices in vectors."""
    kinds = (("int8", "A"), ("float32", "X"), ("bool", "F"))
    a, x, flag = (decl_buffer((n,), t, s) for t, s in kinds)
    out, count = decl_buffer((n,), "int64", "O"), decl_buffer((n,), "bool", "G")
    (i,) = names("i")
    big = tir.Cast("int64", a[i]) * tir.const(1 << 33, "int64")
    value = tir.Select(flag[i], big, tir.Cast("int64", tir.floor(x[i])))
    either = BufferStore(count, tir.Or(flag[i], x[i] > 0.5), [i])
    body = SeqStmt([BufferStore(out, value, [i]), either])
    return func([a, x, flag, out, count], nest(body, (i, n, VECTORIZED)))


def running_sum(n: int = 11) -> PrimFunc:
    """Each iteration needs the one before; a while loop looks for the end."""
    a, b, last = (decl_buffer(s, "int32", x) for s, x in (((n,), "A"), ((n,), "B"), ((1,), "last")))
    (i,) = names("i")
    before = tir.if_then_else(i > 0, b[tir.max(i - 1, 0)], 0)
    scan = nest(BufferStore(b, before + a[i], [i]), (i, n, SERIAL))
    more = tir.all(last[0] < n - 1, b[tir.min(last[0], n - 1)] < 20)
    seek = While(more, BufferStore(last, last[0] + 1, [0]))
    return func([a, b, last], SeqStmt([scan, BufferStore(last, 0, [0]), seek, Evaluate(0)]))


def lane_reduction(n: int = 16) -> PrimFunc:
    """All lanes add into one element: their order has to stay."""
    a, c = decl_buffer((n,), "float32", "A"), decl_buffer((1,), "float32", "C")
    (i,) = names("i")
    body = SeqStmt([BufferStore(c, tir.const(0.0, "float32"), [0]),
                    nest(BufferStore(c, c[0] + a[i], [0]), (i, n, VECTORIZED))])  # fmt: skip
    return func([a, c], body)


def scattered(n: int = 16) -> PrimFunc:
    """Indices that are data, a guard, and an else branch in vectors."""
    (a, c), p = floats(A=(n,), C=(n,)), decl_buffer((n,), "int32", "P")
    (i,) = names("i")
    index = tir.floormod(p[i], n)
    body = IfThenElse(p[i] % 3 == 0, BufferStore(c, a[index], [i]),
                      BufferStore(c, a[i] * 2.0 + tir.Cast("float32", i), [i]))  # fmt: skip
    return func([a, p, c], nest(body, (i, n, VECTORIZED)))


ALL = (
    matmul, tiled_matmul, tail, blur, padded, argmax, symbolic, lane_scratch, matched,
    fused_transpose, mixed_types, running_sum, lane_reduction, scattered,
)  # fmt: skip
