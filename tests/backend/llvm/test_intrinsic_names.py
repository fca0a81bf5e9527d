"""The lists of intrinsics: each name in them is one that LLVM knows."""

from __future__ import annotations

import pytest

from tvm.backend.llvm import jit
from tvm.backend.llvm.intrinsic_names import ONE_TYPE_INTRINSICS, SAFE_INTRINSICS

pytestmark = pytest.mark.cpu
INTS = ("abs", "bit", "bswap", "ct", "fsh", "sadd", "ssub", "uadd", "usub", "smax", "smin", "umax",
        "umin")  # fmt: skip
OPERANDS = {"fma": 3, "fmuladd": 3, "fshl": 3, "fshr": 3, "copysign": 2, "pow": 2, "bswap": 1}


@pytest.mark.parametrize("name", sorted(ONE_TYPE_INTRINSICS))
def test_intrinsics_of_one_type_compile(name: str) -> None:
    short = name.removeprefix("llvm.")
    kind, suffix = ("i32", "i32") if short.startswith(INTS) else ("float", "f32")
    two = short.startswith(("max", "min", "sm", "um", "sadd", "ssub", "uadd", "usub"))
    params = [kind] * OPERANDS.get(short, 2 if two else 1)
    flag = ["i1"] if short in ("abs", "ctlz", "cttz") else []
    given = ", ".join([*(f"{k} %x" for k in params), *(f"{k} false" for k in flag)])
    text = (
        f"declare {kind} @{name}.{suffix}({', '.join([*params, *flag])})\n"
        f"define {kind} @f({kind} %x) {{\n  %y = call {kind} @{name}.{suffix}({given})\n"
        f"  ret {kind} %y\n}}\n"
    )
    assert jit.unusual_intrinsics(text) == []
    assert jit.emit_here(text, jit.host_machine())


def test_no_list_names_one_architecture_only_but_for_the_pool() -> None:
    own = [n for n in SAFE_INTRINSICS if n.startswith(("llvm.x86.", "llvm.aarch64."))]
    assert own == ["llvm.aarch64.hint", "llvm.x86.sse2.pause"]
