"""Simplification by what buffers are known to hold: decisions, random programs before and after."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tvm import tir
from tvm.ir import IRModule, structural_equal
from tvm.ir.transform import PassContext
from tvm.script import tir as T
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.interp import run
from tvm.tir.transform import Simplify

pytestmark = pytest.mark.pure
PROVE = {"tir.Simplify": {"propagate_knowns_to_prove_conditional": True}}
REPLACE = {"tir.Simplify": {"propagate_knowns_to_simplify_expressions": True}}


def after(func: tir.PrimFunc, config) -> tir.PrimFunc:
    with PassContext(config=config):
        return Simplify()(IRModule({"main": func}))["main"]


def same(found: tir.PrimFunc, expected: tir.PrimFunc) -> bool:
    return structural_equal(found.body, expected.body, map_free_vars=True)


@T.prim_func
def two_loops(A: T.Buffer((16,), "int32")):
    for i in range(16):
        T.evaluate(T.assume(i < 12 or A[i] == 3))
    for i in range(16):
        if 12 <= i:
            if A[i] == 3:
                A[i] = 9
        elif A[i] == 3:
            A[i] = 8


@T.prim_func
def two_loops_decided(A: T.Buffer((16,), "int32")):
    for i in range(16):
        T.evaluate(T.assume(i < 12 or A[i] == 3))
    for i in range(16):
        if 12 <= i:
            A[i] = 9
        elif A[i] == 3:
            A[i] = 8


@T.prim_func
def in_a_row(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
    A[0] = 5
    A[0] = A[0] * 2
    B[0] = A[0] + 1


@T.prim_func
def in_a_row_replaced(A: T.Buffer((1,), "int32"), B: T.Buffer((1,), "int32")):
    A[0] = 5
    A[0] = 10
    B[0] = 11


@T.prim_func
def lanes(A: T.Buffer((4,), "int32"), B: T.Buffer((2,), "int32")):
    A[T.Ramp(0, 1, 4)] = T.Ramp(20, 2, 4)
    B[0] = A[3]
    A[3] = 0
    B[1] = A[2] + A[3]


@T.prim_func
def lanes_replaced(A: T.Buffer((4,), "int32"), B: T.Buffer((2,), "int32")):
    A[T.Ramp(0, 1, 4)] = T.Ramp(20, 2, 4)
    B[0] = 26
    A[3] = 0
    B[1] = 24


@T.prim_func
def unknown(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"), n: T.int32):
    if n == 2:
        T.evaluate(T.assume(A[0] == 0))
    B[0] = A[0]
    for i in range(15):
        A[i + 1] = A[i] + 1
    B[1] = A[1]


@pytest.mark.parametrize(("func", "expected", "config"), [
    (two_loops, two_loops_decided, PROVE),
    (in_a_row, in_a_row, PROVE),
    (in_a_row, in_a_row_replaced, REPLACE),
    (lanes, lanes_replaced, REPLACE),
    (unknown, unknown, REPLACE),
])  # fmt: skip
def test_what_is_known(func, expected, config) -> None:
    found = after(func, config)
    assert same(found, expected), found.script()


@T.prim_func
def sizes(A: T.Buffer((16,), "int32"), n: T.int32):
    T.evaluate(T.assume(n % 4 == 0))
    for i in range(n // 4):
        A[n % 4 + i] = 0


@T.prim_func
def sizes_known(A: T.Buffer((16,), "int32"), n: T.int32):
    T.evaluate(T.assume(n % 4 == 0))
    for i in range(n // 4):
        A[i] = 0


def test_an_assumed_size_is_no_fact_without_an_option() -> None:
    assert not same(after(sizes, {}), sizes_known)


@T.prim_func
def reduced(A: T.Buffer((16, 4), "int32"), C: T.Buffer((16,), "int32"), n: T.int32) -> None:
    for i, k in T.grid(16, 4):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                C[vi] = 0
            C[vi] = C[vi] + A[vi, vk]
    with T.block("first"):
        T.where(n > 3)
        C[0] = 1
    A[0, 0] = C[0]


def test_what_a_block_may_not_do_is_no_fact() -> None:
    """Later iterations come without the initial value, and a predicate may not hold."""
    flags = ("propagate_knowns_to_prove_conditional", "propagate_knowns_to_simplify_expressions")
    text = after(reduced, {"tir.Simplify": dict.fromkeys(flags, True)}).script()
    assert "C[vi] = C[vi] + A[vi, vk]" in text
    assert "A[0, 0] = C[0]" in text


class Programs:
    """Random programs over two small buffers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.buffers = [tir.decl_buffer((8,), "int32", name=name) for name in "AB"]
        self.loops: list[e.Var] = []

    def index(self) -> e.PrimExpr:
        pick = self.random.random()
        if not self.loops or pick < 0.35:
            return e.IntImm("int32", self.random.randrange(8))
        var = self.random.choice(self.loops)
        return var if pick < 0.85 else tir.floormod(var + self.random.randrange(1, 8), 8)

    def value(self) -> e.PrimExpr:
        pick = self.random.random()
        if pick < 0.45:
            return e.IntImm("int32", self.random.randrange(3))
        load = e.BufferLoad(self.random.choice(self.buffers), [self.index()])
        if pick < 0.7:
            return load
        if self.loops and pick < 0.85:
            return self.random.choice(self.loops) + self.random.randrange(3)
        return tir.floormod(load + 1, 4)

    def condition(self) -> e.PrimExpr:
        pick = self.random.random()
        if self.loops and pick < 0.5:
            return self.random.choice(self.loops) < self.random.randrange(1, 8)
        kind = self.random.choice((e.EQ, e.LT, e.NE))
        return kind(self.value(), e.IntImm("int32", self.random.randrange(3)))

    def stmt(self, depth: int) -> s.Stmt:
        pick = self.random.random()
        if depth == 0 or pick < 0.3:
            return s.BufferStore(self.random.choice(self.buffers), self.value(), [self.index()])
        if pick < 0.55:
            var = e.Var(f"i{len(self.loops)}", "int32")
            self.loops.append(var)
            body = self.stmt(depth - 1)
            self.loops.pop()
            low = self.random.choice((0, 0, 2))
            extent = self.random.choice((0, 1, 4, 6, 8 - low))
            return s.For(var, low, min(extent, 8 - low), s.ForKind.SERIAL, body)
        if pick < 0.8:
            otherwise = self.stmt(depth - 1) if self.random.random() < 0.5 else None
            return s.IfThenElse(self.condition(), self.stmt(depth - 1), otherwise)
        parts = [self.stmt(depth - 1) for _ in range(self.random.randint(2, 4))]
        return s.SeqStmt.flatten(parts)

    def function(self) -> tir.PrimFunc:
        parts = [self.stmt(3) for _ in range(4)]
        params = [e.Var(name, "handle") for name in "ab"]
        return tir.PrimFunc(params, s.SeqStmt.flatten(parts), None, dict(zip(params, self.buffers)))


def check_program(seed: int, config) -> bool:
    func = Programs(seed).function()
    simple = after(func, config)
    source = np.random.default_rng(seed)
    first = [source.integers(0, 3, 8).astype("int32") for _ in range(2)]
    second = [array.copy() for array in first]
    run(func, *first)
    run(simple, *second)
    both = f"{func.script()}{simple.script()}"
    assert all(map(np.array_equal, first, second)), f"seed {seed}:\n{both}"
    return not structural_equal(func, simple)


@pytest.mark.slow
@pytest.mark.parametrize("config", [PROVE, REPLACE, {}])
def test_random_programs(config) -> None:
    changed = [check_program(seed, config) for seed in range(60)]
    assert sum(changed) > 6
