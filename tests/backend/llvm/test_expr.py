"""Expressions compute what numpy computes, scalar and vector."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import tvm
from tests.backend.llvm.kernel import call, compiled, evaluate, evaluate_all, i32, kernel
from tvm.script import tir as T
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import decl_buffer
from tvm.tir.scalar import trunc_div

pytestmark = pytest.mark.cpu
LANES = [1, 8]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]


def numbers(dtype: str, seed: int = 0, *, nonzero: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        values = rng.normal(size=32).astype(dtype)
    else:
        low = 0 if dtype.startswith("u") else -20
        values = rng.integers(low, 20, 32).astype(dtype)
    if nonzero:
        values[values == 0] = 3
    return values


def check_nodes(
    rows: Sequence[tuple[type[e.PrimExpr], np.ndarray]], a: np.ndarray, b: np.ndarray, lanes: int
) -> None:
    """Each node of a and b has the values beside it."""
    made = evaluate_all([(node, a, b) for node, _ in rows], lanes=lanes)
    for (node, expected), found in zip(rows, made, strict=True):
        np.testing.assert_array_equal(found, expected, err_msg=node.__name__)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", INTS + FLOATS)
def test_sums_differences_products(dtype: str, lanes: int) -> None:
    a, b = numbers(dtype, 1), numbers(dtype, 2)
    with np.errstate(over="ignore"):
        rows = ((e.Add, a + b), (e.Sub, a - b), (e.Mul, a * b))
    check_nodes(rows, a, b, lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", INTS)
def test_divisions_of_integers(dtype: str, lanes: int) -> None:
    a, b = numbers(dtype, 3), numbers(dtype, 4, nonzero=True)
    quotient = np.trunc(a.astype("float64") / b).astype(dtype)
    rows = (
        (e.FloorDiv, a // b),
        (e.FloorMod, a % b),
        (e.Div, quotient),
        (e.Mod, a - quotient * b),
    )
    check_nodes(rows, a, b, lanes)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", ["int8", "int32", "uint32", "int64"])
def test_no_division_of_integers_ends_the_process(dtype: str, lanes: int) -> None:
    """Where machines trap there is numpy's answer: zero, and for the least by -1 itself."""
    least = np.iinfo(dtype).min
    a = np.array([7, least, least, least, 0, 9, -9, 5] * 2).astype(dtype)
    b = np.array([0, 0, -1, 1, 0, -1, -1, 2] * 2).astype(dtype)
    quotient, rest = [0, 0, least, least, 0, -9, 9, 2] * 2, [0] * 7 + [1]
    if dtype.startswith("u"):
        with np.errstate(divide="ignore"):
            quotient, rest = a // b, (a % b)[:8]
    whole, left = (np.array(values).astype(dtype) for values in (quotient, [*rest] * 2))
    rows = ((e.FloorDiv, whole), (e.Div, whole), (e.FloorMod, left), (e.Mod, left))
    check_nodes(rows, a, b, lanes)


@pytest.mark.parametrize("dtype", ["int8", "int64"])
def test_the_least_number_divided_by_a_literal(dtype: str) -> None:
    a = np.full(8, np.iinfo(dtype).min, dtype)
    divisors = (-1, -3, 3, 7)
    made = evaluate_all([(lambda x, d=d: e.Div(x, e.IntImm(dtype, d)), a) for d in divisors])
    for divisor, quotient in zip(divisors, made, strict=True):
        exact = trunc_div(int(a[0]), divisor)
        assert quotient.tolist() == np.full(8, exact).astype(dtype).tolist()


@pytest.mark.parametrize("lanes", LANES)
def test_division_by_a_power_of_two_rounds_down(lanes: int) -> None:
    a = numbers("int32", 5)

    def literal(value: int) -> e.PrimExpr:
        return i32(value) if lanes == 1 else e.Broadcast(i32(value), lanes)

    np.testing.assert_array_equal(
        evaluate(lambda x: e.FloorDiv(x, literal(8)), a, lanes=lanes), a // 8
    )
    np.testing.assert_array_equal(
        evaluate(lambda x: e.FloorMod(x, literal(8)), a, lanes=lanes), a % 8
    )


@pytest.mark.parametrize("dtype", FLOATS)
def test_divisions_of_floats(dtype: str) -> None:
    a, b = numbers(dtype, 6), numbers(dtype, 7, nonzero=True)
    rows = ((e.Div, a / b), (e.FloorDiv, np.floor(a / b)), (e.Mod, np.fmod(a, b)))
    check_nodes(rows, a, b, lanes=1)


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_min_max_and_comparisons(dtype: str, lanes: int) -> None:
    a, b = numbers(dtype, 8), numbers(dtype, 9)
    b[:4] = a[:4]
    rows = (
        (e.Min, np.minimum), (e.Max, np.maximum), (e.EQ, np.equal), (e.NE, np.not_equal),
        (e.LT, np.less), (e.LE, np.less_equal), (e.GT, np.greater), (e.GE, np.greater_equal),
    )  # fmt: skip
    check_nodes([(node, expected(a, b)) for node, expected in rows], a, b, lanes)


