import pytest

import tvm
from tvm.ir import IRModule, assert_structural_equal
from tvm.ir.transform import Sequential
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir import Allocate
from tvm.tir.functor import walk
from tvm.tir.transform import CompactBufferAllocation, LowerOpaqueBlock, Simplify

pytestmark = pytest.mark.pure

COMPACT = Sequential([CompactBufferAllocation(), Simplify()])  # indices are moved as they are


class TestRow(PassTest):
    run = COMPACT

    @T.prim_func
    def Before(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for i in range(16):
            with T.block(""):
                T.reads(A[i, 0:16])
                T.writes(C[i, 0:16])
                B = T.alloc_buffer((16, 16))
                for j in range(16):
                    B[i, j] = A[i, j] + 1.0
                for j in range(16):
                    C[i, j] = B[i, j] * 2.0

    @T.prim_func
    def Expected(A: T.Buffer((16, 16), "float32"), C: T.Buffer((16, 16), "float32")):
        for i in range(16):
            with T.block(""):
                T.reads(A[i, 0:16])
                T.writes(C[i, 0:16])
                B = T.alloc_buffer((1, 16))
                for j in range(16):
                    B[0, j] = A[i, j] + 1.0
                for j in range(16):
                    C[i, j] = B[0, j] * 2.0


class TestWindow(PassTest):
    """Neighbours read with a halo: the union of overlapping boxes."""

    run = COMPACT

    @T.prim_func
    def Before(A: T.Buffer((18,), "float32"), C: T.Buffer((16,), "float32")):
        for i in range(4):
            with T.block(""):
                T.reads(A[i * 4 : i * 4 + 6])
                T.writes(C[i * 4 : i * 4 + 4])
                B = T.alloc_buffer((18,))
                for j in range(6):
                    B[i * 4 + j] = A[i * 4 + j]
                for j in range(4):
                    C[i * 4 + j] = B[i * 4 + j] + B[i * 4 + j + 2]

    @T.prim_func
    def Expected(A: T.Buffer((18,), "float32"), C: T.Buffer((16,), "float32")):
        for i in range(4):
            with T.block(""):
                T.reads(A[i * 4 : i * 4 + 6])
                T.writes(C[i * 4 : i * 4 + 4])
                B = T.alloc_buffer((6,))
                for j in range(6):
                    B[j] = A[i * 4 + j]
                for j in range(4):
                    C[i * 4 + j] = B[j] + B[j + 2]


class TestSymbolic(PassTest):
    run = COMPACT

    @T.prim_func
    def Before(a: T.handle, c: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n, n))
        C = T.match_buffer(c, (n, n))
        for i in range(n):
            with T.block(""):
                T.reads(A[i, 0:n])
                T.writes(C[i, 0:n])
                B = T.alloc_buffer((n, n))
                for j in range(n):
                    B[i, j] = A[i, j]
                for j in range(n):
                    C[i, j] = B[i, n - 1 - j]

    def test_shape(self):
        inner = self._after()["main"].body
        while not hasattr(inner, "block"):
            inner = inner.body
        (buffer,) = inner.block.alloc_buffers or inner.block.body.body.block.alloc_buffers
        assert int(buffer.shape[0]) == 1
        assert not isinstance(buffer.shape[1], int)


class TestConditionsNarrow(PassTest):
    """What a condition keeps from being used needs no room."""

    run = CompactBufferAllocation()

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        with T.block(""):
            T.reads(A[0:16])
            T.writes(C[0:16])
            B = T.alloc_buffer((16,))
            for i in range(16):
                if i >= 4 and i < 10:
                    B[i] = A[i]
            for i in range(16):
                C[i] = T.if_then_else(i < 10 and 4 <= i, B[i], T.float32(0))

    @T.prim_func
    def Expected(A: T.Buffer((16,), "float32"), C: T.Buffer((16,), "float32")):
        with T.block(""):
            T.reads(A[0:16])
            T.writes(C[0:16])
            B = T.alloc_buffer((6,))
            for i in range(16):
                if i >= 4 and i < 10:
                    B[i - 4] = A[i]
            for i in range(16):
                C[i] = T.if_then_else(i < 10 and 4 <= i, B[i - 4], T.float32(0))


