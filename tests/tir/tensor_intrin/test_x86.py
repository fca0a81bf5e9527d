"""Dot products of bytes on x86: matched, and run where the processor has the instructions."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te, tir
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.script import tir as T
from tvm.target.codegen import llvm_get_cpu_features
from tvm.tir import TensorIntrin
from tvm.tir.tensor_intrin.x86 import AVX512_DOT_16x4_INTRIN, VNNI_DOT_16x4_INTRIN

NAMES = {VNNI_DOT_16x4_INTRIN: "avx512vnni", AVX512_DOT_16x4_INTRIN: "avx512bw"}
HOST = tvm.target.Target.from_device("cpu")
HERE = [name for name, need in NAMES.items() if need in llvm_get_cpu_features(HOST)]


def matmul(n: int, m: int, k: int) -> tir.PrimFunc:
    a = te.placeholder((n, k), "uint8", name="A")
    b = te.placeholder((m // 16, k // 4, 16, 4), "int8", name="B")
    r = te.reduce_axis((0, k), "r")
    c = te.compute(
        (n, m),
        lambda i, j: te.sum(
            a[i, r].astype("int32") * b[j // 16, r // 4, j % 16, r % 4].astype("int32"), axis=r
        ),
        name="C",
    )
    return te.create_prim_func([a, b, c])


def tensorized(name: str, n: int, m: int, k: int) -> tir.Schedule:
    sch = tir.Schedule(matmul(n, m, k))
    block = sch.get_block("C")
    i, j, r = sch.get_loops(block)
    jo, ji = sch.split(j, [None, 16])
    ro, ri = sch.split(r, [None, 4])
    sch.reorder(i, jo, ro, ji, ri)
    sch.decompose_reduction(block, ro)
    sch.tensorize(ji, name)
    return sch


@pytest.mark.pure
@pytest.mark.parametrize("name", NAMES)
def test_both_functions_round_trip(name: str) -> None:
    intrin = TensorIntrin.get(name)
    assert intrin is not None
    for func in (intrin.desc, intrin.impl):
        assert_structural_equal(from_source(func.script()), func)


@pytest.mark.pure
@pytest.mark.parametrize("name", NAMES)
def test_a_matmul_of_bytes_is_tensorized(name: str) -> None:
    text = tensorized(name, 4, 32, 16).mod.script()
    assert "T.call_llvm_pure_intrin(" in text
    assert "T.reads(C[v_i_o, v_j_o * 16:v_j_o * 16 + 16]" in text


@pytest.mark.cpu
@pytest.mark.parametrize("name", HERE)
def test_the_instruction_computes_what_the_description_says(name: str) -> None:
    n, m, k = 4, 32, 16
    rng = np.random.default_rng(0)
    # values below 128 keep the 16-bit sums of AVX-512 from saturating
    a = rng.integers(0, 127, (n, k), dtype=np.uint8)
    b = rng.integers(-127, 127, (m // 16, k // 4, 16, 4), dtype=np.int8)
    func = tvm.compile(tensorized(name, n, m, k).mod, HOST)
    args = [tvm.runtime.tensor(x) for x in (a, b, np.zeros((n, m), "int32"))]
    func(*args)
    weights = b.transpose(1, 3, 0, 2).reshape(k, m).astype("int32")
    np.testing.assert_array_equal(args[2].numpy(), a.astype("int32") @ weights)


def test_each_step_of_vnni_has_a_name() -> None:
    @T.prim_func(private=True)
    def steps(A: T.Buffer((4,), "uint8", offset_factor=1),
              B: T.Buffer((16, 4), "int8", offset_factor=1),
              C: T.Buffer((16,), "int32", offset_factor=1)):  # fmt: skip
        with T.block("root"):
            T.reads(C[0:16], A[0:4], B[0:16, 0:4])
            T.writes(C[0:16])
            few: T.uint8x4 = A[0:4]
            word: T.int32 = T.reinterpret("int32", few)
            rows: T.int8x64 = B[0, 0:64]
            words: T.int32x16 = T.reinterpret("int32x16", rows)
            sums: T.int32x16 = C[0:16]
            C[0:16] = T.call_llvm_pure_intrin(
                "int32x16", T.llvm_lookup_intrinsic_id("llvm.x86.avx512.vpdpbusd.512"),
                sums, T.Broadcast(word, 16), words,
            )  # fmt: skip

    intrin = TensorIntrin.get(VNNI_DOT_16x4_INTRIN)
    assert intrin is not None
    assert_structural_equal(intrin.impl, steps)
