from __future__ import annotations

import pytest

from tvm.error import TVMError
from tvm.script import ir as I
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import LowerDeviceKernelLaunch

pytestmark = pytest.mark.pure


class TestALaunchByName(PassTest):
    run = LowerDeviceKernelLaunch()
    same_results = False

    @I.ir_module
    class Before:
        @T.prim_func
        def main(A: T.Buffer((1,), "float32")):
            T.func_attr({"target": T.target("llvm")})
            Before.kernel(A.data)

        @T.prim_func(private=True)
        def kernel(A_data: T.handle("float32")):
            T.func_attr({"target": T.target("cuda")})
            A = T.decl_buffer((1,), "float32", data=A_data)
            A[0] = T.float32(0)

    @I.ir_module
    class Expected:
        @T.prim_func
        def main(A: T.Buffer((1,), "float32")):
            T.func_attr({"target": T.target("llvm")})
            T.call_packed("kernel", A.data)

        @T.prim_func
        def kernel(A_data: T.handle("float32")):
            T.func_attr(
                {
                    "target": T.target("cuda"),
                    "calling_conv": 2,
                    "tir.kernel_launch_params": [],
                    "tir.is_global_func": True,
                }
            )
            A = T.decl_buffer((1,), "float32", data=A_data)
            A[0] = T.float32(0)


class TestExtentsInTheCallersTerms(PassTest):
    run = LowerDeviceKernelLaunch()
    same_results = False

    @I.ir_module
    class Before:
        @T.prim_func
        def main(A: T.Buffer((64,), "float32"), m: T.int32):
            T.func_attr({"target": T.target("llvm")})
            Before.kernel(A.data, m + 1)

        @T.prim_func
        def kernel(A_data: T.handle("float32"), n: T.int32):
            T.func_attr({"target": T.target("cuda"), "global_symbol": "other_name"})
            A = T.decl_buffer((64,), "float32", data=A_data)
            bx = T.launch_thread("blockIdx.x", n)
            D = T.allocate([n], "float32", "shared.dyn")
            tx = T.launch_thread("threadIdx.x", 16)
            S = T.decl_buffer((n,), "float32", data=D, scope="shared.dyn")
            S[0] = A[bx]
            A[tx] = S[0]

    @I.ir_module
    class Expected:
        @T.prim_func
        def main(A: T.Buffer((64,), "float32"), m: T.int32):
            T.func_attr({"target": T.target("llvm")})
            T.call_packed("other_name", A.data, m + 1, m + 1, 16, 4 * (m + 1))

        @T.prim_func
        def kernel(A_data: T.handle("float32"), n: T.int32):
            T.func_attr(
                {
                    "target": T.target("cuda"),
                    "calling_conv": 2,
                    "tir.kernel_launch_params": [
                        "blockIdx.x",
                        "threadIdx.x",
                        "tir.use_dyn_shared_memory",
                    ],
                    "global_symbol": "other_name",
                    "tir.is_global_func": True,
                }
            )
            A = T.decl_buffer((64,), "float32", data=A_data)
            bx = T.launch_thread("blockIdx.x", n)
            D = T.allocate([n], "float32", "shared.dyn")
            tx = T.launch_thread("threadIdx.x", 16)
            S = T.decl_buffer((n,), "float32", data=D, scope="shared.dyn")
            S[0] = A[bx]
            A[tx] = S[0]


class TestTheSameDevice(PassTest):
    run = LowerDeviceKernelLaunch()
    same_results = False

    @I.ir_module
    class Before:
        @T.prim_func
        def main(A: T.Buffer((1,), "float32")):
            T.func_attr({"target": T.target("llvm")})
            Before.other(A.data)
            Before.mine(A.data)

        @T.prim_func(private=True)
        def other(A_data: T.handle("float32")):
            T.func_attr({"target": T.target("c")})
            A = T.decl_buffer((1,), "float32", data=A_data)
            A[0] = T.float32(0)

        @T.prim_func(private=True)
        def mine(A_data: T.handle("float32")):
            T.func_attr({"target": T.target("llvm")})
            A = T.decl_buffer((1,), "float32", data=A_data)
            A[0] = T.float32(0)

    @I.ir_module
    class Expected:
        @T.prim_func
        def main(A: T.Buffer((1,), "float32")):
            T.func_attr({"target": T.target("llvm")})
            T.call_extern("void", "other", A.data)
            Expected.mine(A.data)

        @T.prim_func
        def other(A_data: T.handle("float32")):
            T.func_attr({"target": T.target("c"), "tir.is_global_func": True})
            A = T.decl_buffer((1,), "float32", data=A_data)
            A[0] = T.float32(0)

        @T.prim_func(private=True)
        def mine(A_data: T.handle("float32")):
            T.func_attr({"target": T.target("llvm")})
            A = T.decl_buffer((1,), "float32", data=A_data)
            A[0] = T.float32(0)


def test_a_kernel_gives_nothing_back() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main():
            T.func_attr({"target": T.target("llvm")})
            Module.kernel()

        @T.prim_func(private=True)
        def kernel() -> T.int32:
            T.func_attr({"target": T.target("cuda")})
            T.ret(0)

    kernel = LowerDeviceKernelLaunch()(Module)["kernel"]
    assert "T.ret" not in kernel.script()
    assert "->" not in kernel.script()


def test_rejects_extents_that_only_the_kernel_knows() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((1,), "int32")):
            T.func_attr({"target": T.target("llvm")})
            Module.kernel(A.data)

        @T.prim_func(private=True)
        def kernel(A_data: T.handle("int32")):
            T.func_attr({"target": T.target("cuda")})
            n: T.int32 = 5
            tx = T.launch_thread("threadIdx.x", n)
            A = T.decl_buffer((1,), "int32", data=A_data)
            A[0] = tx

    with pytest.raises(TVMError, match="n, known inside of the kernel only"):
        LowerDeviceKernelLaunch()(Module)


def test_rejects_a_function_without_a_target() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main():
            T.func_attr({"target": T.target("llvm")})
            Module.kernel()

        @T.prim_func(private=True)
        def kernel():
            T.evaluate(0)

    with pytest.raises(TVMError, match="a function without a target"):
        LowerDeviceKernelLaunch()(Module)
