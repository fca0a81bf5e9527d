"""Digits of fused loops in indices are joined again."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.interp import run
from tvm.tir.transform.join_digits import JoinDigits


@pytest.mark.pure
class TestWhole(PassTest):
    """All digits of a loop are its variable."""

    run = JoinDigits()

    @T.prim_func
    def Before(a: T.handle, c: T.handle, b: T.int64, n: T.int64):
        A = T.match_buffer(a, (b * 4 * n * n,), "float32")
        C = T.match_buffer(c, (b * 4 * n * n,), "float32")
        for f in range(b * n * T.int64(4)):
            for k in range(n):
                C[((f % (n * b * 4) // (n * 4) * 4 + f % (n * 4) // n) * n + f % n) * n + k] = A[
                    k + (f // (n * 4) * 4 + f // n % 4) * (n * n) + f % n * n
                ]

    @T.prim_func
    def Expected(a: T.handle, c: T.handle, b: T.int64, n: T.int64):
        A = T.match_buffer(a, (b * 4 * n * n,), "float32")
        C = T.match_buffer(c, (b * 4 * n * n,), "float32")
        for f in range(b * n * T.int64(4)):
            for k in range(n):
                C[f * n + k] = A[k + f * n]


@pytest.mark.pure
class TestParts(PassTest):
    """What skips a digit keeps the divisions that are left; the remainder by all of them goes."""

    run = JoinDigits()

    @T.prim_func
    def Before(a: T.handle, c: T.handle, b: T.int64, h: T.int64, n: T.int64):
        A = T.match_buffer(a, (b * n,), "float32")
        C = T.match_buffer(c, (b * h,), "float32")
        for f in range(b * h * n):
            C[f % (b * h * n) // (h * n) * h + f % (h * n) // n] = A[
                f % (b * h * n) // (h * n) * n + f % n
            ]

    @T.prim_func
    def Expected(a: T.handle, c: T.handle, b: T.int64, h: T.int64, n: T.int64):
        A = T.match_buffer(a, (b * n,), "float32")
        C = T.match_buffer(c, (b * h,), "float32")
        for f in range(b * h * n):
            C[f // n] = A[f // (h * n) * n + f % n]


@pytest.mark.pure
class TestOthers(PassTest):
    """Digits of other numbers, with gaps, of other weights, or of too few rounds stay."""

    run = JoinDigits()

    @T.prim_func
    def Before(a: T.handle, c: T.handle, m: T.int64, n: T.int64):
        A = T.match_buffer(a, (m * n * 8,), "float32")
        C = T.match_buffer(c, (m * n * 8,), "float32")
        for f, g in T.grid(m * n, m * n):
            C[f // n * n + g % n] = A[f % m // n * n + f % n]
            C[f // (n * 2) * n + f % n] = A[f // n * (n + 1) + f % n]
            C[f % (m * n * 2)] = A[f // n * m + f % n]

    Expected = Before


@pytest.mark.parametrize("sizes", [(1, 1), (2, 3), (3, 5)])
def test_results_stay(sizes: tuple[int, int]) -> None:
    b, n = sizes
    values = np.arange(b * 4 * n * n, dtype="float32")
    found = []
    for func in (TestWhole.Before, JoinDigits()(tvm.IRModule({"main": TestWhole.Before}))["main"]):
        result = np.zeros_like(values)
        run(func, values, result, b, n)
        found.append(result)
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_array_equal(found[0], values)
