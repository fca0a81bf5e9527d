from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tests.topi.numerics import close, evaluate, floats, rng
from tvm import te, topi
from tvm.script import tir as T

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
def test_running_results(axis: Any, exclusive: bool) -> None:
    x = rng().integers(1, 4, (3, 4)).astype("int64")
    for op, rule, without in (
        (topi.cumsum, np.cumsum, np.subtract),
        (topi.cumprod, np.cumprod, np.floor_divide),
    ):
        wanted = rule(x, axis)
        if exclusive:
            wanted = without(wanted, x.reshape(wanted.shape))
        close(evaluate(lambda a, f=op: f(a, axis, exclusive=exclusive), x), wanted)


def test_result_type_and_own_operator() -> None:
    x = floats(3, 5).astype("float16")
    close(
        evaluate(lambda a: topi.cumsum(a, 1, "float32"), x),
        np.cumsum(x.astype("float32"), 1),
        1e-3,
        1e-3,
    )
    low = te.const(-3e38, "float32")
    largest = lambda a: topi.scanop(a, te.max, low, "cummax", 1)
    close(evaluate(largest, floats(3, 5)), np.maximum.accumulate(floats(3, 5), 1))


def test_symbolic() -> None:
    x = floats(3, 5)
    close(evaluate(lambda a: topi.cumsum(a, 1), x, symbolic=True), np.cumsum(x, 1), 1e-5, 1e-5)


def test_the_kernel_of_a_scan_goes_by_number() -> None:
    source = te.placeholder((3, 2), name="A")

    @T.prim_func
    def expected(a: T.handle, out: T.Buffer((3, 2), "float32")):
        T.func_attr({"tir.noalias": True})
        A = T.match_buffer(a, (3, 2), offset_factor=1)
        with T.block("cumsum_generic"):
            T.reads()
            T.writes()
            for i in T.parallel(2):
                out[(i // 2 * 3 * 2 + i % 2) // 2, (i // 2 * 3 * 2 + i % 2) % 2] = A[
                    (i // 2 * 3 * 2 + i % 2) // 2, (i // 2 * 3 * 2 + i % 2) % 2
                ]
                for k in range(2):
                    out[
                        (i // 2 * 3 * 2 + i % 2 + (k + 1) * 2) // 2,
                        (i // 2 * 3 * 2 + i % 2 + (k + 1) * 2) % 2,
                    ] = out[
                        (i // 2 * 3 * 2 + i % 2 + (k + 1 - 1) * 2) // 2,
                        (i // 2 * 3 * 2 + i % 2 + (k + 1 - 1) * 2) % 2,
                    ] + A[
                        (i // 2 * 3 * 2 + i % 2 + (k + 1) * 2) // 2,
                        (i // 2 * 3 * 2 + i % 2 + (k + 1) * 2) % 2,
                    ]

    made = te.create_prim_func([source, topi.cumsum(source, axis=0)])
    tvm.ir.assert_structural_equal(made, expected.with_attr("global_symbol", "main"))