@pytest.mark.parametrize("lanes", LANES)
def test_not_a_number_wins_in_min_and_max(lanes: int) -> None:
    a = numbers("float32", 10)
    b = numbers("float32", 11)
    a[::3] = np.nan
    b[::5] = np.nan
    check_nodes([(e.Max, np.maximum(a, b)), (e.Min, np.minimum(a, b))], a, b, lanes)
    zero = e.FloatImm("float32", 0.0)
    literal = zero if lanes == 1 else e.Broadcast(zero, lanes)
    relu = evaluate(lambda x: e.Max(literal, x), a, lanes=lanes)
    np.testing.assert_array_equal(relu, np.maximum(a, 0))


@pytest.mark.parametrize(
    ("target", "found"),
    [("llvm -mtriple=aarch64-linux-gnu", ("fmax\t", "fmin\t")),
     ("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell", ("vmaxps", "vminps"))],
)  # fmt: skip
def test_min_and_max_with_a_literal_are_one_instruction(
    target: str, found: tuple[str, str]
) -> None:
    @T.prim_func
    def clip(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):  # type: ignore
        for i in T.vectorized(4):
            B[i] = T.min(T.max(A[i], T.float32(-2)), T.float32(3))

    text = tvm.compile(clip, target=target).mod.inspect_source("asm")
    assert [text.count(name) for name in found] == [1, 1], text
    assert "\tfcm" not in text
    assert "\tvcmp" not in text


@pytest.mark.parametrize("lanes", LANES)
def test_logic_and_selection(lanes: int) -> None:
    a, b = numbers("float32", 12) > 0, numbers("float32", 13) > 0
    check_nodes([(e.And, a & b), (e.Or, a | b)], a, b, lanes)
    np.testing.assert_array_equal(evaluate(e.Not, a, lanes=lanes), ~a)
    x, y = numbers("int32", 14), numbers("int32", 15)
    chosen = evaluate(lambda c, p, q: e.Select(c, p, q), a, x, y, lanes=lanes)
    np.testing.assert_array_equal(chosen, np.where(a, x, y))


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("source", ["bool", "int8", "uint16", "int64", *FLOATS])
def test_casts(source: str, lanes: int) -> None:
    values = numbers("int8", 16) > 0 if source == "bool" else numbers(source, 17)
    targets = ("bool", "int8", "uint8", "int32", "uint64", *FLOATS)
    rows = []
    for target in targets:
        kind = target if lanes == 1 else f"{target}x{lanes}"
        positive = np.dtype(source).kind == "f" and target.startswith("u")
        given = np.abs(values) if positive else values
        rows.append((lambda x, k=kind: e.Cast(k, x), given))
    made = evaluate_all(rows, lanes=lanes)
    for target, (_, given), found in zip(targets, rows, made, strict=True):
        np.testing.assert_array_equal(found, given.astype(target), err_msg=target)


def test_data_wraps_around_and_unsigned_literals_keep_their_bits() -> None:
    a = np.full(4, 2**31 - 1, np.int32)
    np.testing.assert_array_equal(evaluate(lambda x: e.Add(x, i32(1)), a), a + np.int32(1))
    big = np.zeros(4, np.uint64)
    top = e.IntImm("uint64", 2**64 - 1)
    np.testing.assert_array_equal(evaluate(lambda x: e.Add(x, top), big), big - np.uint64(1))


def test_ramp_broadcast_shuffle() -> None:
    a = numbers("int32", 18)
    ramp = evaluate(lambda x: e.Add(x, e.Ramp(i32(5), i32(-2), 8)), a, lanes=8)
    np.testing.assert_array_equal(ramp, a + np.tile(5 - 2 * np.arange(8), 4))
    back = evaluate(lambda x: e.Shuffle([x], [i32(7 - i) for i in range(8)]), a, lanes=8)
    np.testing.assert_array_equal(back, a.reshape(4, 8)[:, ::-1].reshape(-1))


def test_shuffle_joins_vectors_of_different_lengths() -> None:
    a = numbers("int32", 19)
    half = [i32(i) for i in range(4)]

    def swapped(x: e.PrimExpr) -> e.PrimExpr:
        low = e.Shuffle([x], half)
        high = e.Shuffle([x], [i32(4 + i) for i in range(4)])
        return e.Shuffle([high, low], [i32(i) for i in range(8)])

    expected = np.roll(a.reshape(4, 8), 4, axis=1).reshape(-1)
    np.testing.assert_array_equal(evaluate(swapped, a, lanes=8), expected)


def test_a_side_that_may_fail_is_not_evaluated() -> None:
    a = np.array([0, 1, 2, 4], np.int32)

    def guarded(x: e.PrimExpr) -> e.PrimExpr:
        positive = e.GT(x, i32(0))
        return e.And(positive, e.GT(e.Div(i32(4), x), i32(1)))

    np.testing.assert_array_equal(evaluate(guarded, a), [False, True, True, False])


