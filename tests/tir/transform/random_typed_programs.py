"""Random programs over values of every type: casts, intrinsics, layouts of memory, nests of loops.

Whole numbers wrap in their own way, so that every bit of a result has to agree. Floats are small
multiples of a quarter, of which sums, products and roundings are exact in every order.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from tvm import tir
from tvm.ir.expr import PrimExpr
from tvm.support.dtype import DataType
from tvm.tir import (
    Allocate,
    AttrStmt,
    Buffer,
    BufferLoad,
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
    While,
    decl_buffer,
)
from tvm.tir.interp.values import numpy_dtype

WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
FLOATS = ("float16", "bfloat16", "float32", "float64")
SIZE = 24
EXTENTS = (1, 2, 3, 4, 5, 8)
LAYOUTS = ("flat", "flat", "rows", "symbolic", "strided", "steps", "offset")


class Source:
    """A buffer of a program and how an element is reached by one number."""

    def __init__(self, dtype: str, name: str, layout: str, size: int = SIZE) -> None:
        # arrays of bfloat16 reach compiled functions through a copy, which is contiguous
        layout = "flat" if dtype == "bfloat16" and layout in ("strided", "steps") else layout
        self.layout, self.size = layout, size
        columns = 4 if size % 4 == 0 else size
        self.shape: tuple[Any, ...] = (size // columns, columns)
        rows: dict[str, Callable[[], Buffer]] = {
            "flat": lambda: decl_buffer((size,), dtype, name),
            "rows": lambda: decl_buffer(self.shape, dtype, name),
            "symbolic": lambda: decl_buffer((Var(f"n_{name}", "int64"),), dtype, name),
            "strided": lambda: decl_buffer(self.shape, dtype, name, strides=[columns + 3, 1]),
            "steps": lambda: decl_buffer(
                (size,), dtype, name, strides=[Var(f"s_{name}", "int32")]
            ),
            "offset": lambda: decl_buffer(
                (size,), dtype, name, elem_offset=Var(f"o_{name}", "int32")
            ),
        }
        self.buffer = rows[layout]()

    def at(self, index: PrimExpr) -> list[PrimExpr]:
        """The indices of an element; `index` may be too large."""
        if self.layout == "symbolic":
            return [tir.floormod(tir.Cast("int64", index), self.buffer.shape[0])]
        index = tir.floormod(index, self.size)
        if len(self.buffer.shape) == 2:
            columns = self.shape[1]
            return [tir.floordiv(index, columns), tir.floormod(index, columns)]
        return [index]

    def place(self, index: PrimExpr) -> list[PrimExpr]:
        """The indices of an element; `index` is known to be one."""
        if len(self.buffer.shape) == 2:
            columns = self.shape[1]
            return [tir.floordiv(index, columns), tir.floormod(index, columns)]
        return [tir.Cast("int64", index)] if self.layout == "symbolic" else [index]

    def array(self, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The values in memory as the buffer wants them."""
        if self.layout == "strided":
            rows, columns = self.shape
            wide = np.zeros((rows, columns + 3), values.dtype)
            wide[:, :columns] = values.reshape(self.shape)
            return wide[:, :columns]
        if self.layout == "steps":
            wide = np.zeros(2 * self.size, values.dtype)
            wide[::2] = values
            return wide[::2]
        return values.reshape(self.shape) if len(self.buffer.shape) == 2 else values


