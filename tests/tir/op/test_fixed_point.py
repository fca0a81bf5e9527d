"""Fixed-point products: exact halves round upwards, in the interpreter and in machine code."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.tir import interp

EXTREMES = [0, 1, -1, 3, -3, 100, -101, 2**30, -(2**30), 2**31 - 1, -(2**31) + 1, 12345]


def values(size: int) -> np.ndarray:
    rest = np.random.default_rng(0).integers(-(2**31) + 1, 2**31, size - len(EXTREMES))
    return np.array([*EXTREMES, *rest], "int32")


def test_types() -> None:
    assert tir.q_multiply_shift(1, 2, 31, 1).dtype == "int32"
    assert tir.q_multiply_shift_per_axis(1, 2, 0, 1, 31, True, False).dtype == "int32"


def wanted(x: np.ndarray, y: np.ndarray, down: int) -> np.ndarray:
    """By Python's numbers, which have no end."""
    found = []
    for a, b in zip(x.tolist(), y.tolist()):
        product = a * b
        exact = (product + (1 << (down - 1))) >> down if down > 0 else product << -down
        found.append((exact + 2**31) % 2**32 - 2**31)
    return np.array(found, "int32")


@pytest.mark.covering(2)
@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize("kind", ["serial", "vectorized"])
@pytest.mark.parametrize("shift", [-3, 0, 2, 31])
def test_constant_shift(target: str, kind: str, shift: int) -> None:
    loop = getattr(T, kind)

    @T.prim_func
    def func(x: T.Buffer((32,), "int32"), y: T.Buffer((32,), "int32"), z: T.Buffer((32,), "int32")):
        for i in loop(32):
            z[i] = T.q_multiply_shift(x[i], y[i], 31, shift)

    x, y, z = values(32), values(32)[::-1].copy(), np.zeros(32, "int32")
    tvm.compile(func, target=target)(x, y, z)
    np.testing.assert_array_equal(z, wanted(x, y, 31 - shift))
    interp.run(func, x, y, by_interp := np.zeros(32, "int32"))
    np.testing.assert_array_equal(z, by_interp)


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", "c"])
def test_shift_that_is_data(target: str) -> None:
    @T.prim_func
    def func(x: T.Buffer((32,), "int32"), s: T.Buffer((32,), "int32"), z: T.Buffer((32,), "int32")):
        for i in T.vectorized(32):
            z[i] = T.q_multiply_shift(x[i], 1 << 30, 31, s[i])

    x, z = values(32), np.zeros(32, "int32")
    s = np.arange(-16, 16, dtype="int32") + 16 * (np.arange(32) % 2 == 0)
    tvm.compile(func, target=target)(x, s.astype("int32"), z)
    y = np.full(32, 1 << 30)
    expected = [wanted(x[i : i + 1], y[i : i + 1], 31 - int(s[i]))[0] for i in range(32)]
    np.testing.assert_array_equal(z, expected)


@pytest.mark.cpu
@pytest.mark.parametrize("target", ["llvm", "c"])
@pytest.mark.parametrize(("left", "right"), [(True, False), (False, True), (True, True)])
def test_shifts_of_each_axis(target: str, left: bool, right: bool) -> None:
    @T.prim_func
    def func(
        x: T.Buffer((16,), "int32"),
        y: T.Buffer((16,), "int32"),
        a: T.Buffer((16,), "int32"),
        b: T.Buffer((16,), "int32"),
        z: T.Buffer((16,), "int32"),
    ):
        for i in range(16):
            z[i] = T.q_multiply_shift_per_axis(x[i], y[i], a[i], b[i], 31, left, right)

    x, y = values(16) // 8, values(16)[::-1].copy()
    a, b = np.arange(16, dtype="int32") % 3, np.arange(16, dtype="int32") % 5
    z, by_interp = np.zeros(16, "int32"), np.zeros(16, "int32")
    tvm.compile(func, target=target)(x, y, a, b, z)
    for i in range(16):
        shifted = int(x[i]) << (int(a[i]) if left else 0)
        down = 31 + (int(b[i]) if right else 0)
        exact = (shifted * int(y[i]) + (1 << (down - 1))) >> down
        assert z[i] == (exact + 2**31) % 2**32 - 2**31
    interp.run(func, x, y, a, b, by_interp)
    np.testing.assert_array_equal(z, by_interp)
