"""Sums of four products of bytes, by arithmetic and by the instructions of CPUs."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.target import Target
from tvm.tir import interp
from tvm.tir.op.byte_dots import dot_bytes
from tvm.tir.stmt import ForKind
from tvm.topi.kernel import Kernel
from tvm.topi.loops import load, loop, store

HAS = Target.from_device("cpu").cpu.features
RUN = ["c", "llvm", *(
    f"llvm -mcpu={cpu}" for cpu, needs in (
        ("x86-64", "sse2"), ("haswell", "avx2"), ("skylake-avx512", "avx512bw"),
        ("alderlake", "avxvnni"), ("cascadelake", "avx512vnni"),
    ) if needs in HAS
)]  # fmt: skip


def program(kind: ForKind, lanes: int = 16) -> tir.PrimFunc:
    kernel = Kernel("dots", Target("llvm"))
    sums, left, right, out = (kernel.buffer(n, (lanes,), "int32") for n in ("s", "a", "b", "y"))
    return kernel.func(loop(tir.const(lanes, "int64"), lambda i: store(
        out, dot_bytes(load(sums, i), load(left, i), load(right, i)), i
    ), "i", kind))  # fmt: skip


@pytest.mark.cpu
@pytest.mark.parametrize("kind", [ForKind.SERIAL, ForKind.VECTORIZED])
@pytest.mark.parametrize("target", RUN)
def test_numbers(target: str, kind: ForKind) -> None:
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 256, (16, 4), "uint8"), rng.integers(-128, 128, (16, 4), "int8")
    a[:2], b[0], b[1] = 255, -128, 127  # two products in 16 bits would not be these
    sums = rng.integers(-(2**31), 2**31, 16).astype("int32")
    want = (sums + (a.astype("int64") * b).sum(1)).astype("int32")
    words = sums, a.view("int32")[:, 0].copy(), b.view("int32")[:, 0].copy()
    func = program(kind)
    tvm.compile(func, target)(*words, out := np.zeros(16, "int32"))
    np.testing.assert_array_equal(out, want)
    interp.run(func, *words, by_interp := np.zeros(16, "int32"))
    np.testing.assert_array_equal(by_interp, want)


ARM = "llvm -mtriple=aarch64-linux-gnu -mcpu="
NEON = "llvm.aarch64.neon."


@pytest.mark.pure
@pytest.mark.parametrize(("target", "lanes", "names"), [
    ("llvm -mcpu=znver4", 16, {"llvm.x86.avx512.vpdpbusd.512"}),
    ("llvm -mcpu=alderlake", 16, {"llvm.x86.avx512.vpdpbusd.256"}),
    ("llvm -mcpu=skylake-avx512", 16, {"llvm.x86.avx512.pmaddw.d.512"}),
    ("llvm -mcpu=znver4", 4, {"llvm.x86.sse2.pmadd.wd"}),
    ("llvm -mcpu=haswell", 16, {"llvm.x86.avx2.pmadd.wd"}),
    ("llvm -mcpu=x86-64", 16, {"llvm.x86.sse2.pmadd.wd"}),
    ("llvm -mcpu=znver4", 2, set()),
    (ARM + "neoverse-n2", 16, {NEON + "usdot.v4i32.v16i8"}),
    (ARM + "neoverse-n1", 16, {NEON + "sdot.v4i32.v16i8"}),
    (ARM + "cortex-a72", 16, set()),
    ("c", 16, set()),
])  # fmt: skip
def test_instructions(target: str, lanes: int, names: set[str]) -> None:
    """The widest that divide the lanes; else arithmetic of 32 bits."""
    mod = tvm.IRModule({"dots": program(ForKind.VECTORIZED, lanes)})
    vectors = tir.transform.VectorizeLoop()(mod)
    bound = tir.transform.BindTarget(Target(target))(vectors)
    text = tir.transform.LowerIntrin()(bound).script()
    assert "dot_bytes" not in text
    found = {word.split('"')[0] for word in text.split('"') if word.startswith("llvm.")}
    assert found == names


@pytest.mark.cpu
@pytest.mark.parametrize("cpu", ["n1", "n2"])
def test_code_for_arm(cpu: str) -> None:
    """Code can be made of it: instructions of bytes, for any host."""
    built = tvm.compile(program(ForKind.VECTORIZED), f"{ARM}neoverse-{cpu}")
    assert ("usdot" if cpu == "n2" else "sdot") in built.mod.inspect_source("asm")
