"""Random TensorIR functions: every kind of statement and expression, always well scoped."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from tvm import tir
from tvm.ir import GlobalVar, HostTensor, PointerType, PrimType, Range
from tvm.support.dtype import DataType
from tvm.tir import op
from tvm.tir.functor import walk

FLOAT_NODES = (tir.Add, tir.Sub, tir.Mul, tir.Div, tir.Min, tir.Max)


def remainder(a: tir.PrimExpr, b: tir.PrimExpr) -> tir.PrimExpr:
    """A truncated one of values only: of literals its word is their remainder."""
    literals = isinstance(a, tir.IntImm) or isinstance(b, tir.IntImm)
    return (tir.FloorMod if literals else tir.Mod)(a, b)


INT_NODES = (*FLOAT_NODES, tir.FloorDiv, tir.FloorMod, remainder)
COMPARISONS = (tir.EQ, tir.NE, tir.LT, tir.LE, tir.GT, tir.GE)
SMALL_FLOATS = ("float16", "bfloat16", "float64", "float8_e4m3fn", "float8_e5m2", "float4_e2m1fn")
UNARY = ("exp", "sqrt", "tanh", "floor", "isnan", "rsqrt", "erf", "log1p")
FLOATS = (0.0, -0.0, 1.0, -2.5, 0.1, 1e-30, 3e38, float("inf"), float("-inf"))


class Programs:
    """Makes one random function after the other from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.names = 0

    def fresh(self, base: str) -> str:
        self.names += 1
        return self.rng.choice([base, f"{base}_{self.names}", base.upper(), "x", "v1"])

    # --- expressions ---

    def int_expr(self, env: Env, depth: int, dtype: str = "int32") -> Any:
        pick = self.rng.random()
        names = [v for v in env.ints if v.dtype == dtype]
        if depth <= 0 or pick < 0.2:
            if names and self.rng.random() < 0.7:
                return self.rng.choice(names)
            values = [0, 1, 2, 7, 100] if dtype.startswith("u") else [0, 1, -1, 7, -128]
            return tir.IntImm(dtype, self.rng.choice(values))
        if pick < 0.65:
            node = self.rng.choice(INT_NODES)
            return node(self.int_expr(env, depth - 1, dtype), self.int_expr(env, depth - 1, dtype))
        if pick < 0.72:
            other = self.rng.choice(["int64", "int32", "int8", "uint8"])
            return tir.Cast(dtype, self.int_expr(env, depth - 1, other))
        if pick < 0.8:
            parts = [self.bool_expr(env, depth - 1), self.int_expr(env, depth - 1, dtype),
                     self.int_expr(env, depth - 1, dtype)]
            return tir.Select(*parts) if pick < 0.76 else tir.Call(dtype, "tir.if_then_else", parts)
        if pick < 0.88:
            name = self.rng.choice(["bitwise_and", "bitwise_or", "bitwise_xor", "shift_left"])
            args = [self.int_expr(env, depth - 1, dtype), tir.IntImm(dtype, self.rng.randint(1, 5))]
            return tir.Call(dtype, f"tir.{name}", args)
        if pick < 0.92:
            var = tir.Var(self.fresh("let"), dtype)
            value = self.int_expr(env, depth - 1, dtype)
            return tir.Let(var, value, self.int_expr(env.with_int(var), depth - 1, dtype))
        if pick < 0.96:
            return tir.Call(dtype, "tir.call_extern", ["f", self.int_expr(env, depth - 1)])
        return tir.Call(dtype, "tir.call_pure_extern", ["g", self.float_expr(env, depth - 1)])

    def bool_expr(self, env: Env, depth: int) -> Any:
        pick = self.rng.random()
        if depth <= 0 or pick < 0.5:
            node = self.rng.choice(COMPARISONS)
            if self.rng.random() < 0.5:
                return node(self.int_expr(env, depth - 1), self.int_expr(env, depth - 1))
            return node(self.float_expr(env, depth - 1), self.float_expr(env, depth - 1))
        if pick < 0.6:
            return tir.IntImm("bool", self.rng.random() < 0.5)
        if pick < 0.7:
            return tir.Not(self.bool_expr(env, depth - 1))
        node = self.rng.choice([tir.And, tir.Or])
        return node(self.bool_expr(env, depth - 1), self.bool_expr(env, depth - 1))

    def float_expr(self, env: Env, depth: int, dtype: str = "float32") -> Any:
        pick = self.rng.random()
        buffers = [b for b in env.buffers if b.dtype == dtype]
        if depth <= 0 or pick < 0.25:
            if buffers and self.rng.random() < 0.6:
                buffer = self.rng.choice(buffers)
                return tir.BufferLoad(buffer, [self.int_expr(env, 0) for _ in buffer.shape])
            return tir.FloatImm(dtype, self.rng.choice(FLOATS))
        if pick < 0.65:
            node = self.rng.choice(FLOAT_NODES)
            left, right = (self.float_expr(env, depth - 1, dtype) for _ in "ab")
            return node(left, right)
        if pick < 0.75:
            return tir.Cast(dtype, self.int_expr(env, depth - 1))
        if pick < 0.9:
            name = self.rng.choice(["exp", "tanh", "sqrt", "sigmoid", "erf", "fabs", "floor"])
            return tir.Call(dtype, f"tir.{name}", [self.float_expr(env, depth - 1, dtype)])
        if pick < 0.95:
            args = [self.float_expr(env, depth - 1, dtype), self.float_expr(env, depth - 1, dtype)]
            return tir.Call(dtype, "tir.pow", args)
        return tir.Call(dtype, "tir.reinterpret", [self.int_expr(env, depth - 1)])

    # --- statements ---

    def stmt(self, env: Env, depth: int) -> Any:
        kinds = [self.store, self.store, self.evaluate, self.odd_store, self.odd_value]
        if depth > 0:
            kinds += [self.loop, self.loop, self.let, self.choice, self.seq, self.seq, self.attr,
                      self.allocate, self.decl_buffer, self.check, self.repeat, self.block,
                      self.realize, self.constant, self.reducer, self.pointer, self.view]
        return self.rng.choice(kinds)(env, depth)

    def store(self, env: Env, depth: int) -> Any:
        buffer = self.rng.choice(env.buffers)
        make = self.float_expr if buffer.dtype.startswith("float") else self.int_expr
        if buffer.dtype.startswith("float") and len(buffer.shape) == 1 and self.rng.random() < 0.2:
            start = self.int_expr(env, 1)
            lanes, step = self.rng.choice([2, 4, 8]), self.rng.choice([1, 2, -1])
            value = tir.Broadcast(make(env, 1, buffer.dtype), lanes)
            return tir.BufferStore(buffer, value, [tir.Ramp(start, step, lanes)])
        indices = [self.int_expr(env, 1) for _ in buffer.shape]
        return tir.BufferStore(buffer, make(env, 3, str(buffer.dtype)), indices)

    def odd_store(self, env: Env, depth: int) -> Any:
        """Vectors: under a predicate, of a scalable length, shuffled, of several dimensions."""
        buffer = self.rng.choice([b for b in env.buffers if b.dtype == "float32"])
        outer = [self.int_expr(env, 1) for _ in buffer.shape[1:]]
        pick = self.rng.random()
        if pick < 0.4:
            ramp = tir.Ramp(self.int_expr(env, 1), self.rng.choice([1, self.int_expr(env, 1)]), 4)
            lanes = [self.bool_expr(env, 1) for _ in range(4)]
            where = tir.Shuffle(lanes, [tir.IntImm("int32", k) for k in (3, 1, 0, 2)])
            value = tir.BufferLoad(buffer, [*outer, ramp], where)
            return tir.BufferStore(buffer, value, [*outer, ramp], where)
        if pick < 0.7:
            lanes = 4 * op.vscale()
            ramp = tir.Ramp(self.int_expr(env, 1), 1, lanes)
            value = tir.Broadcast(self.float_expr(env, 1), lanes)
            mask = op.get_active_lane_mask("boolxvscalex4", self.int_expr(env, 0), 16)
            return tir.BufferStore(buffer, value, [*outer, ramp], self.rng.choice([None, mask]))
        parts = [tir.Broadcast(self.float_expr(env, 1), 2) for _ in range(2)]
        value = tir.Shuffle(parts, [tir.IntImm("int32", k) for k in (3, 0, 2, 1)])
        return tir.BufferStore(buffer, value, [*outer, tir.Ramp(0, 2, 4)])

    def odd_value(self, env: Env, depth: int) -> Any:
        """Values of the rarer types, of every operator family, and of other functions."""
        pick = self.rng.random()
        dtype = self.rng.choice(SMALL_FLOATS)
        small = tir.FloatImm(dtype, self.rng.choice([0.0, 1.0, -2.0, 0.5]))
        if pick < 0.3:
            return tir.Evaluate(small + tir.Cast(dtype, self.float_expr(env, 1)))
        if pick < 0.6:
            name = self.rng.choice(UNARY)
            return tir.Evaluate(getattr(op, name)(self.float_expr(env, 2)))
        if pick < 0.7:
            word = self.rng.choice(["int4", "uint2", "int16", "uint32", "int64x4", "uint8x16"])
            lanes = DataType(word).lanes
            value = self.int_expr(env, 1)
            return tir.Evaluate(tir.Cast(word, tir.Broadcast(value, lanes) if lanes > 1 else value))
        if pick < 0.8:
            return tir.Evaluate(tir.Call("int32", GlobalVar("other"), [self.int_expr(env, 1)]))
        if pick < 0.9:
            bits = op.reinterpret("uint32", self.float_expr(env, 1))
            return tir.Evaluate(op.bitwise_not(bits) >> tir.IntImm("uint32", 3))
        buffer = self.rng.choice(env.buffers)
        first = tir.BufferLoad(buffer, [0 for _ in buffer.shape])
        return tir.Evaluate(op.call_extern("int32", "at", op.address_of(first)))

    def realize(self, env: Env, depth: int) -> Any:
        buffer = tir.decl_buffer((8, 8), "float32", self.fresh("R"))
        bounds = [Range(0, 8), Range.from_min_extent(self.int_expr(env, 0), 4)]
        body = self.stmt(env.with_buffer(buffer), depth - 1)
        return tir.BufferRealize(buffer, bounds, self.bool_expr(env, 1), body)

    def constant(self, env: Env, depth: int) -> Any:
        dtype = self.rng.choice(["float32", "int8", "int64"])
        data = np.array([self.rng.randint(-3, 3) for _ in range(4)], dtype)
        var = tir.Var(self.fresh("K"), PointerType(PrimType(dtype)))
        buffer = tir.Buffer(var, dtype, [4], name=self.fresh("KB"))
        body = tir.DeclBuffer(buffer, tir.Evaluate(tir.BufferLoad(buffer, [1])))
        rest = self.stmt(env, depth - 1)
        parts = [body, *(rest.seq if isinstance(rest, tir.SeqStmt) else [rest])]
        return tir.AllocateConst(var, dtype, [4], HostTensor(data), tir.SeqStmt(parts))

    def reducer(self, env: Env, depth: int) -> Any:
        names = [tir.Var(name, "float32") for name in ("x", "i", "y", "j")]
        x, i, y, j = names
        results = [tir.Max(x, y), tir.Select(x >= y, i, j)]
        starts = [tir.const(-1.0), tir.const(0.0)]
        combiner = tir.CommReducer([x, i], [y, j], results, starts)
        if self.rng.random() < 0.5:
            return tir.AttrStmt(combiner, "reduce_scope", 0, self.stmt(env, depth - 1))
        axis = tir.IterVar(Range(0, 8), tir.Var(self.fresh("r"), "int32"), 2)
        source = [tir.Cast("float32", axis.var), self.float_expr(env.with_int(axis.var), 1)]
        reduce = tir.Reduce(combiner, source, [axis], axis.var < 5, self.rng.choice([0, 1]))
        return tir.Evaluate(reduce)

    def pointer(self, env: Env, depth: int) -> Any:
        kind = PointerType(PrimType("float32"), self.rng.choice(["global", "shared"]))
        var = tir.Var(self.fresh("p"), kind)
        buffer = tir.Buffer(var, "float32", [8], name=self.fresh("PB"))
        value = tir.Call("handle", "tir.call_extern", ["get", self.int_expr(env, 1)])
        body = tir.DeclBuffer(buffer, self.stmt(env.with_buffer(buffer), depth - 1))
        return tir.LetStmt(var, value, body)

    def view(self, env: Env, depth: int) -> Any:
        """A buffer over another's memory: strided, offset, of its own alignment and separators."""
        source = self.rng.choice([b for b in env.buffers if b.dtype == "float32"])
        facts: dict[str, Any] = {"name": self.fresh("V")}
        if self.rng.random() < 0.5:
            facts["strides"] = [self.int_expr(env, 0), tir.IntImm("int32", 2)]
        if self.rng.random() < 0.5:
            facts["elem_offset"] = self.int_expr(env, 1)
            facts["data_alignment"], facts["offset_factor"] = self.rng.choice([(64, 1), (16, 4)])
        if self.rng.random() < 0.3:
            facts["axis_separators"] = [1]
        buffer = tir.Buffer(source.data, "float32", [2, 4], **facts)
        return tir.DeclBuffer(buffer, self.stmt(env.with_buffer(buffer), depth - 1))

    def evaluate(self, env: Env, depth: int) -> Any:
        pick = self.rng.random()
        if pick < 0.3:
            return tir.Evaluate(self.int_expr(env, 2))
        buffer = self.rng.choice(env.buffers)
        if pick < 0.5:
            zeros = [0 for _ in buffer.shape]
            args = ["pack", tir.BufferLoad(buffer, zeros), "text \"quoted\" \\ ünï"]
            return tir.Evaluate(tir.Call("int32", "tir.tvm_call_packed", args))
        if pick < 0.6:
            return tir.Evaluate(tir.Call("int32", "tir.tvm_storage_sync", ["shared"]))
        if pick < 0.7:
            return tir.Evaluate(op.ret(self.int_expr(env, 1)))
        return tir.Evaluate(tir.Call("int32", "tir.call_extern", ["h", buffer.data]))

    def loop(self, env: Env, depth: int) -> Any:
        dtype = self.rng.choice(["int32", "int32", "int64"])
        var = tir.Var(self.fresh("i"), dtype)
        kind = self.rng.choice([0, 0, 0, 1, 2, 3, 4])
        low: Any = tir.IntImm(dtype, self.rng.choice([0, 0, 0, 3]))
        extent: Any = tir.IntImm(dtype, self.rng.randint(1, 16))
        if dtype == "int32" and self.rng.random() < 0.3:
            low, extent = self.rng.choice(
                [(self.int_expr(env, 1), extent), (tir.IntImm(dtype, 0), self.int_expr(env, 1))]
            )
        thread = tir.IterVar(None, tir.Var("", dtype), 1, "threadIdx.x") if kind == 4 else None
        notes = {"pragma": 1, "why": "text", "l": [1, 2]} if self.rng.random() < 0.2 else None
        body = self.stmt(env.with_int(var), depth - 1)
        return tir.For(var, low, extent, kind, body, thread, notes)

    def let(self, env: Env, depth: int) -> Any:
        var = tir.Var(self.fresh("t"), "int32")
        return tir.LetStmt(var, self.int_expr(env, 2), self.stmt(env.with_int(var), depth - 1))

    def choice(self, env: Env, depth: int) -> Any:
        other = self.stmt(env, depth - 1) if self.rng.random() < 0.5 else None
        return tir.IfThenElse(self.bool_expr(env, 2), self.stmt(env, depth - 1), other)

    def seq(self, env: Env, depth: int) -> Any:
        parts: list[Any] = []
        for _ in range(self.rng.randint(2, 4)):
            part = self.stmt(env, depth - 1)
            parts.extend(part.seq if isinstance(part, tir.SeqStmt) else [part])
        return tir.SeqStmt(parts)

    def attr(self, env: Env, depth: int) -> Any:
        pick = self.rng.random()
        if pick < 0.3:
            tag, key = self.rng.choice(
                [("threadIdx.x", "thread_extent"), ("blockIdx.y", "thread_extent"),
                 ("vthread.x", "virtual_thread")]
            )  # fmt: skip
            thread = tir.IterVar(Range(0, 32), tir.Var("tx", "int32"), 1, tag)
            body = self.stmt(env.with_int(thread.var), depth - 1)
            return tir.AttrStmt(thread, key, 32, body)
        node = self.rng.choice([tir.IntImm("int32", 0), "text", env.buffers[0].data])
        return tir.AttrStmt(node, "key", self.int_expr(env, 1), self.stmt(env, depth - 1))

    def allocate(self, env: Env, depth: int) -> Any:
        scope = self.rng.choice(["global", "local", "shared"])
        var = tir.Var(self.fresh("m"), PointerType(PrimType("float32"), scope))
        buffer = tir.Buffer(var, "float32", [16], name=self.fresh("D"))
        if self.rng.random() < 0.5:
            body = tir.DeclBuffer(buffer, self.stmt(env.with_buffer(buffer), depth - 1))
            extents = [16] if self.rng.random() < 0.5 else [32]
        else:
            body = tir.Evaluate(tir.Call("int32", "tir.call_extern", ["use", var]))
            extents = [16, 2]
        condition = tir.IntImm("bool", True)
        notes = {"note": "a"} if self.rng.random() < 0.2 else None
        return tir.Allocate(var, "float32", extents, condition, body, notes)

    def decl_buffer(self, env: Env, depth: int) -> Any:
        source = self.rng.choice(env.buffers)
        buffer = tir.Buffer(source.data, source.dtype, [4], name=self.fresh("E"))
        return tir.DeclBuffer(buffer, self.stmt(env.with_buffer(buffer), depth - 1))

    def check(self, env: Env, depth: int) -> Any:
        text = tir.StringImm("must hold")
        return tir.AssertStmt(self.bool_expr(env, 1), text, self.stmt(env, depth - 1))

    def repeat(self, env: Env, depth: int) -> Any:
        return tir.While(self.bool_expr(env, 1), self.stmt(env, depth - 1))

    def block(self, env: Env, depth: int) -> Any:
        axes, values = [], []
        inner = env
        for _ in range(self.rng.randint(0, 3)):
            var = tir.Var(self.fresh("vi"), "int32")
            dom = Range(0, self.rng.randint(1, 16))
            if self.rng.random() < 0.2:
                dom = Range.from_min_extent(self.int_expr(env, 0), 4)
            axes.append(tir.IterVar(dom, var, self.rng.choice([0, 0, 2, 2, 3, 4])))
            values.append(self.int_expr(env, 1))
            inner = inner.with_int(var)
        allocs = []
        if self.rng.random() < 0.3:
            allocs.append(tir.decl_buffer((4, 4), self.rng.choice(["float32", "int32"]), "L"))
            inner = inner.with_buffer(allocs[0])
        matches = []
        source = self.rng.choice(env.buffers)
        if len(source.shape) == 1 and self.rng.random() < 0.3:
            target = tir.decl_buffer((4,), source.dtype, "W", offset_factor=1)
            region = tir.BufferRegion(source, [Range.from_min_extent(self.int_expr(env, 1), 4)])
            matches.append(tir.MatchBufferRegion(target, region))
            inner = inner.with_buffer(target)
        notes = {"tag": "x", "n": 3} if self.rng.random() < 0.2 else None
        init = self.store(inner, 0) if axes and self.rng.random() < 0.3 else None
        regions = [self.region(Env(inner.ints, env.buffers)) for _ in range(3)]
        body = self.stmt(inner, depth - 1)
        block = tir.Block(axes, regions[:2], regions[2:], self.rng.choice(["B", "", "root"]), body,
                          init, allocs, matches, notes)
        predicate = self.bool_expr(env, 1) if self.rng.random() < 0.3 else True
        return tir.BlockRealize(values, predicate, block)

    def region(self, env: Env) -> Any:
        buffer = self.rng.choice(env.buffers)
        ranges = [
            Range.from_min_extent(self.int_expr(env, 1), self.rng.choice([1, 1, 4]))
            for _ in buffer.shape
        ]
        return tir.BufferRegion(buffer, ranges)

    def function(self) -> Any:
        n = tir.SizeVar("n", "int32")
        a = tir.decl_buffer((16, 16), "float32", "A")
        b = tir.decl_buffer((n,), "float32", "B")
        c = tir.decl_buffer((8,), "int32", "C", offset_factor=1)
        s = tir.Var("s", "int32")
        env = Env([s, n], [a, b, c])
        attrs: dict[str, Any] = {"global_symbol": "main"}
        if self.rng.random() < 0.3:
            attrs = {"tir.noalias": True, "list": [1, "a", {"k": 2.5}]}
        ret = PrimType("int32") if self.rng.random() < 0.2 else None
        params = [a, b, c, s]
        if self.rng.random() < 0.3:
            params.append(tir.Var("h", PointerType(PrimType("float16"), "shared")))
        body = self.stmt(env, 4)
        if any(isinstance(part, tir.BlockRealize) for part in walk(body)):
            body = tir.BlockRealize([], True, tir.Block([], [], [], "root", body))
        return tir.PrimFunc(params, body, ret, None, attrs)


class Env:
    """The variables and buffers that are in sight."""

    def __init__(self, ints: list[Any], buffers: list[Any]) -> None:
        self.ints = ints
        self.buffers = buffers

    def with_int(self, var: Any) -> Env:
        return Env([*self.ints, var], self.buffers)

    def with_buffer(self, buffer: Any) -> Env:
        return Env(self.ints, [*self.buffers, buffer])
