import pytest

from tvm.ir.module import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.script import tir as T
from tvm.target import Target
from tvm.testing.pass_test import PassTest
from tvm.tir.functor import walk
from tvm.tir.transform import StorageRewrite

pytestmark = pytest.mark.pure


def sizes(mod):
    body = mod["main"].body
    return [int(n.extents[0]) for n in walk(body) if type(n).__name__ == "Allocate"]


class TestSharesAndMovesOut(PassTest):
    run = StorageRewrite()

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        for i in range(4):
            x_data = T.allocate([4], "float32", "global")
            x = T.decl_buffer((4,), data=x_data)
            y_data = T.allocate([4], "float32", "global")
            y = T.decl_buffer((4,), data=y_data)
            z_data = T.allocate([4], "float32", "global")
            z = T.decl_buffer((4,), data=z_data)
            for j in range(4):
                x[j] = A[i * 4 + j]
            for j in range(4):
                y[j] = x[3 - j]
            for j in range(4):
                z[j] = y[j] * 2.0
            for j in range(4):
                C[i * 4 + j] = z[3 - j]

    @T.prim_func
    def Expected(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        s_data = T.allocate([4], "float32", "global")
        x = T.decl_buffer((4,), data=s_data)
        t_data = T.allocate([4], "float32", "global")
        y = T.decl_buffer((4,), data=t_data)
        for i in range(4):
            z = T.decl_buffer((4,), data=t_data)
            for j in range(4):
                x[j] = A[i * 4 + j]
            for j in range(4):
                y[j] = x[3 - j]
            for j in range(4):
                z[j] = y[j] * 2.0
            for j in range(4):
                C[i * 4 + j] = z[3 - j]


class TestValuesCarriedByALoopStay(PassTest):
    """`total` is in use as long as the loop runs, so what the loop allocates is other memory."""

    run = StorageRewrite()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), C: T.Buffer((1,), "float32")):
        total_data = T.allocate([1], "float32", "global")
        total = T.decl_buffer((1,), data=total_data)
        total[0] = 0.0
        for i in range(8):
            t_data = T.allocate([1], "float32", "global")
            t = T.decl_buffer((1,), data=t_data)
            t[0] = A[i] * A[i]
            total[0] = total[0] + t[0]
        C[0] = total[0]

    def test_both_are_there(self):
        assert sizes(self._after()) == [1, 1]


class TestParallelLoopsKeepTheirScratch(PassTest):
    run = StorageRewrite()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        for i in T.parallel(8):
            t_data = T.allocate([1], "float32", "global")
            t = T.decl_buffer((1,), data=t_data)
            t[0] = A[i] * A[i]
            C[i] = t[0]

    def test_inside(self):
        body = self._after()["main"].body
        assert type(body).__name__ == "For"
        assert type(body.body).__name__ == "Allocate"


class TestLargerTakesOver(PassTest):
    run = StorageRewrite()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), C: T.Buffer((8,), "float32")):
        x_data = T.allocate([4], "float32", "global")
        x = T.decl_buffer((4,), data=x_data)
        y_data = T.allocate([8], "float32", "global")
        y = T.decl_buffer((8,), data=y_data)
        for i in range(4):
            x[i] = A[i]
        for i in range(4):
            C[i] = x[i]
        for i in range(8):
            y[i] = A[7 - i]
        for i in range(8):
            C[i] = C[i] + y[i]

    def test_size(self):
        assert sizes(self._after()) == [8]


class TestAliasesAreLeftAlone(PassTest):
    run = StorageRewrite()
    same_results = False

    @T.prim_func
    def Before(C: T.Buffer((4,), "float32")):
        x_data = T.allocate([4], "float32", "global")
        x = T.decl_buffer((4,), data=x_data)
        with T.LetStmt(T.address_of(x[0])) as p:
            T.evaluate(T.call_extern("int32", "fill", p))
            C[0] = x[0]

    Expected = Before


