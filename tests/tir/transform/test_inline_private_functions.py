import pytest

from tvm.script import ir as I
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import InlinePrivateFunctions

pytestmark = pytest.mark.pure


class TestCall(PassTest):
    run = InlinePrivateFunctions()

    @I.ir_module
    class Before:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            for i in range(8):
                Before.one(A.data, i)

        @T.prim_func(private=True)
        def one(p: T.handle("float32"), i: T.int32):
            P = T.Buffer((8,), data=p)
            P[i] = T.Cast("float32", i * 2)

    @I.ir_module
    class Expected:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            P = T.Buffer((8,), data=A.data)
            for i in range(8):
                P[i] = T.Cast("float32", i * 2)


class TestKeepsRecursion(PassTest):
    run = InlinePrivateFunctions()
    same_results = False

    @I.ir_module
    class Before:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            Before.down(A.data, 3)

        @T.prim_func(private=True)
        def down(p: T.handle("float32"), i: T.int32):
            P = T.Buffer((8,), data=p)
            P[i] = 1.0
            if i > 0:
                Before.down(p, i - 1)

    Expected = Before


class TestAddressOfDeclaredBuffers(PassTest):
    """Each address is named directly around the declaration that needs it."""

    run = InlinePrivateFunctions()

    @I.ir_module
    class Before:
        @T.prim_func
        def main(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
            for i in range(4):
                Before.add_rows(T.address_of(A[i, 0]), T.address_of(B[3 - i, 0]))

        @T.prim_func(private=True)
        def add_rows(p: T.handle("float32"), q: T.handle("float32")):
            P = T.decl_buffer(6, "float32", data=p)
            Q = T.decl_buffer(6, "float32", data=q)
            for j in range(6):
                Q[j] = Q[j] + P[j]

    @I.ir_module
    class Expected:
        @T.prim_func
        def main(A: T.Buffer((4, 6), "float32"), B: T.Buffer((4, 6), "float32")):
            for i in range(4):
                p: T.handle("float32") = T.address_of(A[i, 0])
                P = T.decl_buffer(6, "float32", data=p)
                q: T.handle("float32") = T.address_of(B[3 - i, 0])
                Q = T.decl_buffer(6, "float32", data=q)
                for j in range(6):
                    Q[j] = Q[j] + P[j]


class TestAddressOfBufferWithoutDeclaration(PassTest):
    """The address is named around the whole body, where any statement may use the buffer."""

    run = InlinePrivateFunctions()

    @I.ir_module
    class Before:
        @T.prim_func
        def main(A: T.Buffer((4, 6), "float32")):
            for i in range(4):
                Before.fill(T.address_of(A[i, 2]), i)

        @T.prim_func(private=True)
        def fill(p: T.handle("float32"), n: T.int32):
            P = T.Buffer((4,), "float32", data=p)
            P[0] = T.float32(1)
            P[n] = P[0] + T.float32(1)

    @I.ir_module
    class Expected:
        @T.prim_func
        def main(A: T.Buffer((4, 6), "float32")):
            for i in range(4):
                p: T.handle("float32") = T.address_of(A[i, 2])
                P = T.Buffer((4,), "float32", data=p)
                P[0] = T.float32(1)
                P[i] = P[0] + T.float32(1)


def test_code_of_another_device_stays_a_function() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((8,), "float32")):
            T.func_attr({"target": T.target("c")})
            Module.kernel(A.data)
            Module.same(A.data)

        @T.prim_func(private=True)
        def kernel(p: T.handle("float32")):
            T.func_attr({"target": T.target("cuda")})
            A = T.decl_buffer((8,), data=p)
            tx = T.launch_thread("threadIdx.x", 8)
            A[tx] = T.float32(0)

        @T.prim_func(private=True)
        def same(p: T.handle("float32")):
            T.func_attr({"target": T.target("c")})
            A = T.decl_buffer((8,), data=p)
            A[0] = T.float32(1)

    made = InlinePrivateFunctions()(Module)
    assert sorted(var.name_hint for var in made.get_global_vars()) == ["kernel", "main"]
