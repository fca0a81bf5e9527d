"""Programs with vectors of unknown length, cross-compiled for the CPUs that have them."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

import tvm
from tvm import te
from tvm.ir import PrimExpr
from tvm.script import tir as T

pytestmark = pytest.mark.cpu
ARM = "llvm -mtriple=aarch64-linux-gnu -mattr=+sve"
RISCV = "llvm -mtriple=riscv64-linux-gnu -mcpu=generic-rv64 -mattr=+64bit,+a,+c,+d,+f,+m,+v"
NAMED = "llvm -mtriple=riscv64-unknown-linux-gnu -mcpu=sifive-x280"
MACHINES = {ARM: 183, RISCV: 243, NAMED: 243}  # e_machine of the ELF specification
targets = pytest.mark.parametrize("target", MACHINES)


def built(func: object, target: str) -> tvm.runtime.Module:
    with tvm.target.Target(target):
        return tvm.tir.build(func)


def check_object(module: tvm.runtime.Module, target: str) -> None:
    assert module.object[:4] == b"\x7fELF"
    assert struct.unpack_from("<H", module.object, 18)[0] == MACHINES[target]


@targets
def test_the_length(target: str) -> None:
    @T.prim_func
    def main(A: T.Buffer((5,), "int32")):
        for i in range(5):
            A[i] = 2 * T.vscale()

    module = built(main, target)
    assert "llvm.vscale.i32" in module.inspect_source()
    check_object(module, target)


@targets
def test_loads_stores_and_broadcasts(target: str) -> None:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (128,), "float32")
        B = T.match_buffer(b, (128,), "float32")
        two = T.broadcast(T.float32(2), 4 * T.vscale())
        B[T.ramp(0, 1, 4 * T.vscale())] = A[T.ramp(0, 1, 4 * T.vscale())] * two

    module = built(main, target)
    text = module.inspect_source()
    assert "load <vscale x 4 x float>" in text
    assert "store <vscale x 4 x float>" in text
    assert "shufflevector (<vscale x 4 x float> insertelement (<vscale x 4 x float>" in text
    check_object(module, target)


@targets
def test_masks(target: str) -> None:
    @T.prim_func
    def main(a: T.handle):
        A = T.match_buffer(a, (30,), "int1")
        for i in range(T.ceildiv(30, T.vscale() * 4)):
            A[i : i + T.vscale() * 4] = T.get_active_lane_mask("uint1xvscalex4", i, 30)

    module = built(main, target)
    assert "llvm.get.active.lane.mask.nxv4i1.i32" in module.inspect_source()
    check_object(module, target)


@targets
def test_predicated_loops(target: str) -> None:
    @T.prim_func
    def main(a: T.handle, b: T.handle):
        A = T.match_buffer(a, (16,), "float32")
        B = T.match_buffer(b, (16,), "float32")
        for i_0 in T.serial(T.ceildiv(16, 4 * T.vscale())):
            for i_1 in T.vectorized(4 * T.vscale()):
                if i_0 * 4 * T.vscale() + i_1 < 14:
                    B[i_0 * 4 * T.vscale() + i_1] = A[i_0 * 4 * T.vscale() + i_1] + 1.0

    with tvm.transform.PassContext(config={"tir.enable_buffer_level_predication": True}):
        module = built(main, target)
    text = module.inspect_source()
    assert "@llvm.masked.load" in text
    assert "@llvm.masked.store" in text
    check_object(module, target)


@pytest.mark.parametrize(
    ("target", "instruction"), [(ARM, "fadd\tz"), (RISCV, "vfadd.vv"), (NAMED, "vfadd.vv")]
)
def test_plain_loops_become_scalable(target: str, instruction: str) -> None:
    n = te.var("n")
    a, b = (te.placeholder((n,), "float32", name) for name in "ab")
    c = te.compute((n,), lambda i: a[i] + b[i], "c")
    assembly = built(te.create_prim_func([a, b, c]), target).inspect_source("asm")
    assert instruction in assembly


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("choose", [te.min, te.max])
def test_plain_minima_become_scalable(dtype: str, choose: Callable[..., PrimExpr]) -> None:
    n = te.var("n")
    a, b = (te.placeholder((n,), dtype, name) for name in "ab")
    c = te.compute((n,), lambda i: choose(a[i], b[i]), "c")
    assembly = built(te.create_prim_func([a, b, c]), ARM).inspect_source("asm")
    assert f"f{choose.__name__}\tz" in assembly


@pytest.mark.parametrize(
    ("features", "told"), [("+neon", False), ("+sve", True), ("+v9a", True), ("+sme", True)]
)
def test_functions_tell_how_long_vectors_may_be(features: str, told: bool) -> None:
    a = te.placeholder((te.var("n"),), "float32", "a")
    b = te.compute(a.shape, lambda i: a[i] + 1.0, "b")
    target = f"llvm -mtriple=aarch64-linux-gnu -mattr={features}"
    text = built(te.create_prim_func([a, b]), target).inspect_source("ll")
    assert ("vscale_range(1,16)" in text) is told
