"""Random programs mean the same to the interpreter, to LLVM (optimising or not), and to C.

Five families: loop nests over float data with every kind of loop, schedules of real operators,
arithmetic on small and large integers, programs over values of every type in memory of every
layout, and blocks (stages of tensors, views of parts of buffers); in the last three every bit has
to agree.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tvm
from tests.covering import few
from tests.end_to_end.random_block_programs import TensorMaker, ViewMaker
from tests.tir.schedule.test_random import WORKLOADS, Scheduler
from tests.tir.transform.random_programs import Maker
from tests.tir.transform.random_typed_programs import TypedMaker
from tvm import tir
from tvm.ir import PrimExpr
from tvm.testing.random_inputs import random_inputs
from tvm.tir import interp

pytestmark = pytest.mark.cpu

TARGETS = ("llvm -opt-level=0", "llvm -opt-level=2", "c")
SIZE = 32
WHOLE = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


def machine_code(funcs: list[tir.PrimFunc], target: str) -> list[Callable[..., object]]:
    """The functions compiled as one module."""
    named = {f"f{n}": f.with_attr("global_symbol", f"f{n}") for n, f in enumerate(funcs)}
    library = tvm.compile(tvm.IRModule(named), target=target)
    return [library[name] for name in named]


@contextmanager
def naming(seed: int, target: str, func: tir.PrimFunc) -> Iterator[None]:
    """What differs is told with its program, which is printed only then."""
    try:
        yield
    except AssertionError as err:
        raise AssertionError(f"program {seed}, {target}\n{func}\n{err}") from err


def check(funcs: list[tir.PrimFunc], inputs: Callable[..., list], exact: bool = False) -> None:
    """All ways give the same outputs, on the same inputs."""
    wanted = []
    for seed, func in enumerate(funcs):
        args = inputs(func, seed)
        interp.run(func, *args)
        wanted.append(args)
    for target in TARGETS:
        for seed, call in enumerate(machine_code(funcs, target)):
            args = inputs(funcs[seed], seed)
            call(*args)
            with naming(seed, target, funcs[seed]):
                for found, want in zip(args, wanted[seed]):
                    if exact:
                        np.testing.assert_array_equal(found, want)
                    else:
                        np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


def scheduled(name: str, seed: int, steps: int = 12) -> tir.PrimFunc:
    """An operator after random requests to its schedule."""
    scheduler = Scheduler(WORKLOADS[name](), seed)
    for _ in range(steps):
        scheduler.step()
    (func,) = scheduler.sch.mod.functions.values()
    return func


# --- whole numbers of all widths ---


class Arithmetic:
    """A vector or plain loop that stores random expressions of whole numbers."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.dtype = self.random.choice(WHOLE)
        self.a, self.b = (tir.decl_buffer((SIZE,), self.dtype, name) for name in "ab")
        self.out = tir.decl_buffer((SIZE,), self.dtype, "out")
        self.i = tir.Var("i", "int32")

    def literal(self, low: int = 0) -> PrimExpr:
        return tir.const(self.random.randint(max(low, 0), 100), self.dtype)

    def operand(self, depth: int) -> PrimExpr:
        """Of a sum, product or comparison, whose terms may be moved to the other side: int32 and
        int64, the types of indices, must not overflow."""
        value = self.value(depth)
        half = {"int32": "int16", "int64": "int32"}.get(self.dtype)
        return value if half is None else tir.Cast(self.dtype, tir.Cast(half, value))

    def divisor(self, depth: int) -> PrimExpr:
        """At least one: nothing is said of division by zero and of overflow by -1."""
        if self.random.random() < 0.5:
            return self.literal(low=1)
        few = tir.bitwise_and(self.value(depth), tir.const(7, self.dtype))
        return few + tir.const(1, self.dtype)

    def shift(self, depth: int) -> PrimExpr:
        bits = tir.const(tvm.DataType(self.dtype).bits - 1, self.dtype)
        return tir.bitwise_and(self.value(depth), bits)

    def condition(self, depth: int) -> PrimExpr:
        kind = self.random.choice([tir.LT, tir.LE, tir.GT, tir.GE, tir.EQ, tir.NE])
        plain = kind(self.operand(depth), self.operand(depth))
        pick = self.random.randrange(4)
        if pick == 0:
            return tir.Not(plain)
        if pick == 1:
            return tir.And(plain, tir.LT(self.operand(0), self.operand(0)))
        return tir.Or(plain, tir.EQ(self.operand(0), self.operand(0))) if pick == 2 else plain

    def value(self, depth: int) -> PrimExpr:
        rng = self.random
        if depth == 0 or rng.random() < 0.1:
            return rng.choice([self.a[self.i], self.b[self.i], self.literal()])
        below = depth - 1
        grows = rng.choice([tir.Add, tir.Sub, tir.Mul])
        two = rng.choice([tir.Min, tir.Max, tir.bitwise_and, tir.bitwise_or, tir.bitwise_xor])
        over = rng.choice([tir.Div, tir.Mod, tir.FloorDiv, tir.FloorMod])
        move = rng.choice([tir.shift_left, tir.shift_right])
        choose = rng.choice([tir.Select, tir.if_then_else])
        forms: list[Callable[[], PrimExpr]] = [
            lambda: grows(self.operand(below), self.operand(below)),
            lambda: two(self.value(below), self.value(below)),
            lambda: over(self.value(below), self.divisor(below)),
            lambda: move(self.value(below), self.shift(0)),
            lambda: choose(self.condition(below), self.value(below), self.value(below)),
            lambda: tir.Cast(self.dtype, tir.Cast(rng.choice(WHOLE), self.value(below))),
            lambda: tir.bitwise_not(self.value(below)),
        ]
        return rng.choice(forms)()

    def program(self) -> tir.PrimFunc:
        kind = self.random.choice([tir.ForKind.SERIAL, tir.ForKind.VECTORIZED])
        store = tir.BufferStore(self.out, self.value(4), [self.i])
        return tir.PrimFunc([self.a, self.b, self.out], tir.For(self.i, 0, SIZE, kind, store))


