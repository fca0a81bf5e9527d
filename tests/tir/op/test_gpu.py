"""Operators of GPUs: result types and the order of arguments."""

from __future__ import annotations

import pytest

from tvm import tir

pytestmark = pytest.mark.pure


def test_shuffles_keep_the_type() -> None:
    value = tir.Var("v", "float16")
    for call in (tir.tvm_warp_shuffle, tir.tvm_warp_shuffle_up, tir.tvm_warp_shuffle_down):
        made = call(tir.tvm_warp_activemask(), value, 1, 32, 32)
        assert made.dtype == "float16"
        assert made.args[1] is value


def test_sync_and_barriers() -> None:
    assert tir.tvm_storage_sync("shared").args[0].value == "shared"
    assert tir.ptx_wait_group(2).op.name == "tir.ptx_wait_group"
    assert tir.create_barriers(4).dtype == "void"


def test_matrix_instructions_keep_their_arguments() -> None:
    handles = [tir.Var(name, "handle") for name in "abc"]
    a, b, c = handles
    call = tir.ptx_mma(
        "float32", "m16n8k16", "row", "col", "fp16", "fp16", "fp32", a, 0, b, 0, c, 0, False
    )
    assert call.args[6] is a
    assert len(call.args) == 13
    assert tir.tvm_mma_sync(c, 0, a, 0, b, 0, c, 0).args[2] is a
