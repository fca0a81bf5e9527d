"""Dot products by RISC-V's vector instructions: what they say, and that LLVM compiles them."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.tir import TensorIntrin
from tvm.tir.tensor_intrin import riscv_cpu

BASE = "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+64bit,+a,+c,+d,+f,+m"
VECTORS = BASE + ",+v,+zvfh"
KINDS = [
    ("uint8", "int8", "int32", ("vle8.v", "vwmulsu.vv", "vwredsum.vs")),
    ("int8", "int8", "int32", ("vle8.v", "vwmul.vv", "vwredsum.vs")),
    ("float16", "float16", "float16", ("vle16.v", "vfmul.vv", "vfredusum.vs")),
    ("float32", "float32", "float32", ("vle32.v", "vfmul.vv", "vfredusum.vs")),
]
kinds = pytest.mark.parametrize(("data", "weight", "out", "instructions"), KINDS)


@pytest.mark.pure
def test_a_group_of_registers_holds_so_many() -> None:
    assert riscv_cpu.get_max_elems(128, lmul=8, sew=8) == 128
    assert riscv_cpu.get_max_elems(256, lmul=1, sew=32) == 8


@pytest.mark.pure
@kinds
@pytest.mark.parametrize(("n_elems", "n_lanes"), [(4, 3), (32, 16)])
def test_the_description_is_a_product_of_matrix_and_vector(
    data: str, weight: str, out: str, instructions: tuple[str, ...], n_elems: int, n_lanes: int
) -> None:
    desc, impl = riscv_cpu.rvv_vec_dot_product_kernels(n_elems, n_lanes, data, weight, out, 2)
    rng = np.random.default_rng(0)
    # numbers whose sums float16 holds exactly; of bytes the ends of their range too
    a = rng.integers(0 if data == "uint8" else -3, 4, n_elems).astype(data)
    b = rng.integers(-3, 4, (n_lanes, n_elems)).astype(weight)
    if out == "int32":
        a[:2], b[:, :2] = np.iinfo(data).max, -128
    c = rng.integers(0, 9, n_lanes).astype(out)
    wanted = c + b.astype(out) @ a.astype(out)
    tir.interp.run(desc, a, b, c)
    np.testing.assert_array_equal(c, wanted)
    for func in (desc, impl):
        assert_structural_equal(from_source(func.script()), func)


@pytest.mark.cpu
@kinds
@pytest.mark.parametrize("bits", [128, 256])
def test_llvm_has_the_instructions(
    data: str, weight: str, out: str, instructions: tuple[str, ...], bits: int
) -> None:
    target = tvm.target.Target(f"{VECTORS},+zvl{bits}b")
    names = [
        name
        for name in riscv_cpu.register_rvv_isa_intrinsics(target)
        if f"rvv_dot_{bits // 8}{data[0]}{tvm.DataType(data).bits}_" in name
    ]
    assert len(names) == 1
    intrin = TensorIntrin.get(names[0])
    assert intrin is not None
    with target:
        built = tvm.tir.build(intrin.impl.with_attr("global_symbol", "main"))
    assembly = built.inspect_source("asm")
    for instruction in instructions:
        assert instruction in assembly


@pytest.mark.cpu
def test_a_schedule_calls_it() -> None:
    target = tvm.target.Target(VECTORS)
    riscv_cpu.register_riscv_intrinsics(target)
    name = "rvv_dot_64i8_16x64i8_16i32"
    intrin = TensorIntrin.get(name)
    assert intrin is not None
    schedule = tir.Schedule(intrin.desc.with_attr("global_symbol", "main"))
    schedule.tensorize(schedule.get_loops("update")[0], name)
    with target:
        assembly = tvm.tir.build(schedule.mod).inspect_source("asm")
    assert "vwredsum.vs" in assembly


@pytest.mark.cpu
def test_the_registers_decide_the_lengths() -> None:
    small, wide = (
        riscv_cpu.register_rvv_isa_intrinsics(tvm.target.Target(text), inventory_only=True)
        for text in (VECTORS, VECTORS + ",+zvl256b")
    )
    assert [n for name, n in small.items() if "i8_16i32" in name and "u8_" in name] == [
        64, 32, 16, 8, 4,
    ]  # fmt: skip
    assert small["rvv_dot_32f32_32x32f32_32f32"] == 32
    assert small["rvv_dot_64f16_64x64f16_64f16"] == 64
    assert max(small.values()) * 2 == max(wide.values()) == 128


@pytest.mark.cpu
def test_what_the_target_lacks_is_not_registered() -> None:
    inventory = riscv_cpu.register_rvv_isa_intrinsics(
        tvm.target.Target(BASE + ",+v,+zvl512b"), inventory_only=True
    )
    assert inventory
    assert not [name for name in inventory if "f16" in name]
    assert not [name for name in inventory if TensorIntrin.get(name, allow_missing=True)]
    riscv_cpu.register_riscv_intrinsics(tvm.target.Target(BASE))
    with pytest.raises(RuntimeError, match="without the vector extension"):
        riscv_cpu.register_rvv_isa_intrinsics(tvm.target.Target(BASE))


@pytest.mark.pure
def test_types_without_instructions() -> None:
    with pytest.raises(ValueError, match="int8 times uint8 to int32"):
        riscv_cpu.rvv_vec_dot_product_kernels(8, 4, "int8", "uint8", "int32", 1)
