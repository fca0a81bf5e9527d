"""Loops whose indices wrap around in several widths are right, and others stay vectorised."""

from __future__ import annotations

import random

import numpy as np
import pytest

import tvm
from tvm.backend.llvm.narrow_indices import NarrowIndices
from tvm.script import from_source
from tvm.script import tir as T
from tvm.tir import BufferLoad, IntImm, PrimFunc, Var, decl_buffer

pytestmark = pytest.mark.cpu

HEAD = """
from tvm.script import tir as T
@T.prim_func
def main(a: T.Buffer((65600,), "float32"), b: T.Buffer((65600,), "float32"),
         c: T.Buffer((1300,), "float32"), n: T.int32):
    T.func_attr({"tir.noalias": True})
"""
COUNTS = (3, 5, 8, 13, 16, 20, 33, 50, 64, 100, 300)
HINT = 'llvm.loop.vectorize.enable", i1 false'


def looped(expr: str) -> PrimFunc:
    """c[i] = expr."""
    return from_source(HEAD + f"    for i in range(n):\n        c[i] = {expr}\n")


def check(func: PrimFunc, seed: int = 0) -> None:
    """Optimised code does what plain code does."""
    fast, plain = (
        tvm.compile(func, target=f"llvm -opt-level={level}") for level in (2, 0)
    )  # fmt: skip
    rng = np.random.default_rng(seed)
    a, b = rng.standard_normal((2, 65600)).astype("float32")
    for n in COUNTS:
        found, wanted = np.zeros((2, 1300), "float32")
        fast(a, b, found, n)
        plain(a, b, wanted, n)
        np.testing.assert_allclose(found, wanted, 1e-4, 1e-4, err_msg=f"n = {n}\n{func}")


def hinted(func: PrimFunc) -> bool:
    return HINT in tvm.compile(func, target="llvm").mod.inspect_source("ll")


@pytest.mark.parametrize(
    "expr",
    [
        "a[(i + 3) % 8] + b[(i + 9) % 64]",
        "a[T.bitwise_and(i + 3, 7)] + b[T.bitwise_and(i + 9, 63)]",
        "a[T.bitwise_and(i + 3, 14)] + b[T.bitwise_and(i + 9, 63)]",
        "a[T.Cast('int32', T.Cast('uint8', i))] + b[T.Cast('int32', T.Cast('uint16', i + 5))]",
        "a[T.truncmod(i + 3, 8)] + b[T.truncmod(i + 9, 64)]",
        "a[T.Cast('int32', T.Cast('int8', i)) + 128] + b[(i + 9) % 64]",
        "a[T.shift_right(T.shift_left(i + 3, 28), 28) + 8] + b[i]",
        "a[T.Cast('uint32', i) % T.uint32(8)] + b[T.Cast('uint32', i + 9) % T.uint32(64)]",
    ],
)
def test_sums_of_several_widths_are_not_vectorised(expr):
    func = looped(expr)
    assert hinted(func)
    check(func)


@pytest.mark.parametrize(
    "expr",
    [
        "a[i] + b[i]",
        "a[(i + 3) % 8] + b[(i + 9) % 8]",
        "a[(i + 3) % 8] + b[i // 8]",
        "a[(i + 3) % 7] + b[(i + 9) % 63]",
        "T.Cast('float32', T.Cast('int32', i < 9)) + b[i % 64]",
    ],
)
def test_other_loops_keep_their_vectors(expr):
    func = looped(expr)
    assert not hinted(func)
    check(func)


def test_unrolled_loops_give_their_widths_to_the_loop_around():
    func = from_source(
        HEAD + "    for i in range(n):\n        for j in T.unroll(2):\n"
        "            c[i * 2 + j] = a[(i + j) % 8] + b[(i + 9 + j) % 64]\n"
    )
    assert HINT in tvm.compile(func, target="llvm").mod.inspect_source("ll")
    check(func)


