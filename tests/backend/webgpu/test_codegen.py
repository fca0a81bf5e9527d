"""WGSL is what its grammar says, and refuses what the language has not."""

from __future__ import annotations

import pytest

from tests.backend.cuda.test_codegen import elementwise
from tests.backend.device.harness import source_of
from tests.backend.device.programs import PROGRAMS, module_for
from tests.backend.webgpu.wgsl import Reader
from tvm import tir
from tvm.error import DTypeError
from tvm.ir.module import IRModule

pytestmark = pytest.mark.cpu


def test_all_programs_are_read_by_the_grammar() -> None:
    mod = module_for("webgpu")
    kernels = Reader(source_of(mod, "webgpu")).module()
    assert len(kernels) == len(mod.functions) + 1  # one function has two


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fn f() { x = 1i; }", "x is not declared"),
        ("fn f() { let x : i32 = 1i }", "; at: }"),
        ("fn f() { let x : i64 = 1i; }", "no type i64"),
        ("fn f() { if (true) { }", "} at: "),
        ("fn f() { let x : i32 = 1i; let x : i32 = 2i; }", "declared twice"),
        ("kernel void f() {}", "enable or struct or var or fn"),
    ],
)
def test_the_grammar_refuses(text: str, words: str) -> None:
    with pytest.raises(AssertionError, match=words):
        Reader(text).module()


def test_words() -> None:
    mod = elementwise("float16", "float16", 2, lambda x: tir.exp(x) + tir.const(1, "float16"))
    text = source_of(mod, "webgpu")
    Reader(text).module()
    for word in (
        "enable f16;",
        "@group(0) @binding(0) var<storage, read> A : array<f16>;",
        "@group(0) @binding(1) var<storage, read_write> B : array<f16>;",
        "@compute @workgroup_size(16, 1, 1)",
        "exp(A[",
        "f16(1.000000e+00f)",
    ):
        assert word in text, text


def test_numbers_come_in_a_uniform() -> None:
    text = source_of(IRModule({"scaled": PROGRAMS["scaled"].func}), "webgpu")
    Reader(text).module()
    assert "struct scaled_kernel_args {\n  x : f32,\n}" in text
    assert "@group(0) @binding(2) var<uniform> podArgs : scaled_kernel_args;" in text


def test_counters_are_atomic() -> None:
    text = source_of(IRModule({"histogram": PROGRAMS["histogram"].func}), "webgpu")
    Reader(text).module()
    assert "var<storage, read_write> B : array<atomic<i32>>;" in text
    assert "_ = atomicAdd(&B[A[" in text


def test_types_that_the_language_lacks() -> None:
    dtype = "float64"
    words = r"legal: *bool, int8, int16, int32, uint8, uint16, uint32, float16, float32, int64"
    with pytest.raises(DTypeError, match=words):
        source_of(elementwise(dtype, dtype, 1, lambda x: x + tir.const(1, dtype)), "webgpu")


def test_words_hold_several_small_numbers() -> None:
    mod = elementwise("int8", "uint16", 1, lambda x: (x + tir.const(1, "int8")).astype("uint16"))
    text = source_of(mod, "webgpu")
    Reader(text).module()
    assert "var<storage, read> A : array<u32>;" in text  # four to a word
    assert "var<storage, read_write> B : array<atomic<u32>>;" in text  # threads share words
    assert "extractBits(bitcast<i32>(A[" in text  # with the sign
    assert "atomicAnd(&B[" in text
    assert "atomicOr(&B[" in text


def test_inverse_trigonometry_is_written_out() -> None:
    # WGSL, 15.7.4.1: asin and its like may be off by 4096 units in the last place
    for func in (tir.asin, tir.acos, tir.atan):
        text = source_of(elementwise("float32", "float32", 1, func), "webgpu")
        assert f" {func.__name__}(" not in text
        assert "sqrt(" in text or func is tir.atan