class TestSizesThatAreComputed(PassTest):
    """Memory moves as far out as its size is known."""

    run = StorageRewrite()
    same_results = False

    @T.prim_func
    def Before(n: T.int32):
        for t in T.parallel(n):
            for i in range(5):
                Ud = T.allocate([n], "float32", "global")
                U = T.Buffer((n,), data=Ud)
                U[i] = U[i] + T.float32(3)
                Vd = T.allocate([i + 1], "float32", "global")
                V = T.Buffer((i + 1,), data=Vd)
                V[i] = T.float32(3)

    @T.prim_func
    def Expected(n: T.int32):
        for t in T.parallel(n):
            Ud = T.allocate([n], "float32", "global")
            U = T.Buffer((n,), data=Ud)
            for i in range(5):
                U[i] = U[i] + T.float32(3)
                Vd = T.allocate([i + 1], "float32", "global")
                V = T.Buffer((i + 1,), data=Vd)
                V[i] = T.float32(3)


class TestBoundPointerToWholeVectors(PassTest):
    run = StorageRewrite()
    same_results = False  # the memory comes from elsewhere

    @T.prim_func
    def Before():
        p: T.handle("float32") = T.call_extern("handle", "memory_of_others")
        P = T.Buffer((16,), "float32", data=p)
        for i in range(3):
            P[T.Ramp(i * 4, 1, 4)] = P[T.Ramp(i * 4 + 4, 1, 4)]

    @T.prim_func
    def Expected():
        p: T.handle("float32x4") = T.call_extern("handle", "memory_of_others")
        P = T.Buffer((4,), "float32x4", data=p)
        for i in range(3):
            P[T.Div(i * 4, 4)] = P[T.Div(i * 4 + 4, 4)]


class TestBoundPointerThatScalarsReadToo(PassTest):
    run = StorageRewrite()
    same_results = False  # the memory comes from elsewhere

    @T.prim_func
    def Before():
        p: T.handle("float32") = T.call_extern("handle", "memory_of_others")
        P = T.Buffer((16,), "float32", data=p)
        P[T.Ramp(4, 1, 4)] = T.Broadcast(P[0], 4)

    Expected = Before


@pytest.mark.parametrize(("dtype", "lanes"), [("float32", 3), ("bool", 4)])
def test_bound_pointers_keep_elements_that_vectors_lay_out_otherwise(dtype, lanes):
    @T.prim_func
    def func():
        p: T.handle(dtype) = T.call_extern("handle", "memory_of_others")
        P = T.Buffer((lanes * 2,), dtype, data=p)
        P[T.Ramp(0, 1, lanes)] = P[T.Ramp(lanes, 1, lanes)]

    mod = IRModule.from_expr(func)
    assert_structural_equal(StorageRewrite()(mod), mod)


def test_local_memory_stays_in_its_loop_on_cpus():
    @T.prim_func
    def func(A: T.Buffer((4, 8), "float32"), B: T.Buffer((4, 8), "float32")):
        for i in range(4):
            data = T.allocate([8], "float32", "local")
            held = T.Buffer((8,), data=data, scope="local")
            for j in range(8):
                held[j] = A[i, j]
            for j in range(8):
                B[i, j] = held[7 - j]

    moved = StorageRewrite()(IRModule({"func": func}))["func"]
    assert type(moved.body).__name__ == "Allocate"
    on_cpu = func.with_attr("target", Target("llvm"))
    kept = StorageRewrite()(IRModule({"func": on_cpu}))["func"]
    assert type(kept.body).__name__ == "For"


def test_what_is_said_of_memory_is_no_access():
    @T.prim_func
    def func(P: T.Buffer((4,))):
        a = T.allocate([4], "float32", "global")
        T.attr(a, "volatile_scope", 1)
        A = T.Buffer((4,), data=a)
        P[0] = A[0]

    assert "volatile_scope" in StorageRewrite()(IRModule({"main": func})).script()
