"""Where polls stand in the code: in long loops and after calls, and not in short kernels."""

from __future__ import annotations

import pytest

from tvm.script import tir as T

pytestmark = pytest.mark.pure


@T.prim_func
def short(a: T.Buffer((4096,), "float32")) -> None:
    for i in range(4096):
        a[i] = a[i] + T.float32(1)


@T.prim_func
def flat(a: T.handle, n: T.int64) -> None:
    A = T.match_buffer(a, (n,), "float32")
    for i in range(n):
        A[i] = A[i] + T.float32(1)


@T.prim_func
def heavy(a: T.Buffer((64, 4096), "float32")) -> None:
    for i, j in T.grid(64, 4096):
        a[i, j] = a[i, j] + T.float32(1)


def text_of(func: object, triple: str) -> str:
    import tvm
    from tvm.target import Target

    target = Target({"kind": "llvm", "mtriple": triple, "mcpu": ""}) if triple else Target("llvm")
    return str(tvm.compile(func, target=target).mod.inspect_source("ll"))


@pytest.mark.parametrize(("func", "polls"), [(short, 0), (flat, 1), (heavy, 1)])
def test_long_loops_poll(func: object, polls: int) -> None:
    text = text_of(func, "x86_64-linux-gnu")
    assert text.count("call i32 @tvm_rt_poll") == polls
    if polls:
        assert "declare extern_weak i32 @tvm_rt_poll(ptr)" in text


def test_systems_without_threads_do_not_poll() -> None:
    assert "tvm_rt_poll" not in text_of(heavy, "riscv64-unknown-elf")
