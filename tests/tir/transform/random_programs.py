"""Random loop programs: every kind of loop, scratch memory, guards, choices, data as indices."""

from __future__ import annotations

import random
from collections.abc import Callable

from tvm import tir
from tvm.ir.expr import PrimExpr
from tvm.tir import (
    Allocate,
    Buffer,
    BufferStore,
    DeclBuffer,
    For,
    ForKind,
    IfThenElse,
    LetStmt,
    PrimFunc,
    SeqStmt,
    Stmt,
    Var,
    decl_buffer,
)

SERIAL, PARALLEL = ForKind.SERIAL, ForKind.PARALLEL
VECTORIZED, UNROLLED = ForKind.VECTORIZED, ForKind.UNROLLED
SIZE = 64


class Maker:
    """Makes one program from a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.data = decl_buffer((SIZE,), "float32", "data")
        self.where = decl_buffer((SIZE,), "int32", "where")
        self.loads: list[Callable[[], PrimExpr]] = [
            lambda: self.data[tir.floormod(self.index(), SIZE)],
            lambda: self.data[tir.floormod(self.where[tir.floormod(self.index(), SIZE)] * 3, SIZE)],
        ]
        self.indices: list[PrimExpr] = []

    def index(self) -> PrimExpr:
        """Some function of the loop variables, at least zero."""
        pick, (a, b) = self.random.randrange(7), self.random.choices(self.indices, k=2)
        if pick == 0:
            return a
        if pick == 1:
            return a * self.random.choice([1, 2, 3]) + self.random.choice([0, 1, 5])
        if pick == 2:
            return tir.floordiv(a, self.random.choice([2, 3, 4]))
        if pick == 3:
            return tir.floormod(a, self.random.choice([2, 3, 4, 8]))
        if pick == 4:
            return a + b
        if pick == 5:
            factor, divisor = self.random.choice([1, 4]), self.random.choice([4, 6, 8])
            return tir.floormod(a * factor + b, divisor)
        return tir.max(a - 1, 0)

    def condition(self) -> PrimExpr:
        """Some comparison of indices."""
        a = self.index()
        b = self.random.choice([self.index(), tir.IntImm("int32", self.random.randrange(10))])
        choices = [a < b, a <= b, a > b, tir.NE(a, b), tir.And(a < b, self.index() >= 2)]
        return self.random.choice(choices)

    def value(self, depth: int) -> PrimExpr:
        """Some float32."""
        pick = self.random.randrange(9)
        if depth == 0 or pick < 2:
            if self.random.random() < 0.7:
                return self.random.choice(self.loads)()
            return tir.const(self.random.choice([0.5, 1.0, -2.0]), "float32")
        a, b = self.value(depth - 1), self.value(depth - 1)
        if pick == 6:
            return tir.Select(self.condition(), a, b)
        if pick == 7:
            return tir.if_then_else(self.condition(), a, b)
        if pick == 8:
            return tir.min(a, tir.Cast("float32", self.index()))
        return (a + b, a - b, a * b, tir.max(a, b))[pick - 2]

    def loops(self) -> list[tuple[Var, int, ForKind]]:
        """One to three loops, at most one of them vectorized, only the outermost parallel."""
        found: list[tuple[Var, int, ForKind]] = []
        for depth in range(self.random.choice([1, 2, 2, 3])):
            kinds = [SERIAL, SERIAL, UNROLLED]
            kinds += [PARALLEL] if depth == 0 else []
            kinds += [] if any(k == VECTORIZED for _, _, k in found) else [VECTORIZED] * 2
            extent = self.random.choice([1, 2, 3, 4, 5, 8])
            found.append((Var(f"i{depth}"), extent, self.random.choice(kinds)))
        return found

    def inner(self, name: str, extents: list[int], make: Callable[[], Stmt]) -> Stmt:
        """A statement in one more loop, whose variable it may use."""
        var, extent = Var(name), self.random.choice(extents)
        self.indices.append(var)
        body = make()
        self.indices.pop()
        return For(var, 0, extent, self.random.choice([SERIAL, UNROLLED]), body)

    def statements(self, first: Buffer, second: Buffer, place: PrimExpr) -> list[Stmt]:
        """Stores to the element that belongs to the iteration."""
        found: list[Stmt] = [BufferStore(first, self.value(3), [place])]
        if self.random.random() < 0.5:
            x = Var("x", "float32")
            store = BufferStore(second, x * x + self.value(1), [place])
            found.append(LetStmt(x, self.value(2), store))
        if self.random.random() < 0.3:
            found.append(self.inner("w", [2, 4], lambda: BufferStore(
                second, second[place] + self.value(2), [place])))  # fmt: skip
        if self.random.random() < 0.4:
            other = BufferStore(second, self.value(1), [place])
            chosen = other if self.random.random() < 0.5 else None
            found[-1] = IfThenElse(self.condition(), found[-1], chosen)
        return found

    def program(self) -> PrimFunc:
        """The whole function."""
        loops = self.loops()
        place: PrimExpr = loops[0][0]
        count = loops[0][1]
        for var, extent, _ in loops[1:]:
            place, count = place * extent + var, count * extent
        self.indices = [*(var for var, _, _ in loops), place]
        first, second = (decl_buffer((count,), "float32", name) for name in ("first", "second"))
        self.loads.append(lambda: first[place])
        scratch = decl_buffer((3,), "float32", "scratch")
        body: list[Stmt] = []
        if has_scratch := self.random.random() < 0.4:
            index = self.indices
            body.append(self.inner("q", [3], lambda: BufferStore(
                scratch, self.value(2), [self.indices[-1]])))  # fmt: skip
            assert self.indices is index
            self.loads.append(lambda: scratch[tir.floormod(self.index(), 3)])
        body += self.statements(first, second, place)
        stmt: Stmt = SeqStmt(body) if len(body) > 1 else body[0]
        limit = self.random.choice([count, max(1, count - 2)])
        if limit < count:
            guard = place < limit
            stmt = IfThenElse(tir.likely(guard) if self.random.random() < 0.5 else guard, stmt)
        if has_scratch:
            stmt = Allocate(scratch.data, "float32", [3], True, DeclBuffer(scratch, stmt))
        for var, extent, kind in reversed(loops):
            stmt = For(var, 0, extent, kind, stmt)
        params = [self.data, self.where, first, second]
        return PrimFunc(params, stmt, attrs={"global_symbol": "main", "tir.noalias": True})