class TypedMaker:
    """Makes one program from a seed."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.random = random.Random(seed)
        pick = self.random
        self.whole = pick.sample(WHOLE, 2)
        self.floats = pick.sample(FLOATS, 1 + (pick.random() < 0.4))
        self.sources = {
            kind: Source(kind, f"in_{kind}", pick.choice(LAYOUTS))
            for kind in (*self.whole, *self.floats)
        }
        self.odd = Source(pick.choice(self.floats), "odd", "flat")
        self.flags = Source("bool", "flags", "flat")
        self.indices: list[PrimExpr] = []
        self.named: list[Var] = []
        self.scratch: list[Source] = []
        self.count = 0

    # --- indices and conditions ---

    def index(self) -> PrimExpr:
        """Some function of the loop variables, at least zero and small."""
        pick, (a, b) = self.random.randrange(7), self.random.choices(self.indices, k=2)
        few = self.random.choice([2, 3, 4])
        forms: list[PrimExpr] = [
            a, a * few + 1, tir.floordiv(a, few), tir.floormod(a, 2 * few), a + b,
            tir.floormod(a * 4 + b, 6), tir.max(a - 1, 0),
        ]  # fmt: skip
        return forms[pick]

    def condition(self, depth: int) -> PrimExpr:
        """Some truth value."""
        pick = self.random.randrange(8)
        if pick == 0:
            return self.flags.buffer[tuple(self.flags.at(self.index()))]
        if pick == 1:
            odd = self.odd.buffer[tuple(self.odd.at(self.index()))]
            return self.random.choice([tir.isnan, tir.isinf, tir.isfinite])(odd)
        if pick == 2:
            return tir.Cast("bool", self.number(self.random.choice(self.whole), 0))
        if pick == 3 and depth:
            return tir.Not(self.condition(depth - 1))
        if pick == 4 and depth:
            two = self.random.choice([tir.And, tir.Or])
            return two(self.condition(depth - 1), self.condition(0))
        if pick == 5:
            return self.index() < self.random.randrange(10)
        kind = self.random.choice([*self.whole, *self.floats])
        compare = self.random.choice([tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE])
        below = max(depth - 1, 0)
        return compare(self.bounded(kind, below), self.bounded(kind, below))

    # --- values ---

    def value(self, kind: str, depth: int) -> PrimExpr:
        """Some value of a type."""
        if kind == "bool":
            return self.condition(depth)
        return self.real(kind, depth) if kind in FLOATS else self.number(kind, depth)

    def load(self, kind: str) -> PrimExpr:
        known = [s for s in [*self.scratch, *self.sources.values()] if s.buffer.dtype == kind]
        if not known:
            return self.cast_to(kind, 0)
        source = self.random.choice(known)
        return BufferLoad(source.buffer, source.at(self.index()))

    def leaf(self, kind: str) -> PrimExpr:
        names = [v for v in self.named if v.dtype == kind]
        if names and self.random.random() < 0.3:
            return self.random.choice(names)
        if self.random.random() < 0.2:
            number = self.random.choice([0, 1, 2, 3, 5, 7])
            return tir.const(number / 4 if kind in FLOATS else number, kind)
        return self.load(kind)

    def bounded(self, kind: str, depth: int) -> PrimExpr:
        """Of a type, and small: sums in the types of indices are expected not to overflow."""
        value = self.value(kind, depth)
        half = {"int32": "int16", "int64": "int32"}.get(kind)
        return value if half is None else tir.Cast(kind, tir.Cast(half, value))

    def small(self, kind: str) -> PrimExpr:
        """Of a float type, at least zero and at most four."""
        zero, four = tir.const(0, kind), tir.const(4, kind)
        return tir.max(tir.min(self.load(kind), four), zero)

    def cast_to(self, kind: str, depth: int) -> PrimExpr:
        """From any other type of the program."""
        other = self.random.choice([*self.whole, *self.floats, "bool"])
        if kind in FLOATS:
            if other in FLOATS:
                return tir.Cast(kind, self.load(other) if other != kind else self.leaf(kind))
            if other == "bool":
                return tir.Cast(kind, self.condition(depth))
            few = tir.bitwise_and(self.number(other, depth), tir.const(7, other))
            return tir.Cast(kind, few)
        if other in FLOATS:
            return tir.Cast(kind, self.small(other) if kind.startswith("u") else self.load(other))
        return tir.Cast(kind, self.value(other, depth))

    def number(self, kind: str, depth: int) -> PrimExpr:
        """Some whole number of a type."""
        pick = self.random
        if depth <= 0 or pick.random() < 0.15:
            return self.leaf(kind)
        below = depth - 1
        bits = DataType(kind).bits
        forms: list[Callable[[], PrimExpr]] = [
            lambda: pick.choice([tir.Add, tir.Sub, tir.Mul])(
                self.bounded(kind, below), self.bounded(kind, below)
            ),
            lambda: pick.choice([tir.Min, tir.Max])(
                self.number(kind, below), self.number(kind, below)
            ),
            lambda: pick.choice([tir.bitwise_and, tir.bitwise_or, tir.bitwise_xor])(
                self.number(kind, below), self.number(kind, below)
            ),
            lambda: pick.choice([tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod])(
                self.number(kind, below), self.divisor(kind)
            ),
            lambda: pick.choice([tir.shift_left, tir.shift_right])(
                self.number(kind, below),
                tir.bitwise_and(self.number(kind, 0), tir.const(bits - 1, kind)),
            ),
            lambda: pick.choice([tir.Select, tir.if_then_else])(
                self.condition(below), self.number(kind, below), self.number(kind, below)
            ),
            lambda: self.cast_to(kind, below),
            lambda: self.cast_to(kind, below),
            lambda: tir.bitwise_not(self.number(kind, below)),
            lambda: self.intrinsic(kind, below),
            lambda: self.let(kind, below),
        ]
        return pick.choice(forms)()

    def divisor(self, kind: str) -> PrimExpr:
        few = tir.bitwise_and(self.number(kind, 0), tir.const(7, kind))
        constant = tir.const(self.random.choice([1, 2, 3, 5, 8, 100]), kind)
        return self.random.choice([few + tir.const(1, kind), constant])

    def intrinsic(self, kind: str, depth: int) -> PrimExpr:
        pick = self.random.randrange(5)
        given = self.number(kind, depth)
        if pick == 0:
            return tir.popcount(given)
        if pick == 1 and kind in ("int32", "int64", "uint32", "uint64"):
            return tir.Cast(kind, tir.clz(given))
        if pick == 2 and kind.startswith("i"):
            return tir.abs(tir.max(given, tir.const(-100, kind)))
        if pick == 3 and kind == "int32":
            shift = self.random.choice([-3, 0, 2])
            return tir.q_multiply_shift(given, self.number(kind, 0), 31, shift)
        floats = {"int32": "float32", "uint32": "float32", "int64": "float64", "uint64": "float64",
                  "int16": "float16", "uint16": "float16"}  # fmt: skip
        other = floats.get(kind, "")
        if pick == 4 and other in self.floats:
            return tir.reinterpret(kind, self.load(other))
        return tir.likely(given)

    def let(self, kind: str, depth: int) -> PrimExpr:
        other = self.random.choice([*self.whole, *self.floats])
        bound = self.value(other, depth)
        self.count += 1
        var = Var(f"t{self.count}", other)
        self.named.append(var)
        body = self.value(kind, depth)
        self.named.pop()
        return tir.Let(var, bound, body)

    def real(self, kind: str, depth: int) -> PrimExpr:
        """Some float; products are of loads, so that every type holds them."""
        pick = self.random
        narrow = kind in ("float16", "bfloat16")
        if depth <= 0 or pick.random() < 0.2:
            return self.leaf(kind)
        below = min(depth - 1, 1) if narrow else depth - 1
        one = pick.choice([tir.floor, tir.ceil, tir.trunc, tir.round, tir.nearbyint, tir.abs])
        forms: list[Callable[[], PrimExpr]] = [
            lambda: pick.choice([tir.Add, tir.Sub])(self.real(kind, below), self.leaf(kind)),
            lambda: self.leaf(kind) * (self.leaf(kind) if not narrow else tir.const(0.5, kind)),
            lambda: pick.choice([tir.Min, tir.Max])(self.real(kind, below), self.real(kind, below)),
            lambda: one(self.real(kind, below)),
            lambda: pick.choice([tir.Select, tir.if_then_else])(
                self.condition(below), self.real(kind, below), self.real(kind, below)
            ),
            lambda: self.cast_to(kind, below),
            lambda: self.leaf(kind) / tir.const(pick.choice([2, 4, -0.5]), kind),
            lambda: self.let(kind, below),
            lambda: self.of_floats(kind),
        ]
        return pick.choice(forms)()

    def of_floats(self, kind: str) -> PrimExpr:
        pick = self.random.randrange(5)
        if kind in ("float32", "float64"):
            if pick == 0:
                return tir.fmod(self.load(kind), tir.const(self.random.choice([0.75, 2]), kind))
            if pick == 1:
                return tir.copysign(self.load(kind), self.load(kind))
            if pick == 2:
                return tir.sqrt(tir.floor(self.small(kind)) * tir.const(0, kind))
            if pick == 3:
                few = tir.Cast("int32", self.small(kind))
                return tir.ldexp(self.load(kind), few)
        return -self.leaf(kind)

    # --- statements ---

    def inner(self, make: Callable[[], Stmt], kinds: list[ForKind] | None = None) -> Stmt:
        self.count += 1
        var = Var(f"j{self.count}", "int32")
        first = self.random.choice([0, 0, 0, 1, 3])
        self.indices.append(var)
        body = make()
        self.indices.pop()
        kind = self.random.choice(kinds or [ForKind.SERIAL, ForKind.UNROLLED])
        return For(var, first, self.random.choice(EXTENTS[1:]), kind, body)

    def store(self, out: Source, place: PrimExpr) -> Stmt:
        kind = str(out.buffer.dtype)
        return BufferStore(out.buffer, self.value(kind, 3), out.place(place))

    def odd_store(self, out: Source, place: PrimExpr) -> Stmt:
        """Infinities and the like move through roundings and casts."""
        kind = str(out.buffer.dtype)
        if kind not in FLOATS:
            return self.store(out, place)
        value = self.odd.buffer[tuple(self.odd.at(self.index()))]
        ones = [tir.floor, tir.ceil, tir.trunc, tir.nearbyint, tir.abs, lambda x: -x]
        one = self.random.choice(ones)
        return BufferStore(out.buffer, tir.Cast(kind, one(value)), out.place(place))

    def update(self, out: Source, place: PrimExpr) -> Stmt:
        """A reduction, step by step."""
        kind = str(out.buffer.dtype)
        where = out.place(place)
        held = BufferLoad(out.buffer, where)
        if kind == "bool":
            either = self.random.choice([tir.And, tir.Or])
            return self.inner(
                lambda: BufferStore(out.buffer, either(held, self.condition(2)), where)
            )
        if kind in FLOATS:
            two = self.random.choice([tir.Min, tir.Max])
            return self.inner(lambda: BufferStore(out.buffer, two(held, self.real(kind, 2)), where))
        step = {"int32": "int8", "int64": "int16"}.get(kind, kind)
        return self.inner(lambda: BufferStore(
            out.buffer, held + tir.Cast(kind, tir.Cast(step, self.number(kind, 2))), where
        ))  # fmt: skip

    def while_loop(self, out: Source, place: PrimExpr) -> Stmt:
        self.count += 1
        counter = decl_buffer((1,), "int32", f"counter{self.count}", scope="local")
        body = SeqStmt([
            self.store(out, place), BufferStore(counter, counter[0] + 1, [0]),
        ])  # fmt: skip
        whole = SeqStmt([
            BufferStore(counter, tir.const(0, "int32"), [0]),
            While(counter[0] < tir.min(place, 3) + 1, body),
        ])  # fmt: skip
        return Allocate(counter.data, "int32", [1], tir.const(True), DeclBuffer(counter, whole))

    def chain(self, outs: list[Source], place: PrimExpr) -> Stmt:
        found: Stmt | None = self.one(outs, place, plain=True)
        for _ in range(self.random.choice([1, 2, 3])):
            found = IfThenElse(self.condition(2), self.one(outs, place, plain=True), found)
            if self.random.random() < 0.3:
                found = IfThenElse(self.condition(1), found)
        assert found is not None
        return found

    def let_stmt(self, outs: list[Source], place: PrimExpr) -> Stmt:
        kind = self.random.choice([*self.whole, *self.floats])
        self.count += 1
        var, bound = Var(f"v{self.count}", kind), self.value(kind, 2)
        self.named.append(var)
        body = self.one(outs, place, plain=True)
        self.named.pop()
        return LetStmt(var, bound, body)

    def with_scratch(self, outs: list[Source], place: PrimExpr) -> Stmt:
        kind = self.random.choice([*self.whole, *self.floats, "bool"])
        self.count += 1
        size = self.random.choice([3, 4, 8])
        scope = self.random.choice(["global", "local", "global"])
        buffer = decl_buffer((size,), kind, f"m{self.count}", scope=scope)
        fill = self.inner_fill(buffer, size, kind)
        held = Source(kind, f"unused{self.count}", "flat", size)
        held.buffer = buffer
        self.scratch.append(held)
        body = self.one(outs, place, plain=True)
        self.scratch.pop()
        inside = DeclBuffer(buffer, SeqStmt([fill, body]))
        return Allocate(buffer.data, kind, [size], tir.const(True), inside)

    def inner_fill(self, buffer: Buffer, size: int, kind: str) -> Stmt:
        self.count += 1
        var = Var(f"q{self.count}", "int32")
        self.indices.append(var)
        value = self.value(kind, 2)
        self.indices.pop()
        loop = self.random.choice([ForKind.SERIAL, ForKind.UNROLLED, ForKind.VECTORIZED])
        return For(var, 0, size, loop, BufferStore(buffer, value, [var]))

    def one(self, outs: list[Source], place: PrimExpr, plain: bool = False) -> Stmt:
        out = self.random.choice(outs)
        forms: list[Callable[[], Stmt]] = [
            lambda: self.store(out, place), lambda: self.store(out, place),
            lambda: self.odd_store(out, place), lambda: self.update(out, place),
        ]  # fmt: skip
        if not plain or self.random.random() < 0.3:
            forms += [
                lambda: self.chain(outs, place), lambda: self.let_stmt(outs, place),
                lambda: self.with_scratch(outs, place),
            ]  # fmt: skip
            if not self.lanes:  # a loop with a condition has no vector form
                forms.append(lambda: self.while_loop(out, place))
        return self.random.choice(forms)()

    # --- the function ---

    def program(self) -> PrimFunc:
        """The whole function."""
        pick = self.random
        loops: list[tuple[Var, int, ForKind]] = []
        for depth in range(pick.choice([1, 2, 2, 3])):
            kinds = [ForKind.SERIAL, ForKind.SERIAL, ForKind.UNROLLED]
            kinds += [ForKind.PARALLEL] if depth < 2 else []
            vector = any(k == ForKind.VECTORIZED for *_, k in loops)
            kinds += [] if vector else [ForKind.VECTORIZED] * 2
            loops.append((Var(f"i{depth}", "int32"), pick.choice(EXTENTS), pick.choice(kinds)))
        self.lanes = any(kind == ForKind.VECTORIZED for *_, kind in loops)
        place: PrimExpr = loops[0][0]
        count = loops[0][1]
        for var, extent, _ in loops[1:]:
            place, count = place * extent + var, count * extent
        self.indices = [*(var for var, *_ in loops), place]
        kinds_out = [pick.choice([*self.whole, *self.floats, "bool"]) for _ in range(2)]
        self.outs = [
            Source(kind, f"out{n}", pick.choice(LAYOUTS), count) for n, kind in enumerate(kinds_out)
        ]
        body: list[Stmt] = [self.one(self.outs, place) for _ in range(pick.choice([1, 1, 2, 3]))]
        stmt: Stmt = SeqStmt(body) if len(body) > 1 else body[0]
        if pick.random() < 0.3:
            guard = place < max(1, count - 2)
            stmt = IfThenElse(tir.likely(guard) if pick.random() < 0.5 else guard, stmt)
        for var, extent, kind in reversed(loops):
            stmt = For(var, 0, extent, kind, stmt)
        if pick.random() < 0.2:
            stmt = AttrStmt(tir.StringImm("scope"), "pragma_auto_unroll_max_step", 8, stmt)
        params = [s.buffer for s in self.every()]
        return PrimFunc(params, stmt, attrs={"global_symbol": "main", "tir.noalias": True})

    def every(self) -> list[Source]:
        """All buffers, in the order of the parameters."""
        return [*self.sources.values(), self.odd, self.flags, *self.outs]

    def inputs(self) -> list[np.ndarray[Any, Any]]:
        """Arguments, the same each time."""
        source = np.random.default_rng(self.seed)
        found = []
        for held in self.every():
            values = typed_values(source, held.buffer.dtype, held.size)
            if held is self.odd:
                odd = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 0.5, -2.5, 1e-7], "float64")
                values[: odd.size] = odd.astype(values.dtype)
                values = source.permutation(values)
            found.append(held.array(values))
        return found


def typed_values(source: np.random.Generator, dtype: DataType, size: int) -> Any:
    """Small numbers, extremes and random bits; floats are multiples of a quarter."""
    if dtype.is_bool:
        return source.integers(0, 2, size).astype(bool)
    if dtype.is_floating:
        return (source.integers(-16, 17, size) / 4).astype(numpy_dtype(dtype))
    kind = np.dtype(str(dtype))
    limits = np.iinfo(kind)
    some = source.integers(limits.min, limits.max, size, kind, endpoint=True)
    small = source.integers(max(limits.min, -5), 20, size).astype(kind)
    values = np.where(source.random(size) < 0.4, some, small)
    values[:4] = np.array([limits.min, limits.max, 0, 1], kind)[:size]
    return source.permutation(values)
