"""TIR functions that only give their input another shape."""

from __future__ import annotations

import pytest

from tvm import te, tir, topi
from tvm.relax.analysis import has_reshape_pattern

pytestmark = pytest.mark.pure

B, N = tir.Var("b", "int64"), tir.Var("n", "int64")


def kernel(compute: object, *shape: object) -> tir.PrimFunc:
    a = te.placeholder(shape, name="A")
    return te.create_prim_func([a, compute(a)])


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        (kernel(lambda a: topi.reshape(a, (6, 4)), 2, 3, 4), True),
        (kernel(lambda a: topi.reshape(a, (24,)), 2, 3, 4), True),
        (kernel(lambda a: topi.expand_dims(a, 1), 3, 4), True),
        (kernel(lambda a: topi.squeeze(a, [1]), 3, 1, 4), True),
        (kernel(lambda a: topi.reshape(a, ()), 1), True),
        (kernel(lambda a: topi.transpose(a), 3, 4), False),
        (kernel(lambda a: topi.add(a, 1.0), 3, 4), False),
        (kernel(lambda a: te.compute((3, 2), lambda i, j: a[i, j]), 3, 4), False),
        (kernel(lambda a: topi.reshape(a, (N * 4,)), N, 4), True),
        (kernel(lambda a: topi.reshape(a, (B, N, 3, 4)), B, N, 12), True),
        (kernel(lambda a: topi.reshape(a, (B, N, 12)), B, N, 3, 4), True),
        (kernel(lambda a: topi.reshape(a, (B * N, 12)), B, N, 12), True),
        (kernel(lambda a: topi.transpose(a, (0, 2, 1)), B, N, N), False),
        (kernel(lambda a: te.compute((B, N), lambda i, j: a[i, (j + 1) % N]), B, N), False),
        (kernel(lambda a: te.compute((B, N), lambda i, j: a[i, j % B]), B, N), False),
    ],
)
def test_pattern(func: tir.PrimFunc, expected: bool) -> None:
    assert has_reshape_pattern(func) is expected


def test_function_without_buffers() -> None:
    assert not has_reshape_pattern(tir.PrimFunc([], tir.Evaluate(0)))
