"""Stores that later ones overwrite unread."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.tir.transform.test_flow_simplifier import Programs, same
from tvm import tir
from tvm.ir import IRModule
from tvm.ir.transform import PassContext
from tvm.script import tir as T
from tvm.tir.interp import run
from tvm.tir.transform import RemoveNoOp
from tvm.tir.transform.dead_stores import uses_memory, without_unread

pytestmark = pytest.mark.pure
FLOW = {"tir.RemoveNoOp": {"use_dataflow_analysis": True}}


def after(func: tir.PrimFunc, config=FLOW) -> tir.PrimFunc:
    with PassContext(config=config):
        return RemoveNoOp()(IRModule({"main": func}))["main"]


@T.prim_func
def last(A: T.Buffer((16,), "int32")):
    for i in range(16):
        A[i] = 42


@T.prim_func
def twice(A: T.Buffer((16,), "int32")):
    for i in range(16):
        A[i] = 100
        A[i] = 42


@T.prim_func
def part_before(A: T.Buffer((16,), "int32")):
    for i in range(4, 12):
        A[i] = 100
    for i in range(16):
        A[i] = 42


@T.prim_func
def some_before(A: T.Buffer((16,), "int32")):
    for i in range(16):
        if i < 5:
            A[i] = 100
    for j, k in T.grid(4, 4):
        A[j * 4 + k] = 42


@T.prim_func
def some_before_left(A: T.Buffer((16,), "int32")):
    for j, k in T.grid(4, 4):
        A[j * 4 + k] = 42


@T.prim_func
def not_all_after(A: T.Buffer((16,), "int32")):
    for i in range(16):
        A[i] = 100
    for i in range(16):
        if i < 12:
            A[i] = 42


@T.prim_func
def read_between(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        A[i] = 100
    for i in range(16):
        B[i] = A[i]
    for i in range(16):
        A[i] = 42


@T.prim_func
def scratch(A: T.Buffer((16,), "int32")):
    b = T.allocate([16], "int32", "local")
    B = T.Buffer((16,), "int32", data=b, scope="local")
    for i in range(16):
        B[i] = A[i] + 1
    for i in range(16):
        A[i] = 42


@T.prim_func
def kept_scratch(A: T.Buffer((16,), "int32")):
    b = T.allocate([16], "int32", "local")
    B = T.Buffer((16,), "int32", data=b, scope="local")
    for i in range(16):
        B[i] = i
    for i in range(16):
        A[i] = B[15 - i]


@pytest.mark.parametrize(("func", "expected"), [
    (twice, last), (part_before, last), (some_before, some_before_left), (scratch, last),
    (not_all_after, not_all_after), (read_between, read_between), (kept_scratch, kept_scratch),
])  # fmt: skip
def test_only_what_is_read_stays(func, expected) -> None:
    found = after(func)
    assert same(found, expected), found.script()
    assert same(after(twice, {}), twice), "only where it is asked for"


def test_uses_of_memory() -> None:
    allocate = scratch.body
    assert uses_memory(allocate.buffer_var, allocate.body)
    assert not uses_memory(
        allocate.buffer_var, without_unread(allocate.buffer_var, allocate.body)
    )
    kept = kept_scratch.body
    assert without_unread(kept.buffer_var, kept.body) is kept.body
    assert not uses_memory(allocate.buffer_var, last.body)


@T.prim_func
def written_again(A: T.Buffer((16,), "int32"), C: T.Buffer((2,), "int32")):
    data = T.allocate([16], "int32", "local")
    B = T.decl_buffer([16], "int32", data=data, scope="local")
    for i in range(16):
        B[i] = A[i]
    C[0] = B[3]
    B[4] = 7
    for i in range(2):
        B[i] = T.call_extern("int32", "next")
        C[i] = C[i] + 1
    B[5] = 8


@T.prim_func
def read_last(A: T.Buffer((16,), "int32"), C: T.Buffer((2,), "int32")):
    data = T.allocate([16], "int32", "local")
    B = T.decl_buffer([16], "int32", data=data, scope="local")
    for i in range(16):
        B[i] = A[i]
    C[0] = B[3]
    for i in range(2):
        T.evaluate(T.call_extern("int32", "next"))
        C[i] = C[i] + 1


def test_stores_behind_the_last_read() -> None:
    """What an allocation holds when its scope ends is lost."""
    expected = read_last.with_attr("global_symbol", "written_again")
    tvm.ir.assert_structural_equal(after(written_again), expected)
    tvm.ir.assert_structural_equal(after(written_again, {}), written_again)


def check_program(seed: int) -> bool:
    func = Programs(seed).function()
    simple = after(func)
    source = np.random.default_rng(seed)
    first = [source.integers(0, 3, 8).astype("int32") for _ in range(2)]
    second = [array.copy() for array in first]
    run(func, *first)
    run(simple, *second)
    both = f"{func.script()}{simple.script()}"
    assert all(map(np.array_equal, first, second)), f"seed {seed}:\n{both}"
    return str(func.script()).count(" = ") != str(simple.script()).count(" = ")


@T.prim_func
def another_name(C: T.Buffer((2,), "int32")):
    data = T.allocate([16], "int32", "local")
    B = T.decl_buffer([16], "int32", data=data, scope="local")
    other: T.handle("int32", "local") = data
    D = T.decl_buffer([16], "int32", data=other, scope="local")
    C[1] = B[1]
    B[0] = 7
    C[0] = D[0]


@T.prim_func
def kept_elsewhere(C: T.Buffer((2,), "int32")):
    data = T.allocate([16], "int32", "local")
    B = T.decl_buffer([16], "int32", data=data, scope="local")
    T.evaluate(T.call_extern("int32", "keep", data))
    C[1] = B[1]
    B[0] = 7
    C[0] = T.call_extern("int32", "first_of_kept")


@pytest.mark.parametrize("func", [another_name, kept_elsewhere])
def test_memory_known_elsewhere_stays(func: tir.PrimFunc) -> None:
    assert "B[0] = 7" in after(func).script()


@pytest.mark.slow
def test_random_programs() -> None:
    assert sum([check_program(seed) for seed in range(60)]) > 6


@T.prim_func
def one_branch(A: T.Buffer((16,), "int32")):
    for i in range(16):
        if i < 14:
            A[i] = 1
        else:
            A[i] = 2
    for i in range(16):
        if i >= 14:
            A[i] = 3


@T.prim_func
def one_branch_less(A: T.Buffer((16,), "int32")):
    for i in range(16):
        if i < 14:
            A[i] = 1
    for i in range(16):
        if i >= 14:
            A[i] = 3


@T.prim_func
def read_within(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32")):
    for i in range(16):
        if i < 14:
            A[i] = 1
        else:
            A[i] = 2
        B[i] = A[i]
    for i in range(16):
        if i >= 14:
            A[i] = 3


def test_single_stores_of_a_nest() -> None:
    assert same(after(one_branch), one_branch_less)
    assert same(after(read_within), read_within)