def test_let_names_a_value() -> None:
    a = numbers("float32", 20)
    v = e.Var("v", "float32")
    squared = evaluate(lambda x: e.Let(v, e.Add(x, x), e.Mul(v, v)), a)
    np.testing.assert_allclose(squared, (a + a) ** 2, rtol=1e-6)


@pytest.mark.parametrize("deep", ["left", "right"])
def test_a_sum_of_five_thousand_terms(deep: str) -> None:
    def total(x: e.PrimExpr) -> e.PrimExpr:
        value = x
        for _ in range(5000):
            value = e.Add(value, x) if deep == "left" else e.Add(x, value)
        return value

    a = np.arange(4, dtype=np.int32)
    np.testing.assert_array_equal(evaluate(total, a), a * 5001)


@pytest.mark.parametrize(
    ("option", "words"),
    [("", "fmul contract float"), (" -fast-math", "fmul fast float"),
     (" -fast-math-nsz", "fmul contract nsz float")],
)  # fmt: skip
def test_fast_math_is_told_to_llvm(option: str, words: str) -> None:
    b = decl_buffer((1,), "float32", "b")
    load = e.BufferLoad(b, [i32(0)])
    body = s.BufferStore(b, e.Mul(load, load), [i32(0)])
    assert words in compiled(kernel([b], body), target="llvm" + option).inspect_source()


@pytest.mark.parametrize("level", [0, 1, 2])
def test_the_least_of_a_converted_number_and_zero(level):
    """LLVM's assembler is handed `min(fptoui(x), 0)`, over which it would end the process."""

    @T.prim_func
    def main(
        f: T.Buffer((4,), "float64"), u: T.Buffer((4,), "uint8"), o: T.Buffer((4,), "uint8")
    ):
        m = T.decl_buffer((4,), "uint8", scope="local")
        o[0] = T.min(T.Cast("uint8", f[0]), u[0] - u[0])
        for i in T.vectorized(4):
            m[i] = T.uint8(0)
        o[1] = m[1]

    found = np.full(4, 9, "uint8")
    library = tvm.compile(main, target=f"llvm -opt-level={level}")
    library(np.array([3.0] * 4), np.array([5] * 4, "uint8"), found)
    assert list(found[:2]) == [0, 0]


FAR = [-(2**63), -100, -9, -8, -7, -1, 0, 1, 5, 7, 8, 9, 100, 2**63 - 1]


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("stride", [1, -1, 3])
@pytest.mark.parametrize("node", [e.LT, e.LE, e.GT, e.GE, e.EQ, e.NE])
def test_places_beside_any_number(node: type[e.CmpExpr], stride: int, swapped: bool) -> None:
    """Lanes of places are compared in 32 bits, with numbers of 64 bits."""
    limit = np.array(FAR, "int64")
    out = np.zeros(8 * len(FAR), np.bool_)
    number, target = decl_buffer((len(FAR),), "int64", "N"), decl_buffer((out.size,), "bool", "out")
    i = e.Var("i", "int64")
    eight, one = e.IntImm("int64", 8), e.IntImm("int64", 1)
    places = e.Ramp(i - i, e.IntImm("int64", stride), 8)
    other = e.Broadcast(e.BufferLoad(number, [i]), 8)
    value = node(other, places) if swapped else node(places, other)
    body = s.For(
        i, e.IntImm("int64", 0), e.IntImm("int64", len(FAR)), s.ForKind.SERIAL,
        s.BufferStore(target, value, [e.Ramp(i * eight, one, 8)]),
    )  # fmt: skip
    module = compiled(kernel([number, target], body))
    assert call(module, limit, out) == 0
    left = np.arange(8)[None] * stride + np.zeros((len(FAR), 1), "int64")
    right = np.repeat(limit[:, None], 8, 1)
    compare = {
        e.LT: np.less, e.LE: np.less_equal, e.GT: np.greater, e.GE: np.greater_equal,
        e.EQ: np.equal, e.NE: np.not_equal,
    }[node]  # fmt: skip
    wanted = compare(right, left) if swapped else compare(left, right)
    np.testing.assert_array_equal(out.reshape(wanted.shape), wanted)


def test_what_becomes_an_integer_is_rounded_as_written() -> None:
    """Places of a picture three times as large: 1/3 * 1.5 - 0.5 is 0, fused it is above."""

    @T.prim_func
    def places(B: T.Buffer((32,), "int32"), F: T.Buffer((32,), "float32")):
        for i in range(32):
            B[i] = T.Cast("int32", T.ceil(T.float32(1 / 3) * (T.Cast("float32", i) + 0.5) - 0.5))
            F[i] = T.float32(3) * T.Cast("float32", i) + T.float32(1)

    built = tvm.compile(places, "llvm -mcpu=haswell")
    text = built.mod.inspect_source("ll")
    assert "fmul float" in text  # of integers
    assert "fmul contract float" in text  # of numbers
    out, plain = (tvm.runtime.tensor(np.zeros(32, kind)) for kind in ("int32", "float32"))
    built["places"](out, plain)
    steps = np.float32(1 / 3) * (np.arange(32, dtype="float32") + np.float32(0.5))
    assert (out.numpy() == np.ceil(steps - np.float32(0.5)).astype("int32")).all()
