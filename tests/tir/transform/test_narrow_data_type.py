import pytest

import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.functor import walk
from tvm.tir.transform import NarrowDataType

pytestmark = pytest.mark.pure


class TestLoopAndIndices(PassTest):
    run = NarrowDataType(32)

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(T.int64(16)):
            for j in range(T.int64(4)):
                if i * T.int64(4) + j < T.int64(60):
                    B[i * T.int64(4) + j] = A[(i * T.int64(12) + j) % T.int64(64)]

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(16):
            for j in range(4):
                if i * 4 + j < 60:
                    B[i * 4 + j] = A[(i * 12 + j) % 64]


class TestDataKeepsItsType(PassTest):
    """A variable in a value that needs 64 bits has 64 bits, in indices too."""

    run = NarrowDataType(32)

    @T.prim_func
    def Before(B: T.Buffer((16,), "int64")):
        for i in range(T.int64(16)):
            B[i] = i * T.int64(1 << 40)

    @T.prim_func
    def Expected(B: T.Buffer((16,), "int64")):
        for i in range(T.int64(16)):
            B[i] = i * T.int64(1 << 40)


class TestIndicesOfLargeData(PassTest):
    """How large data are says nothing of the places where they stand."""

    run = NarrowDataType(32)

    @T.prim_func
    def Before(A: T.Buffer((16,), "int64")):
        for i in range(T.int64(15)):
            A[i + T.int64(1)] = A[i] + T.int64(1)

    @T.prim_func
    def Expected(A: T.Buffer((16,), "int64")):
        for i in range(15):
            A[i + 1] = A[i] + T.int64(1)


class TestBlocks(PassTest):
    run = NarrowDataType(32)

    @T.prim_func
    def Before(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        for i in range(T.int64(16)):
            for j in range(T.int64(8)):
                with T.block("b"):
                    vi = T.axis.spatial(T.int64(128), i * T.int64(8) + j)
                    T.where(i * T.int64(8) + j < T.int64(100))
                    B[vi] = A[vi] + T.float32(1)

    @T.prim_func
    def Expected(A: T.Buffer((128,), "float32"), B: T.Buffer((128,), "float32")):
        for i in range(16):
            for j in range(8):
                with T.block("b"):
                    vi = T.axis.spatial(128, i * 8 + j)
                    T.where(i * 8 + j < 100)
                    B[vi] = A[vi] + T.float32(1)


class TestThreads(PassTest):
    run = NarrowDataType(32)
    same_results = False  # nobody runs threads here

    @T.prim_func
    def Before(A: T.Buffer((128,), "float32")):
        bx = T.launch_thread("blockIdx.x", T.int64(4))
        tx = T.launch_thread("threadIdx.x", T.int64(32))
        A[bx * T.int64(32) + tx] = 0.0

    @T.prim_func
    def Expected(A: T.Buffer((128,), "float32")):
        bx = T.launch_thread("blockIdx.x", 4)
        tx = T.launch_thread("threadIdx.x", 32)
        A[bx * 32 + tx] = 0.0


class TestThreadsThatReduce(PassTest):
    run = NarrowDataType(32)

    @T.prim_func
    def Before(A: T.Buffer((T.int64(8),), "int64"), B: T.Buffer((1,), "int64")):
        tx = T.launch_thread("threadIdx.x", T.int64(8))
        r = T.decl_buffer((1,), "int64", scope="local")
        with T.attr(T.comm_reducer(lambda a, b: a + b, [T.int64(0)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), tx, True, r[0], tx)
        if tx == T.int64(0):
            B[0] = r[0]

    @T.prim_func
    def Expected(A: T.Buffer((T.int64(8),), "int64"), B: T.Buffer((1,), "int64")):
        tx = T.launch_thread("threadIdx.x", 8)
        r = T.decl_buffer((1,), "int64", scope="local")
        with T.attr(T.comm_reducer(lambda a, b: a + b, [T.int64(0)]), "reduce_scope", 0):
            T.tvm_thread_allreduce(T.uint32(1), T.Cast("int64", tx), True, r[0], tx)
        if tx == 0:
            B[0] = r[0]


class TestOneLargeIndexKeepsAllItsVariables(PassTest):
    run = NarrowDataType(32)
    same_results = False  # it would run for long

    @T.prim_func
    def Before(A: T.Buffer((T.int64(1) << T.int64(32),), "float32")):
        for i in range(T.int64(65536)):
            for j in range(T.int64(65536)):
                A[i * T.int64(65536) + j] = 0.0

    Expected = Before


class TestKeepsWhatMayNotFit(PassTest):
    run = NarrowDataType(32)
    same_results = False  # it would run for long

    @T.prim_func
    def Before(A: T.Buffer((T.int64(1) << T.int64(40),), "float32")):
        for i in range(T.int64(1) << T.int64(33)):
            A[i * T.int64(2)] = 0.0

    Expected = Before


class TestSymbolicSizes(PassTest):
    run = NarrowDataType(32)

    @T.prim_func
    def Before(a: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,))
        for i in range(n):
            for j in range(T.int64(1)):
                A[i + j] = 0.0

    def test_unknown_sizes_stay(self):
        loops = [x for x in walk(self._after()["main"].body) if type(x).__name__ == "For"]
        assert [str(x.loop_var.dtype) for x in loops] == ["int64", "int64"]


@pytest.mark.parametrize(
    ("extent", "bits", "dtype"), [(2, 32, "int32"), (2, 16, "int16"), (1 << 17, 32, "int64")]
)
def test_thread_variable_and_wide_extent_get_one_type(extent, bits, dtype):
    @T.prim_func(private=True)
    def before(a: T.handle):
        A = T.match_buffer(a, (T.int64(extent) * T.int64(extent),), "float32")
        bx = T.launch_thread("blockIdx.x", T.int64(extent))
        tx = T.launch_thread("threadIdx.x", T.int64(extent))
        A[bx * T.int64(extent) + tx] = T.float32(1)

    # the variables of threads are 32 bits wide where programs are built by statements
    outer, inner = before.body, before.body.body
    small = [tir.Var(attr.node.var.name, "int32") for attr in (outer, inner)]
    store = tir.stmt_functor.substitute(
        inner.body,
        {attr.node.var: v.astype("int64") for attr, v in zip((outer, inner), small)},
    )
    for attr, var in ((inner, small[1]), (outer, small[0])):
        axis = tir.IterVar(None, var, attr.node.iter_type, attr.node.thread_tag)
        store = tir.AttrStmt(axis, "thread_extent", attr.value, store)
    mod = tvm.IRModule({"main": before.with_body(store)})
    body = NarrowDataType(bits)(mod)["main"].body
    for attr in (body, body.body):
        assert attr.node.var.dtype == dtype
        assert attr.value.dtype == dtype
    (index,) = body.body.body.indices
    assert index.dtype == dtype
    assert not any(isinstance(n, tir.Cast) for n in walk(index))
