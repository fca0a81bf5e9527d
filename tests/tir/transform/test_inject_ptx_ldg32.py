from __future__ import annotations

import pytest

from tvm.ir.module import IRModule
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import InjectPTXLDG32

pytestmark = pytest.mark.pure


class TestLoad(PassTest):
    run = InjectPTXLDG32()
    same_results = False  # only a device can run ld.global

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")) -> None:
        tx = T.launch_thread("threadIdx.x", 16)
        b = T.allocate([4], "float32", "local")
        B = T.decl_buffer((4,), "float32", data=b, scope="local")
        for i in range(4):
            B[i] = T.if_then_else(tx * 4 + i < 60, A[tx * 4 + i], T.float32(0))
        for i in range(4):
            C[tx * 4 + i] = B[i]

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), C: T.Buffer((64,), "float32")) -> None:
        tx = T.launch_thread("threadIdx.x", 16)
        addr = T.decl_buffer((2,), "int32", scope="local")
        predicate = T.decl_buffer((1,), "bool", scope="local")
        b = T.allocate([4], "float32", "local")
        B = T.decl_buffer((4,), "float32", data=b, scope="local")
        for i in range(4):
            addr[0] = tx * 4 + i
            addr[1] = i
            predicate[0] = tx * 4 + i < 60
            B[addr[1]] = T.float32(0)
            T.call_intrin("float32", "tir.ptx_ldg32", B.data, predicate[0], A[addr[0]], addr[1])
        for i in range(4):
            C[tx * 4 + i] = B[i]


class TestOthersStay(PassTest):
    run = InjectPTXLDG32()

    @T.prim_func
    def Before(
        A: T.Buffer((64,), "float32"), H: T.Buffer((64,), "float16"), C: T.Buffer((64,), "float32")
    ) -> None:
        tx = T.launch_thread("threadIdx.x", 16)
        b = T.allocate([4], "float16", "local")
        B = T.decl_buffer((4,), "float16", data=b, scope="local")
        B[0] = T.if_then_else(tx < 9, H[tx], T.float16(0))
        C[tx] = T.if_then_else(tx < 9, A[tx], T.float32(0)) + T.Cast("float32", B[0])

    Expected = Before


def test_off() -> None:
    mod = IRModule({"main": TestLoad.Before})
    assert InjectPTXLDG32(enable_inject_ptx_intrin=False)(mod)["main"] is mod["main"]
