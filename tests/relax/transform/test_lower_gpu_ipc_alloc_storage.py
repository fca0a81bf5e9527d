"""LowerGPUIPCAllocStorage: storage that GPUs share is allocated by their runtime."""

from __future__ import annotations

import pytest

from tvm.ir import assert_structural_equal
from tvm.relax.transform import LowerGPUIPCAllocStorage
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def test_storage_and_tensors() -> None:
    @I.ir_module
    class Before:
        @R.function(pure=False)
        def main(shape: R.Shape(["m", "n"])):
            m = T.int64()
            n = T.int64()
            storage: R.Object = R.memory.alloc_storage(
                R.shape([m, n]), R.prim_value(0), R.str("ipc_memory"), R.dtype("float16")
            )
            a = R.memory.alloc_tensor(
                storage, R.prim_value(0), R.shape([m, n]), R.dtype("float16")
            )
            b = R.builtin.alloc_tensor(
                R.shape([m, n]), R.dtype("float16"), R.prim_value(0), R.str("ipc_memory")
            )
            c = R.builtin.alloc_tensor(
                R.shape([m, n]), R.dtype("float16"), R.prim_value(0), R.str("global")
            )
            return (a, b, c)

    @I.ir_module
    class Expected:
        @R.function(pure=False)
        def main(shape: R.Shape(["m", "n"])):
            m = T.int64()
            n = T.int64()
            storage: R.Object = R.call_packed(
                "runtime.disco.cuda_ipc.alloc_storage", R.shape([m, n]), R.dtype("float16"),
                sinfo_args=(R.Object,),
            )  # fmt: skip
            a = R.memory.alloc_tensor(
                storage, R.prim_value(0), R.shape([m, n]), R.dtype("float16")
            )
            gv: R.Object = R.call_packed(
                "runtime.disco.cuda_ipc.alloc_storage", R.shape([m, n]), R.dtype("float16"),
                sinfo_args=(R.Object,),
            )  # fmt: skip
            b = R.memory.alloc_tensor(gv, R.prim_value(0), R.shape([m, n]), R.dtype("float16"))
            c = R.builtin.alloc_tensor(
                R.shape([m, n]), R.dtype("float16"), R.prim_value(0), R.str("global")
            )
            return (a, b, c)

    assert_structural_equal(LowerGPUIPCAllocStorage()(Before), Expected)
    assert LowerGPUIPCAllocStorage()(Expected)["main"] is Expected["main"]
