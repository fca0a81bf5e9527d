"""Blocks of kernels against patterns: sizes, buffers, what does not fit."""

from __future__ import annotations

from tests.relax.transform.library_patterns import bias, matmul
from tvm import tir
from tvm.relax.transform.tir_pattern import match_leading, top_statements
from tvm.script import tir as T


@T.prim_func
def two_products(
    X: T.Buffer((T.int64(8), T.int64(16)), "float32"),
    W: T.Buffer((T.int64(16), T.int64(8)), "float32"),
    Z: T.Buffer((T.int64(8), T.int64(16)), "float32"),
) -> None:
    Y = T.alloc_buffer((T.int64(8), T.int64(8)))
    for i, j, k in T.grid(T.int64(8), T.int64(8), T.int64(16)):
        with T.block("first"):
            a, b, c = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Y[a, b] = T.float32(0)
            Y[a, b] = Y[a, b] + X[a, c] * W[c, b]
    for i, j, k in T.grid(T.int64(8), T.int64(16), T.int64(8)):
        with T.block("second"):
            a, b, c = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Z[a, b] = T.float32(0)
            Z[a, b] = Z[a, b] + Y[a, c] * X[c, b]


@T.prim_func
def product_with_itself(
    X: T.Buffer((T.int64(8), T.int64(8)), "float32"),
    Z: T.Buffer((T.int64(8), T.int64(8)), "float32"),
) -> None:
    for i, j, k in T.grid(T.int64(8), T.int64(8), T.int64(8)):
        with T.block("first"):
            a, b, c = T.axis.remap("SSR", [i, j, k])
            with T.init():
                Z[a, b] = T.float32(0)
            Z[a, b] = Z[a, b] + X[a, c] * X[c, b]


def test_sizes_and_buffers_stand_in_the_order_of_parameters() -> None:
    stmts = top_statements(two_products)
    assert stmts is not None
    found = match_leading(stmts, [bias, matmul])
    assert [length for _, length in found] == [1, 1]
    first, second = (result for result, _ in found)
    assert first.pattern is matmul
    assert [int(size) for size in first.symbol_values] == [8, 8, 16]
    assert [buffer.name for buffer in first.matched_buffers] == ["X", "W", "Y"]
    assert [int(size) for size in second.symbol_values] == [8, 16, 8]
    assert [buffer.name for buffer in second.matched_buffers] == ["Y", "X", "Z"]


def test_two_buffers_of_a_pattern_are_not_one() -> None:
    stmts = top_statements(product_with_itself)
    assert stmts is not None
    assert match_leading(stmts, [matmul]) == []


def test_another_type_or_operation_does_not_fit() -> None:
    stmts = top_statements(two_products)
    assert stmts is not None
    assert match_leading(stmts, [bias]) == []
    half = matmul.body
    assert isinstance(half, tir.BlockRealize)
    assert top_statements(matmul.with_body(tir.Evaluate(0))) is None
