"""Names of intrinsics."""

from __future__ import annotations

import pytest

from tvm import tir
from tvm.target import codegen
from tvm.target.llvm_intrinsics import intrinsic_names, is_known

pytestmark = pytest.mark.cpu


def test_names() -> None:
    assert len(intrinsic_names()) > 5000
    known = (
        "llvm.aarch64.neon.smull", "llvm.aarch64.neon.smull.v8i16", "llvm.ctpop.i32",
        "llvm.va_start", "llvm.va_start.p0", "llvm.aarch64.sve.ld1.nxv4f32",
        "llvm.x86.avx512.vpdpbusd.512", "llvm.memcpy.p0.p0.i64", "llvm.xcore.zext",
    )  # fmt: skip
    assert [name for name in known if not is_known(name)] == []
    unknown = ("llvm.x86.nonsense", "memcpy", "llvm.ctpop.thing", "llvm.", "ctpop", "")
    assert [name for name in unknown if is_known(name)] == []


@pytest.mark.parametrize("call", [tir.call_llvm_intrin, tir.call_llvm_pure_intrin])
def test_a_call_of_an_unknown_one_is_refused(call) -> None:
    with pytest.raises(ValueError, match=r"Unknown llvm intrinsic function llvm\.nothing\.here"):
        call("int32x4", "llvm.nothing.here")
    x = tir.Var("x", "int32")
    number = codegen.llvm_lookup_intrinsic_id("llvm.ctpop")
    for name in ("llvm.ctpop", "llvm.ctpop.i32", tir.StringImm("llvm.ctpop"), number):
        assert call("int32", name, x).args[1].same_as(x)