class TestKeepsDataDependentIndices(PassTest):
    """Which elements are used is known only when the program runs."""

    run = COMPACT

    @T.prim_func
    def Before(P: T.Buffer((8,), "int32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block(""):
                T.reads(P[0:8])
                T.writes(C[i])
                B = T.alloc_buffer((8,))
                for j in range(8):
                    B[P[j]] = 1.0
                C[i] = B[P[i]]
        for i in range(8):
            with T.block(""):
                T.reads(P[i])
                T.writes(C[i], P[i])
                B = T.alloc_buffer((8,))
                B[P[i]] = 1.0
                P[i] = i
                C[i] = B[P[i]]

    Expected = Before


class TestOneElementThatMemoryNames(PassTest):
    """Memory that nothing writes names the same element in the whole block."""

    run = COMPACT

    @T.prim_func
    def Before(P: T.Buffer((8,), "int32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block(""):
                T.reads(P[i])
                T.writes(C[i])
                B = T.alloc_buffer((8,))
                B[P[i]] = 1.0
                C[i] = B[P[i]]

    @T.prim_func
    def Expected(P: T.Buffer((8,), "int32"), C: T.Buffer((8,), "float32")):
        for i in range(8):
            with T.block(""):
                T.reads(P[i])
                T.writes(C[i])
                B = T.alloc_buffer((1,))
                B[T.min(P[i], 0)] = 1.0
                C[i] = B[T.min(P[i], 0)]


class TestWhatMayBeWrittenByAnotherName(PassTest):
    """P and C may be the same memory, as nothing says that they are not."""

    run = COMPACT

    @T.prim_func
    def Before(P: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
        for i in range(8):
            with T.block(""):
                T.reads(P[i])
                T.writes(C[i])
                B = T.alloc_buffer((8,), "int32")
                B[P[i]] = 1
                C[i] = 2
                C[i] = B[P[i]]

    Expected = Before


class TestPadsRows(PassTest):
    """`buffer_dim_align`: the stride of axis 0 is 1 more than a multiple of 8."""

    run = COMPACT
    same_results = True

    @T.prim_func
    def Before(A: T.Buffer((4, 16), "float32"), C: T.Buffer((16, 4), "float32")):
        with T.block(""):
            T.reads(A[0:4, 0:16])
            T.writes(C[0:16, 0:4])
            B = T.alloc_buffer((4, 16))
            for i, j in T.grid(4, 16):
                with T.block("B"):
                    T.reads(A[i, j])
                    T.writes(B[i, j])
                    T.block_attr({"buffer_dim_align": [[0, 0, 8, 1]]})
                    B[i, j] = A[i, j]
            for j, i in T.grid(16, 4):
                C[j, i] = B[i, j]

    def test_strides(self):
        block = self._after()["main"].body.block
        (buffer,) = block.alloc_buffers or block.body.block.alloc_buffers
        assert [int(x) for x in buffer.strides] == [17, 1]


class TestNoElementInSomeIterations(PassTest):
    """The part in use has at most the extent: it is constant, and not `1 - i`."""

    run = CompactBufferAllocation()

    @T.prim_func
    def Before(A: T.Buffer((1, 4), "float32"), C: T.Buffer((1, 4), "float32")):
        for i in range(3):
            with T.block(""):
                T.where(i < 1)
                B = T.alloc_buffer((1, 4))
                for j in range(1):
                    if i + j < 1:
                        B[i + j, 0] = A[i + j, 0] + 1.0
                for j in range(1):
                    if i + j < 1:
                        C[i + j, 0] = B[i + j, 0] * 2.0

    @T.prim_func
    def Expected(A: T.Buffer((1, 4), "float32"), C: T.Buffer((1, 4), "float32")):
        for i in range(3):
            with T.block(""):
                T.where(i < 1)
                B = T.alloc_buffer((1, 1))
                for j in range(1):
                    if i + j < 1:
                        B[i + j, 0] = A[i + j, 0] + 1.0
                for j in range(1):
                    if i + j < 1:
                        C[i + j, 0] = B[i + j, 0] * 2.0


class TestWarps(PassTest):
    """Lanes read each other's parts."""

    run = COMPACT

    @T.prim_func
    def Before(A: T.Buffer((24, 10), "float32"), B: T.Buffer((24, 10), "float32")):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("b"):
                    T.reads(A[b * 8 + t, 0:10])
                    T.writes(B[b * 8 + t, 0:10])
                    R = T.alloc_buffer((24, 10), scope="warp")
                    for j in range(10):
                        R[b * 8 + t, j] = A[b * 8 + t, j]
                    for j in range(10):
                        B[b * 8 + t, j] = R[b * 8 + t, j]

    @T.prim_func
    def Expected(A: T.Buffer((24, 10), "float32"), B: T.Buffer((24, 10), "float32")):
        for b in T.thread_binding(3, thread="blockIdx.x"):
            for t in T.thread_binding(8, thread="threadIdx.x"):
                with T.block("b"):
                    T.reads(A[b * 8 + t, 0:10])
                    T.writes(B[b * 8 + t, 0:10])
                    R = T.alloc_buffer((8, 10), scope="warp")
                    for j in range(10):
                        R[t, j] = A[b * 8 + t, j]
                    for j in range(10):
                        B[b * 8 + t, j] = R[t, j]


class TestWhereNeitherHolds(PassTest):
    run = CompactBufferAllocation()

    @T.prim_func
    def Before(A: T.Buffer((40, 40), "float32"), B: T.Buffer((40, 40), "float32")):
        with T.block("root"):
            T.reads(A[0:40, 0:40])
            T.writes(B[0:40, 0:40])
            U = T.alloc_buffer((40, 40))
            V = T.alloc_buffer((40, 40))
            for i, j in T.grid(40, 40):
                if i < 10 or j < 10:
                    U[i, j] = A[i, j]
                else:
                    V[i, j] = A[i, j]
            for i, j in T.grid(40, 40):
                if not (i >= 10 and j >= 10):
                    B[i, j] = U[i, j]
                else:
                    B[i, j] = V[i, j]

    @T.prim_func
    def Expected(A: T.Buffer((40, 40), "float32"), B: T.Buffer((40, 40), "float32")):
        with T.block("root"):
            T.reads(A[0:40, 0:40])
            T.writes(B[0:40, 0:40])
            U = T.alloc_buffer((40, 40))
            V = T.alloc_buffer((30, 30))
            for i, j in T.grid(40, 40):
                if i < 10 or j < 10:
                    U[i, j] = A[i, j]
                else:
                    V[i - 10, j - 10] = A[i, j]
            for i, j in T.grid(40, 40):
                if not (i >= 10 and j >= 10):
                    B[i, j] = U[i, j]
                else:
                    B[i, j] = V[i - 10, j - 10]


class TestNumbersAsConditions(PassTest):
    run = COMPACT

    @T.prim_func
    def Before(A: T.Buffer((8,), "int32")):
        for q in range(8):
            D = T.allocate([14], "int32")
            R = T.Buffer((14,), "int32", data=D)
            for k in range(8):
                if k:
                    R[k] = A[k] + q
                    A[k] = R[k]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "int32")):
        for q in range(8):
            D = T.allocate([7], "int32")
            R = T.Buffer((7,), "int32", data=D)
            for k in range(8):
                if k:
                    R[k - 1] = A[k] + q
                    A[k] = R[k - 1]


class TestSeveralBuffersOverOneMemory(PassTest):
    run = COMPACT

    @T.prim_func
    def Before(A: T.Buffer((8,), "int32")):
        for q in range(8):
            D = T.allocate([8], "int32")
            R = T.Buffer((8,), "int32", data=D)
            S = T.Buffer((8,), "uint32", data=D)
            R[q] = A[q]
            A[q] = T.Cast("int32", S[q])

    Expected = Before


@T.prim_func
def rows(A: T.Buffer((12, 10), "float32"), B: T.Buffer((12, 10), "float32")):
    for i in range(12):
        with T.block("b"):
            T.reads(A[i, 0:10])
            T.writes(B[i, 0:10])
            R = T.alloc_buffer((12, 10))
            for j in range(10):
                R[i, j] = A[i, j]
            for j in range(10):
                B[i, j] = R[i, j]


@T.prim_func
def shared_rows(A: T.Buffer((24, 16), "float32"), B: T.Buffer((24, 16), "float32")):
    for b in T.thread_binding(3, thread="blockIdx.x"):
        for t in T.thread_binding(8, thread="threadIdx.x"):
            with T.block("b"):
                T.reads(A[b * 8 + t, 0:16])
                T.writes(B[b * 8 + t, 0:16])
                R = T.alloc_buffer((24, 16), scope="shared")
                for j in range(16):
                    with T.block("copy"):
                        T.reads(A[b * 8 + t, j])
                        T.writes(R[b * 8 + t, j])
                        T.block_attr({"buffer_dim_align": [[0, 0, 16, 15]]})
                        R[b * 8 + t, j] = A[b * 8 + t, j]
                for j in range(16):
                    B[b * 8 + t, j] = R[b * 8 + t, j]


@T.prim_func
def symbolic_rows(a: T.handle, b: T.handle, n: T.int32):
    A = T.match_buffer(a, (n * 8,))
    B = T.match_buffer(b, (n * 8,))
    for i in range(n):
        with T.block("b"):
            T.reads(A[i * 8 : i * 8 + 8])
            T.writes(B[i * 8 : i * 8 + 8])
            R = T.alloc_buffer((n * 8,))
            for j in range(8):
                R[i * 8 + j] = A[i * 8 + j]
            for j in range(8):
                B[i * 8 + j] = R[i * 8 + j]


@pytest.mark.parametrize(
    ("func", "size"), [(rows, [1, 10]), (shared_rows, [8, 31]), (symbolic_rows, [8])]
)
def test_blocks_may_be_gone_before(func, size):
    mod = IRModule({"main": func})
    before = CompactBufferAllocation()(LowerOpaqueBlock()(mod))
    after = LowerOpaqueBlock()(CompactBufferAllocation()(mod))
    assert_structural_equal(Simplify()(before), Simplify()(after))
    (memory,) = [n for n in walk(before["main"].body) if isinstance(n, Allocate)]
    assert [int(extent) for extent in memory.extents] == size


def test_memory_of_a_block_holds_what_all_its_threads_use():
    @T.prim_func
    def before(A: T.Buffer((64, 8), "float32"), B: T.Buffer((64, 8), "float32")):
        for bx in T.thread_binding(4, thread="blockIdx.x"):
            for tx in T.thread_binding(16, thread="threadIdx.x"):
                for k in range(8):
                    with T.block(""):
                        T.reads(A[bx * 16 + tx, k])
                        T.writes(B[bx * 16 + tx, k])
                        tile = T.alloc_buffer((64, 8), scope="shared")
                        own = T.alloc_buffer((64, 8), scope="local")
                        tile[bx * 16 + tx, k] = A[bx * 16 + tx, k]
                        own[bx * 16 + tx, k] = tile[bx * 16 + (15 - tx), k]
                        B[bx * 16 + tx, k] = own[bx * 16 + tx, k]

    func = tvm.tir.transform.CompactBufferAllocation()(tvm.IRModule({"main": before}))["main"]
    blocks = []
    tvm.tir.stmt_functor.post_order_visit(
        func.body, lambda n: blocks.append(n) if isinstance(n, tvm.tir.Block) else None
    )
    shapes = {b.name: [int(x) for x in b.shape] for n in blocks for b in n.alloc_buffers}
    assert shapes == {"tile": [16, 1], "own": [1, 1]}


def test_what_a_pointer_reaches():
    """The end of R is cut off; S would have to move, and stays."""

    @T.prim_func
    def before():
        with T.block("root"):
            T.reads()
            T.writes()
            R = T.alloc_buffer((90,))
            S = T.alloc_buffer((90,))
            U = T.alloc_buffer((90,))
            for i in range(30):
                with T.block("b"):
                    T.reads()
                    T.writes(R[i : i + 4], S[i + 8 : i + 12])
                    T.evaluate(T.call_extern("int32", "use", R.data, S.data, U.data))

    func = CompactBufferAllocation()(IRModule({"main": before}))["main"]
    sizes = {b.name: int(b.shape[0]) for b in func.body.block.alloc_buffers}
    assert sizes == {"R": 33, "S": 90, "U": 90}