def any_bits(func: tir.PrimFunc, seed: int) -> list[np.ndarray]:
    """Small numbers, extremes and random bits."""
    source, found = np.random.default_rng(seed), []
    for param in func.params:
        kind = np.dtype(str(func.buffer_map[param].dtype))
        limits = np.iinfo(kind)
        some = source.integers(limits.min, limits.max, SIZE, kind, endpoint=True)
        small = source.integers(max(limits.min, -5), 20, SIZE).astype(kind)
        values = np.where(source.random(SIZE) < 0.5, some, small)
        values[:4] = [limits.min, limits.max, 0, 1]
        found.append(source.permutation(values))
    return found


def check_bits(makers: Sequence[TypedMaker | TensorMaker | ViewMaker]) -> None:
    """All ways give the same bits."""
    funcs = [maker.program() for maker in makers]
    wanted = [maker.inputs() for maker in makers]
    for func, args in zip(funcs, wanted):
        interp.run(func, *args)
    for target in TARGETS:
        for n, call in enumerate(machine_code(funcs, target)):
            given = makers[n].inputs()
            call(*(held := [_passed(array) for array in given]))
            with naming(makers[n].seed, target, funcs[n]):
                for array, passed, want in zip(given, held, wanted[n]):
                    found = array if passed is array else passed.numpy()
                    np.testing.assert_array_equal(_plain(found), _plain(want))


def _passed(array: np.ndarray) -> Any:
    """numpy gives no other library its arrays of bfloat16."""
    return tvm.runtime.tensor(array) if array.dtype.name == "bfloat16" else array


def _plain(array: np.ndarray) -> np.ndarray:
    """numpy knows no NaN of bfloat16."""
    return array.astype("float64") if array.dtype.name == "bfloat16" else array


@pytest.mark.parametrize("start", few(range(0, 120, 15), 1))
def test_loop_nests(start: int) -> None:
    check([Maker(seed).program() for seed in range(start, start + 15)], random_inputs)


@pytest.mark.parametrize("name", WORKLOADS)
def test_schedules(name: str) -> None:
    check([scheduled(name, seed) for seed in range(100, 102)], random_inputs)


@pytest.mark.parametrize("start", few(range(0, 160, 20), 1))
def test_whole_numbers(start: int) -> None:
    check([Arithmetic(seed).program() for seed in range(start, start + 20)], any_bits, exact=True)


@pytest.mark.parametrize("start", few(range(0, 60, 15), 1))
def test_values_of_all_types(start: int) -> None:
    check_bits([TypedMaker(seed) for seed in range(start, start + 15)])


@pytest.mark.parametrize("make", [TensorMaker, ViewMaker])
def test_blocks(make: type[TensorMaker | ViewMaker]) -> None:
    check_bits([make(seed) for seed in range(8)])


@pytest.mark.long
@pytest.mark.parametrize("start", range(10_000, 15_000, 100))
def test_many(start: int) -> None:
    seeds = range(start, start + 100)
    check([Maker(seed).program() for seed in seeds], random_inputs)
    check([Arithmetic(seed).program() for seed in seeds], any_bits, exact=True)
    for make in (TypedMaker, TensorMaker, ViewMaker):
        check_bits([make(seed) for seed in seeds])
    names = list(WORKLOADS)
    check([scheduled(names[s % len(names)], s) for s in seeds[:20]], random_inputs)
