"""A masked store of one lane writes one element, whatever width its values had before."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

from tvm.backend.llvm import jit
from tvm.backend.llvm.single_lane_stores import (
    may_have_single_lane_stores,
    with_single_lane_stores,
)
from tvm.backend.llvm.target import machine_of
from tvm.target import Target

TRIPLE = "x86_64-unknown-linux-gnu"
NARROWED = [
    ("i32", "i8", 16), ("i32", "i16", 16), ("i64", "i32", 8), ("i64", "i16", 8), ("i64", "i8", 8),
    ("i16", "i8", 32), ("i64", "i32", 4), ("i32", "i8", 4),
]  # fmt: skip


def program(wide: str, narrow: str, lanes: int, kept: int) -> str:
    """f(from, to): the first `kept` of the truncated elements; LLVM learns of the mask."""
    steps = ", ".join(f"i32 {lane}" for lane in range(lanes))
    all_of, of = f"<{lanes} x {wide}>", f"<{lanes} x {narrow}>"
    store = f"llvm.masked.store.v{lanes}{narrow}.p0"
    return f"""
define void @f(ptr %from, ptr %to) {{
  %wide = load {all_of}, ptr %from, align 1
  %narrow = trunc {all_of} %wide to {of}
  %mask = icmp slt <{lanes} x i32> <{steps}>, splat (i32 {kept})
  call void @{store}({of} %narrow, ptr %to, i32 1, <{lanes} x i1> %mask)
  ret void
}}
declare void @{store}({of}, ptr, i32, <{lanes} x i1>)
"""


@pytest.mark.pure
@pytest.mark.parametrize(("lane", "offset"), [(0, 0), (3, 3)])
def test_one_lane_becomes_a_store_of_its_element(lane: int, offset: int) -> None:
    mask = ", ".join(f"i1 {'true' if i == lane else 'false'}" for i in range(4))
    text = (
        "  tail call void @llvm.masked.store.v4i16.p0(<4 x i16> %x.1, ptr nonnull align 8 "
        f"captures(none) %.7, <4 x i1> <{mask}>) #3, !dbg !6, !alias.scope !2"
    )
    assert with_single_lane_stores(text) == (
        f"  %single_lane.1 = extractelement <4 x i16> %x.1, i32 {lane}\n"
        f"  %single_address.1 = getelementptr inbounds i16, ptr %.7, i32 {offset}\n"
        "  store i16 %single_lane.1, ptr %single_address.1, align 2, !dbg !6, !alias.scope !2"
    )


@pytest.mark.pure
def test_other_masks_and_stores_stay() -> None:
    for text in (
        "  call void @llvm.masked.store.v2i8.p0(<2 x i8> %x, ptr align 1 %p, <2 x i1> %m)",
        "  call void @llvm.masked.store.v3i8.p0(<3 x i8> %x, ptr align 1 %p, "
        "<3 x i1> <i1 true, i1 true, i1 false>)",
        "  store <2 x i8> %x, ptr %p, align 1",
    ):
        assert with_single_lane_stores(text) == text
    assert may_have_single_lane_stores("declare void @llvm.masked.store.v8i32.p0(...)")
    assert not may_have_single_lane_stores("declare void @llvm.masked.store.v8f32.p0(...)")


@pytest.mark.cpu
@pytest.mark.parametrize(("wide", "narrow", "lanes"), NARROWED)
def test_no_masked_store_of_one_lane_reaches_the_choice_of_instructions(
    wide: str, narrow: str, lanes: int
) -> None:
    machine = machine_of(Target(f"llvm -mtriple={TRIPLE} -mcpu=skylake-avx512"))
    for kept, masked in ((1, False), (2, True)):
        text = jit.emit_optimized_text(program(wide, narrow, lanes, kept), machine)
        assert ("call void @llvm.masked.store" in text) == masked
        assert (f"store {narrow} %single_lane" in text) != masked


@pytest.mark.cpu
@pytest.mark.parametrize(("wide", "narrow", "lanes"), NARROWED)
@pytest.mark.parametrize("kept", [0, 1, 2, 3])
def test_nothing_is_written_behind(wide: str, narrow: str, lanes: int, kept: int) -> None:
    machine = jit.host_machine()
    content = jit.emit_object(program(wide, narrow, lanes, kept), machine, keep=False)
    linked = jit.link(content, ["f"], {})       # its code goes with it
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(linked.address("f"))
    given = np.arange(1, lanes + 1).astype(f"int{wide[1:]}")
    out = np.full(64, 99, f"int{narrow[1:]}")
    call(given.ctypes.data, out.ctypes.data)
    wanted = np.full(64, 99, out.dtype)
    wanted[:kept] = np.arange(1, kept + 1)
    np.testing.assert_array_equal(out, wanted)
