"""Matrix instructions of Arm: what they mean, and that LLVM makes the code of streaming mode."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.script import tir as T
from tvm.tir import TensorIntrin
from tvm.tir.tensor_intrin import arm_cpu

TARGET = "llvm -mtriple=aarch64-linux-gnu -mattr=+v9a,+sme,+sve2"
GEMM = arm_cpu.get_sme_gemm_interleaved_mopa_2svlx2svl_intrin
SVL = 4 * tir.vscale()

PAIRS = {
    "init": arm_cpu.get_sme_init_intrin(),
    "f32": arm_cpu.get_sme_transpose_interleave_2svlx2svl_fp32_intrin(13, 17),
    "f16": arm_cpu.get_sme_transpose_interleave_block2_2svl_fp16_intrin(),
    "gemm f32": GEMM(17, 5, "float32"),
    "gemm f16": GEMM(17, 5, "float16"),
}


@pytest.mark.pure
@pytest.mark.parametrize("name", PAIRS)
def test_both_forms_are_programs(name: str) -> None:
    for func in PAIRS[name]:
        assert tir.analysis.verify_well_formed(func)
        assert_structural_equal(from_source(func.script()), func)


@pytest.mark.pure
@pytest.mark.parametrize("vscale", [1, 2])
def test_what_they_mean(vscale: int) -> None:
    rng = np.random.default_rng(0)
    size = 8 * vscale

    def given(*shape: int, dtype: str = "float32") -> Any:
        return rng.integers(-4, 5, shape).astype(dtype)

    with tir.interp.vscale(vscale):
        a, a_t = given(size, size), given(size, size)
        tir.interp.run(PAIRS["f32"][0], a, a_t)
        np.testing.assert_array_equal(a_t, a.T)
        a, a_t = given(2 * size, size, dtype="float16"), given(size, 2 * size, dtype="float16")
        tir.interp.run(PAIRS["f16"][0], a, a_t)
        np.testing.assert_array_equal(a_t, a.T)
        for dtype in ("float32", "float16"):
            a, b, c = given(5, size, dtype=dtype), given(5, size, dtype=dtype), given(size, size)
            wanted = c + a.T.astype("float32") @ b.astype("float32")
            tir.interp.run(PAIRS[f"gemm f{dtype[-2:]}"][0], a, b, c)
            np.testing.assert_array_equal(c, wanted)
        tir.interp.run(PAIRS["init"][0], c)
        np.testing.assert_array_equal(c, 0)


def assembly(sch: tir.Schedule) -> str:
    root = sch.get_block("root")
    sch.annotate(root, "pragma_aarch64_pstate_sm", "aarch64_pstate_sm_body")
    sch.annotate(root, "pragma_aarch64_pstate_za", "aarch64_new_za")
    text: str = tvm.tir.build(sch.mod["main"], target=TARGET).inspect_source("asm")
    return re.sub(r"\s+", " ", text)


def transposed(height: Any, width: Any, dtype: str, name: str) -> str:
    @T.prim_func
    def func(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (height, width), dtype)
        B = T.match_buffer(b, (width, height), dtype)
        for k, m in T.grid(width, height):
            with T.block("t"):
                vm, vk = T.axis.remap("SS", [m, k])
                B[vk, vm] = A[vm, vk]

    sch = tir.Schedule(func)
    sch.tensorize(sch.get_loops("t")[0], name)
    return assembly(sch)


@pytest.mark.cpu
def test_transposes_go_through_tiles() -> None:
    name = arm_cpu.get_transpose_interleave_intrin_name("float32", "float32", 13, 17)
    text = transposed(2 * SVL, 2 * SVL, "float32", name)
    for tile in range(4):
        assert f"ld1w {{za{tile}h.s" in text
        assert f"st1w {{za{tile}v.s" in text
    assert text.index("smstart sm") < text.index("ld1w {za0h") < text.index("smstop sm")
    name = arm_cpu.get_transpose_interleave_intrin_name("float16", "float32", 13, 17)
    assert name == arm_cpu.ARM_SME_BLOCK2_2SVLx1SVL_FP16_TRANSPOSE_INTERLEAVE
    text = transposed(4 * SVL, 2 * SVL, "float16", name)
    assert "ld1h {za1h.h" in text
    assert "st1h {za1v.h" in text


@pytest.mark.cpu
@pytest.mark.parametrize("dtype", ["float32", "float16"])
def test_a_product_adds_outer_products(dtype: str) -> None:
    both, k_extent = 2 * SVL, 5

    @T.prim_func
    def func(a: T.handle, b: T.handle, c: T.handle):
        A = T.match_buffer(a, (k_extent, both), dtype)
        B = T.match_buffer(b, (k_extent, both), dtype)
        C = T.match_buffer(c, (both, both), "float32")
        for m, n, k in T.grid(both, both, k_extent):
            with T.block("gemm"):
                vm, vn, vk = T.axis.remap("SSR", [m, n, k])
                with T.init():
                    C[vm, vn] = T.float32(0)
                C[vm, vn] += T.Cast("float32", A[vk, vm]) * T.Cast("float32", B[vk, vn])

    name = f"{arm_cpu.ARM_SME_2SVLx2SVL_GEMM_INTERLEAVED_MOPA}_{dtype}"
    TensorIntrin.register(name, *GEMM(17, k_extent, dtype), override=True)
    sch = tir.Schedule(func)
    block = sch.get_block("gemm")
    loops = sch.get_loops(block)
    init = sch.decompose_reduction(block, loops[0])
    sch.tensorize(sch.get_loops(init)[0], arm_cpu.ARM_SME_INIT)
    sch.tensorize(loops[0], name)
    text = assembly(sch)
    kind = "s" if dtype == "float32" else "h"
    for tile in range(4):
        assert re.search(rf"fmopa za{tile}\.s, p\d/m, p\d/m, z\d+\.{kind}, z\d+\.{kind}", text)
        assert f"st1w {{za{tile}h.s" in text
    assert text.index("smstart sm") < text.rindex("zero {za}") < text.index("fmopa")


@pytest.mark.pure
def test_refused() -> None:
    with pytest.raises(ValueError, match="data type combination not supported: int8 to int32"):
        arm_cpu.get_transpose_interleave_intrin_name("int8", "int32", 8, 8)
    with pytest.raises(ValueError, match="Input data type not supported: int8"):
        GEMM(8, 8, "int8")


@pytest.mark.cpu
def test_an_attribute_is_a_word() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "float32")):
        T.attr(0, "pragma_aarch64_pstate_sm", 'x" "y')
        A[0] = T.float32(1)

    with pytest.raises(tvm.TVMError, match="no word of LLVM's"):
        tvm.tir.build(func, target=TARGET)
