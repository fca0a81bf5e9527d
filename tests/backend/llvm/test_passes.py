"""Which texts get all of LLVM's passes, and that the others compute the same."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm.backend.llvm import jit, passes
from tvm.script import tir as T
from tvm.target import Target

HASWELL = Target("llvm -mtriple=x86_64-linux-gnu -mcpu=haswell")


@T.prim_func
def scalar_sum(a: T.Buffer((4096,), "int32"), b: T.Buffer((1,), "int32")) -> None:
    b[0] = 0
    for i in range(4096):
        b[0] = b[0] + a[i]


@T.prim_func
def vectors(a: T.Buffer((4096,), "float32"), b: T.Buffer((4096,), "float32")) -> None:
    for i in range(512):
        for j in T.vectorized(8):
            b[i * 8 + j] = a[i * 8 + j] * T.float32(2)


@T.prim_func
def vectors_and_a_tail(
    a: T.Buffer((4099,), "float32"), b: T.Buffer((4099,), "float32"), n: T.int32
) -> None:
    for i in range(512):
        for j in T.vectorized(8):
            b[i * 8 + j] = a[i * 8 + j] * T.float32(2)
    for i in range(n):
        b[4096 + i] = a[4096 + i] * T.float32(2)


@T.prim_func
def vectors_within_scalar_loops(
    a: T.Buffer((64, 64), "float32"), b: T.Buffer((64, 64), "float32"), n: T.int32
) -> None:
    for i in range(n):
        b[i, 0] = a[i, 63]
        for j in range(8):
            for k in T.vectorized(8):
                b[i, j * 8 + k] = a[i, j * 8 + k] * T.float32(2)


@T.prim_func
def table_of_offsets(at: T.Buffer((64,), "int64"), n: T.int32) -> None:
    for i in range(n):
        at[i] = T.Cast("int64", i * 24)


@T.prim_func
def scalars_alone(a: T.Buffer((4,), "float32"), b: T.Buffer((4,), "float32")) -> None:
    for i in T.unroll(4):
        b[i] = a[i] * T.float32(2)


def text_of(func: tvm.tir.PrimFunc) -> str:
    return tvm.compile(func, target=HASWELL).mod.inspect_source("ll")


@pytest.mark.parametrize(
    ("func", "all_"),
    [
        (scalar_sum, True),
        (vectors, False),
        (vectors_and_a_tail, True),
        (vectors_within_scalar_loops, False),
        (table_of_offsets, False),
        (scalars_alone, True),
    ],
    ids=lambda value: value.attrs["global_symbol"] if not isinstance(value, bool) else "",
)
def test_loops_without_vectors_want_all(func: tvm.tir.PrimFunc, all_: bool) -> None:
    assert passes.wants_all(text_of(func)) is all_


def loop(body: str, name: str = "for.i") -> str:
    back = f'  br i1 %more, label %"{name}", label %"end.i"\n'
    return f'define void @f(ptr %p) {{\n"{name}":\n{body}{back}"end.i":\n  ret void\n}}\n'


@pytest.mark.parametrize(
    ("body", "all_"),
    [
        ("  %x = load float, ptr %p\n", True),
        ("  %x = load <8 x float>, ptr %p\n", False),
        ("  %x = load <vscale x 4 x float>, ptr %p\n", False),
        ("  %x = call i32 @helper(i32 %y)\n", True),
        ("  %x = call i64 @llvm.umin.i64(i64 %y, i64 3)\n", False),
        ("  store i64 %y, ptr %p\n", False),
        ("  %x = fadd fast float %y, %z\n", True),
    ],
)
def test_what_a_loop_holds(body: str, all_: bool) -> None:
    assert passes.wants_all(loop(body)) is all_
    assert passes.wants_all(loop(body, "for.a b")) is all_


def test_a_scalar_sum_is_vectorised() -> None:
    assert "paddd" in jit.emit_assembly(text_of(scalar_sum), jit.Machine(
        "x86_64-linux-gnu", "haswell"))  # fmt: skip


def test_long_texts_want_all() -> None:
    text = loop("  %x = load <8 x float>, ptr %p\n")
    assert not passes.wants_all(text)
    assert passes.wants_all(text + "; " + "x" * passes.LONG)


@pytest.mark.parametrize("all_", [True, False])
def test_the_same_numbers(all_: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_CACHE", "0")
    asked = []
    monkeypatch.setattr(passes, "wants_all", lambda text: asked.append(text) or all_)
    run = tvm.compile(vectors_within_scalar_loops, target="llvm")
    a = np.random.default_rng(0).random((64, 64), "float32")
    expected = a * 2
    got = np.zeros_like(a)
    run(a, got, 64)
    np.testing.assert_array_equal(got, expected)
    assert asked


@pytest.mark.parametrize("long", [0, 1 << 30])
def test_loops_are_unrolled_where_they_ask(long: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "LONG", long)
    asked = """define void @f(ptr %p) {
entry:
  br label %"for.i"
"for.i":
  %i = phi i64 [ 0, %entry ], [ %j, %"for.i" ]
  %q = getelementptr <8 x float>, ptr %p, i64 %i
  %x = load <8 x float>, ptr %q
  %y = fmul <8 x float> %x, %x
  store <8 x float> %y, ptr %q
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, 64
  br i1 %more, label %"for.i", label %"end.i", !llvm.loop !0
"end.i":
  ret void
}
!0 = distinct !{!0, !1}
!1 = !{!"llvm.loop.unroll.count", i32 2}
"""
    machine = jit.Machine("x86_64-linux-gnu", "haswell")
    stores = jit.emit_optimized_text(asked, machine).count("store <8 x float>")
    assert stores == 2


@pytest.mark.parametrize("long", [0, 1 << 30])
def test_sums_are_in_registers_where_their_places_are_computed(
    long: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Memory whose places are numbers only once instructions are combined is none either."""
    monkeypatch.setattr(passes, "LONG", long)
    text = """define void @f(ptr %p, i64 %n) {
entry:
  %sums = alloca [4 x <8 x float>]
  %m = add i64 %n, 1
  %one = sub i64 %m, %n
  %at = getelementptr [4 x <8 x float>], ptr %sums, i64 0, i64 %one
  store <8 x float> zeroinitializer, ptr %at
  br label %"for.i"
"for.i":
  %i = phi i64 [ 0, %entry ], [ %j, %"for.i" ]
  %q = getelementptr <8 x float>, ptr %p, i64 %i
  %x = load <8 x float>, ptr %q
  %s = load <8 x float>, ptr %at
  %y = fadd <8 x float> %s, %x
  store <8 x float> %y, ptr %at
  %j = add nuw nsw i64 %i, 1
  %more = icmp ult i64 %j, %n
  br i1 %more, label %"for.i", label %"end.i"
"end.i":
  %r = load <8 x float>, ptr %at
  store <8 x float> %r, ptr %p
  ret void
}
"""
    made = jit.emit_optimized_text(text, jit.Machine("x86_64-linux-gnu", "haswell"))
    assert "alloca" not in made