def test_widths_of_one_loop_are_not_those_of_the_next():
    func = from_source(
        HEAD + "    for i in range(n):\n        c[i] = a[(i + 3) % 8]\n"
        "    for j in range(n):\n        c[j] = c[j] + b[(j + 9) % 64]\n"
    )
    assert not hinted(func)
    check(func)


def test_a_loop_around_calls_of_the_module_is_left_alone():
    @tvm.script.ir_module
    class Module:
        @T.prim_func
        def main(a: T.Buffer((64,), "int32"), n: T.int32):
            for i in range(n):
                Module.cell(a.data, i)

        @T.prim_func(private=True)
        def cell(a: T.handle("int32"), i: T.int32):
            A = T.Buffer((64,), "int32", data=a)
            A[i] = (i + 3) % 8 + (i + 9) % 64

    assert HINT in tvm.compile(Module, target="llvm").mod.inspect_source("ll")


def test_what_arrays_hold_is_no_sum():
    """Loads of bytes are widened in many kernels; a single cell may be a counter."""
    data, i = decl_buffer((8,), "uint8"), Var("i", "int32")
    for index, vectors in ((i, True), (IntImm("int32", 0), False)):
        widths = NarrowIndices()
        widths.enter()
        widths.casts(BufferLoad(data, [index]), tvm.DataType("int32"))
        widths.casts(Var("x", "uint16"), tvm.DataType("int32"))
        assert widths.leave() is vectors


class Maker:
    """Loops over sums that are cut to few bits in many ways."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def index(self, names: str) -> str:
        pick, bits = self.random.choice, self.random.choice((1, 2, 3, 4, 5, 6, 8))
        linear = f"({pick(names)} * {pick((1, 1, 1, 2, 3, 16))} + {pick((0, 1, 3, 9, 15, 40))})"
        mask, size = (1 << bits) - 1, 1 << bits
        return pick(
            [
                *[f"{linear} % {size}"] * 4,
                f"T.bitwise_and({linear}, {mask << pick((0, 0, 1, 2))})",
                f"T.Cast('int32', T.Cast('{pick(('uint8', 'uint16'))}', {linear}))",
                f"(T.Cast('int32', T.Cast('int8', {linear})) + 128)",
                f"(T.shift_right(T.shift_left({linear}, {31 - bits}), {31 - bits}) + {size})",
                f"({linear} - {linear} // {size} * {size})",
                f"T.Cast('int64', T.Cast('uint32', {linear}) % T.uint32({size}))",
                f"T.truncmod({linear}, {size})",
            ]
        )

    def program(self) -> PrimFunc:
        pick = self.random.choice
        inner = pick(("", "", "T.unroll(3)", "range(4)"))
        names = "iij" if inner else "i"
        indices = [self.index(names) for _ in range(self.random.randint(2, 4))]
        lines = [f"for i in {pick(('range', 'range', 'T.parallel'))}(n):"]
        if inner:
            lines.append(f"    for j in {inner}:")
        indent = "        " if inner else "    "
        if self.random.random() < 0.4:
            for number, index in enumerate(indices):
                dtype = "int64" if "int64" in index else "int32"
                lines.append(f"{indent}x{number}: T.{dtype} = {index}")
            indices = [f"x{number}" for number in range(len(indices))]
        value, *others = (f"{pick('ab')}[{index}]" for index in indices)
        for other in others:
            value = pick((f"{value} + {other}", f"T.max({value}, {other})", f"{value} - {other}"))
        target = "c[i * 4 + j]" if inner else pick(("c[i]", "c[i * 4 + 1]"))
        if not inner and "parallel" not in lines[0] and self.random.random() < 0.3:
            target, value = "c[i + 1]", f"c[i] * T.float32(0.25) + {value}"
        lines.append(f"{indent}{target} = {value}")
        return from_source(HEAD + "".join(f"    {line}\n" for line in lines))


def test_random_loops():
    for seed in range(25):
        check(Maker(seed).program(), seed)


@pytest.mark.long
@pytest.mark.parametrize("first", range(100, 2100, 250))
def test_many_random_loops(first):
    for seed in range(first, first + 250):
        check(Maker(seed).program(), seed)
