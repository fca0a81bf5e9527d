"""Values that are at hand: on every way to a block, and of operands alone."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.backend.llvm.test_function_text import function
from tvm.backend.llvm.function_text import FunctionText
from tvm.backend.llvm.known_values import is_pure
from tvm.script import tir as T

SUM = "add nsw i64 %x, 3"


def branch(out: FunctionText, yes: str, no: str) -> None:
    out.line(f"br i1 %c, label %{yes}, label %{no}")


def jump(out: FunctionText, label: str) -> None:
    out.line(f"br label %{label}")


@pytest.mark.pure
def test_a_value_is_made_once() -> None:
    out = function("x")
    assert out.temp(SUM) == out.temp(SUM)
    assert out.temp(SUM) != out.temp("add i64 %x, 3")  # which may overflow


@pytest.mark.pure
def test_memory_and_data_are_read_anew() -> None:
    for text in (
        "load i64, ptr %p, align 8", "call i32 @f()", "phi i64 [ 0, %entry ]",
        "fadd contract float %a, %b", "freeze i64 %x", "cmpxchg ptr %p, i32 0, i32 1 seq_cst",
        "call i64 @llvm.smaxima()",
    ):  # fmt: skip
        assert not is_pure(text)
    assert is_pure("call i64 @llvm.smax.i64(i64 %a, i64 %b)")


@pytest.mark.pure
def test_blocks_know_what_stands_before_them() -> None:
    out = function("x")
    first = out.temp(SUM)
    branch(out, "yes", "no")
    out.begin("yes")
    assert out.temp(SUM) == first
    inner = out.temp("mul i64 %x, 5")
    jump(out, "end")
    out.begin("no")
    assert out.temp("mul i64 %x, 5") != inner
    jump(out, "end")
    out.begin("end")
    assert out.temp(SUM) == first
    assert out.temp("mul i64 %x, 5") != inner


@pytest.mark.pure
def test_a_loop_knows_what_stands_before_it_and_not_what_follows() -> None:
    out = function("x")
    first = out.temp(SUM)
    jump(out, "head")
    out.begin("head")
    branch(out, "body", "end")
    out.begin("body")
    inside = out.temp("shl i64 %x, 1")
    assert out.temp(SUM) == first
    jump(out, "head")
    out.begin("end")
    assert out.temp(SUM) == first
    assert out.temp("shl i64 %x, 1") != inside


@pytest.mark.pure
def test_code_that_nothing_leads_to_knows_nothing() -> None:
    out = function("x")
    first = out.temp(SUM)
    out.line("ret i32 0")
    out.begin("after")
    assert out.temp(SUM) != first


@pytest.mark.pure
def test_lines_of_a_source_stay_their_own() -> None:
    out = function("x")
    out.debug_suffix = ", !dbg !1"
    assert out.temp(SUM) != out.temp(SUM)


@pytest.mark.pure
def test_blocks_out_of_order_make_their_own() -> None:
    out = function("x")
    first = out.temp(SUM)
    out.out_of_order()
    assert out.temp(SUM) != first


@T.prim_func
def branches(a: T.handle, b: T.handle, n: T.int64) -> None:
    A = T.match_buffer(a, (n * 4 + 7,), "int64")
    B = T.match_buffer(b, (n * 4 + 7,), "int64")
    for i in range(n):
        if A[i * 4 + 1] > T.int64(0):
            B[i * 4 + 2] = A[i * 4 + 2] + A[i * 4 + 1]
        else:
            B[i * 4 + 3] = A[i * 4 + 3]
        for j in range(T.int64(2)):
            if A[i * 4 + j] > T.int64(2):
                B[i * 4 + 5 + j] = A[i * 4 + 2] * A[i * 4 + 3]
            B[i * 4 + j] = A[i * 4 + 3]


def test_results_with_branches_and_loops() -> None:
    rows = 5
    a = np.random.default_rng(0).integers(-5, 6, rows * 4 + 7)
    wanted = np.zeros_like(a)
    for i in range(rows):
        at = i * 4
        if a[at + 1] > 0:
            wanted[at + 2] = a[at + 2] + a[at + 1]
        else:
            wanted[at + 3] = a[at + 3]
        for j in range(2):
            if a[at + j] > 2:
                wanted[at + 5 + j] = a[at + 2] * a[at + 3]
            wanted[at + j] = a[at + 3]
    given, result = tvm.runtime.tensor(a), tvm.runtime.tensor(np.zeros_like(a))
    tvm.compile(branches, target="llvm")(given, result, rows)
    np.testing.assert_array_equal(result.numpy(), wanted)
