import pytest

from tvm.ir.module import IRModule
from tvm.ir.structural import assert_structural_equal
from tvm.ir.transform import PassContext, Sequential
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.transform import LoopPartition, LowerOpaqueBlock, RemoveNoOp, Simplify

pytestmark = pytest.mark.pure


class TestTail(PassTest):
    run = LoopPartition(folds=True)

    @T.prim_func
    def Before(a: T.handle, b: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        B = T.match_buffer(b, (n,))
        for i, j in T.grid((n + 7) // 8, 8):
            if T.likely(i * 8 + j < n):
                B[i * 8 + j] = A[i * 8 + j] + 1.0

    def test_main_loop_has_no_guard(self):
        main, rest = self._after()["main"].body.seq
        assert type(main.body.body).__name__ == "BufferStore"
        assert type(rest.body.body).__name__ == "IfThenElse"


class TestBothEndsWithHint(PassTest):
    run = Sequential([LowerOpaqueBlock(), LoopPartition(folds=True)])

    @T.prim_func
    def Before(A: T.Buffer((37,), "float32"), B: T.Buffer((37,), "float32")):
        for i in T.serial(37, annotations={"pragma_loop_partition_hint": 1}):
            B[i] = T.if_then_else(i >= 3 and i < 35, A[i - 3], T.float32(0))

    def test_three_parts(self):
        parts = self._after()["main"].body.seq
        assert [int(p.extent) for p in parts] == [3, 32, 2]
        assert type(parts[1].body.value).__name__ == "BufferLoad"


@T.prim_func
def guarded(A: T.Buffer((60,), "float32")):
    for i, j in T.grid(8, 8):
        if T.likely(i * 8 + j < 60):
            A[i * 8 + j] = 0.0


def test_constant_loops_only_on_request():
    mod = IRModule.from_expr(guarded)
    assert type(LoopPartition()(mod)["guarded"].body).__name__ == "For"
    with PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}}):
        body = LoopPartition()(mod)["guarded"].body
    assert type(body).__name__ == "SeqStmt"


class TestKeepsGuardsOnData(PassTest):
    run = LoopPartition()

    @T.prim_func
    def Before(a: T.handle, P: T.Buffer((8,), "int32")):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        for i in range(n):
            if P[i % 8] + i < n:
                A[i] = 0.0

    Expected = Before


def lowered(func, **config) -> str:
    with PassContext(config={"tir.LoopPartition": config}):
        return Sequential([LowerOpaqueBlock(), LoopPartition(), Simplify()])(
            IRModule({"main": func})
        ).script()


class TestRangesThatExcludeEachOther(PassTest):
    run = Sequential([LowerOpaqueBlock(), LoopPartition(), Simplify()])

    @T.prim_func
    def Before(A: T.Buffer((64,), "int8"), B: T.Buffer((64,), "int8"), C: T.Buffer((96,), "int8")):
        for i in T.serial(96, annotations={"pragma_loop_partition_hint": 1}):
            if 64 <= i:
                C[i] = A[i - 64]
            if 32 <= i and i < 64:
                C[i] = B[i - 32]
            if i < 32:
                C[i] = A[i]

    @T.prim_func
    def Expected(
        A: T.Buffer((64,), "int8"), B: T.Buffer((64,), "int8"), C: T.Buffer((96,), "int8")
    ):
        for i in range(32):
            C[i] = A[i]
        for i in range(32):
            C[i + 32] = B[i]
        for i in range(32):
            C[i + 64] = A[i]


class TestChainOfBranches(PassTest):
    run = Sequential([LowerOpaqueBlock(), LoopPartition(), Simplify()])

    @T.prim_func
    def Before(A: T.Buffer((16,), "float32")):
        for i in T.serial(16, annotations={"pragma_loop_partition_hint": 1}):
            if i < 3:
                A[i] = 1.0
            elif i < 14:
                A[i] = 2.0
            else:
                A[i] = 3.0

    @T.prim_func
    def Expected(A: T.Buffer((16,), "float32")):
        for i in range(3):
            A[i] = 1.0
        for i in range(11):
            A[i + 3] = 2.0
        for i in range(2):
            A[i + 14] = 3.0


def test_single_iterations_stay_loops_on_request() -> None:
    @T.prim_func
    def last(A: T.Buffer((16,), "float32")):
        for i in T.serial(16, annotations={"pragma_loop_partition_hint": 1}):
            if i < 15:
                A[i] = 1.0

    assert "range(1)" not in lowered(last)
    assert "range(1)" in lowered(last, no_unroll_loop_with_extent_one=True)


def test_loops_that_cannot_be_cut_are_unrolled_on_request() -> None:
    @T.prim_func
    def func(A: T.Buffer((10, 7), "float32")):
        for i in T.serial(10, annotations={"pragma_loop_partition_hint": 1}):
            for j in range(7):
                if 3 <= i * 2 + j and i * 2 + j < 20:
                    A[i, j] = 1.0

    unrolled = lowered(func, unroll_loop_with_partition_hint_no_interval=True)
    assert "unroll" not in lowered(func)
    assert "T.unroll(2)" in unrolled  # the first iterations
    assert "T.unroll(3)" in unrolled  # the last ones
    assert "T.grid(5, 7)" in unrolled  # nothing is left to cut: it stays a loop


def test_a_loop_without_a_bound_on_its_variable_is_never_unrolled() -> None:
    @T.prim_func
    def func(A: T.Buffer((16,), "float32"), n: T.int32):
        for i in T.serial(16, annotations={"pragma_loop_partition_hint": 1}):
            if n < 15:
                A[i] = 1.0

    assert "range(16)" in lowered(func, unroll_loop_with_partition_hint_no_interval=True)


HINTED = {"pragma_loop_partition_hint": True}


def partitioned(func, **config) -> str:
    with PassContext(config={"tir.LoopPartition": config}):
        passes = Sequential([LowerOpaqueBlock(), LoopPartition(), Simplify(), RemoveNoOp()])
        return passes(IRModule.from_expr(func)).script()


def test_a_loop_is_cut_at_the_first_value() -> None:
    @T.prim_func
    def func(A: T.Buffer((12,), "int32")):
        for i in T.serial(12, annotations=HINTED):
            if i == 0:
                A[i] = 1
            else:
                A[i] = 2

    text = partitioned(func)
    assert "A[0] = 1\n        for i in range(11):\n            A[i + 1] = 2" in text


def test_a_loop_is_cut_at_the_last_value_and_in_the_middle() -> None:
    @T.prim_func
    def func(A: T.Buffer((12,), "int32")):
        for i in range(12):
            if T.likely(i != 11):
                A[i] = 1
            if T.likely(i * 2 == 8):
                A[i] = 2

    text = partitioned(func, partition_const_loop=True)
    assert "if" not in text
    assert "A[4] = 1\n        A[4] = 2\n" in text


def test_values_that_are_never_met_cut_nothing() -> None:
    @T.prim_func
    def func(A: T.Buffer((12,), "int32")):
        for i in T.serial(12, annotations=HINTED):
            if i * 2 == 7:
                A[i] = 1

    passes = Sequential([LowerOpaqueBlock(), LoopPartition()])
    assert "for i in range(12)" in passes(IRModule.from_expr(func)).script()


def test_what_is_to_be_ignored_cuts_nothing() -> None:
    @T.prim_func
    def func(A: T.Buffer((12,), "int32")):
        for i in range(12):
            if T.ignore_loop_partition(i < 4):
                A[i] = 1

    text = partitioned(func, partition_const_loop=True)
    assert "for i in range(12):\n            if i < 4:" in text


def test_a_guard_with_another_side_cuts_too() -> None:
    @T.prim_func
    def func(A: T.Buffer((112,), "int32")):
        for i in range(5):
            if T.likely(i * 24 + 24 > 112):
                A[111] = i
            else:
                A[i * 24 + 23] = i

    text = partitioned(func, partition_const_loop=True)
    assert "for i in range(4):\n            A[i * 24 + 23] = i\n        A[111] = 4" in text


def test_a_loop_is_cut_where_its_guard_always_fails() -> None:
    @T.prim_func
    def func(A: T.Buffer((20,), "int32")):
        for i, j in T.grid(4, 5):
            if T.likely(i * 5 - j * 3 >= 14):
                A[i * 5 + j] = 1
            else:
                A[i * 5 + j] = 2

    text = partitioned(func, partition_const_loop=True)
    assert "for i, j in T.grid(3, 5):\n            A[i * 5 + j] = 2" in text


def test_the_last_part_of_a_loop_is_cut_in_its_inner_loops() -> None:
    @T.prim_func
    def func(A: T.Buffer((47,), "int32")):
        for i, j, k in T.grid(5, 2, 5):
            if T.likely(i * 10 + j * 5 + k < 47):
                A[i * 10 + j * 5 + k] = 1

    assert "if " not in partitioned(func, partition_const_loop=True)


def test_a_symbolic_loop_within_a_constant_one_is_cut_at_a_guard_with_another_side() -> None:
    @T.prim_func
    def func(a: T.handle, m: T.int32):
        n = T.int32()
        A = T.match_buffer(a, (n,), "int32")
        for i, j, k in T.grid(3, n, m):
            if T.likely(i * m + j + k < n):
                A[j] = 1
            else:
                A[j] = 2

    func = LoopPartition(folds=True)(IRModule.from_expr(func))["func"]
    main, rest = func.body.body.seq
    assert type(main.body.body).__name__ == "BufferStore"
    assert type(rest.body.body).__name__ == "IfThenElse"


@T.prim_func(private=True)
def tail_of_open_extent(A: T.Buffer((100,), "float32"), n: T.int32):
    for i in range(4, n):
        if T.likely(i < 9):
            A[i] = 1.0


@T.prim_func(private=True)
def tail_apart(A: T.Buffer((100,), "float32"), n: T.int32):
    for i in range(T.max(T.min(9, n) - 4, 0)):
        A[i + 4] = 1.0
    for i in range(n - T.max(T.min(9, n), 4)):
        if i + T.max(T.min(9, n), 4) < 9:
            A[i + T.max(T.min(9, n), 4)] = 1.0


def test_no_part_is_before_a_guard_that_holds_from_the_first_iteration_on() -> None:
    after = LoopPartition(folds=True)(IRModule({"main": tail_of_open_extent}))["main"]
    assert_structural_equal(after, tail_apart)


class TestVectorizedAndAnnotatedLoops(PassTest):
    """Vectors are cut, too; a loop that says something of its own stays, whatever its extent."""

    @staticmethod
    def run(mod: IRModule) -> IRModule:
        with PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}}):
            return Sequential([LoopPartition(), Simplify(), RemoveNoOp()])(mod)

    @T.prim_func
    def Before(A: T.Buffer((160,), "float32")):
        for i in T.serial(16, annotations={"key": 1}):
            for j in T.vectorized(8):
                if T.likely(i * 8 + j < 100):
                    A[i * 8 + j] = 1.0

    @T.prim_func
    def Expected(A: T.Buffer((160,), "float32")):
        for i in T.serial(12, annotations={"key": 1}):
            for j in T.vectorized(8):
                A[i * 8 + j] = 1.0
        for _ in T.serial(1, annotations={"key": 1}):
            for j in T.vectorized(4):
                A[j + 96] = 1.0


class TestChoicesStayAsTheyStand(PassTest):
    """What is marked as likely is one term; what it decides stays, for `Simplify` to tidy."""

    @staticmethod
    def run(mod: IRModule) -> IRModule:
        with PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}}):
            return LoopPartition()(mod)

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), n: T.int32):
        for i in range(5):
            if T.likely(i * 4 + 2 < 18):
                A[i * 4] = 1.0
        for i in range(16):
            if T.likely(i < 12 and n > 3):
                A[i] = 2.0

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), n: T.int32):
        for i in range(4):
            if T.bool(True):
                A[i * 4] = 1.0
        if T.LT(T.Add(0, 4) * 4 + 2, 18):
            A[T.Add(0, 4) * 4] = 1.0
        for i in range(16):
            if i < 12 and n > 3:
                A[i] = 2.0


class TestBlocksChooseBetweenParts(PassTest):
    """The axis of blocks is no loop: each block asks once in which part it is."""

    @staticmethod
    def run(mod: IRModule) -> IRModule:
        with PassContext(config={"tir.LoopPartition": {"partition_const_loop": True}}):
            return Sequential([LoopPartition(), Simplify()])(mod)

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), n: T.int32):
        bx = T.launch_thread("blockIdx.x", 8)
        for k in range(4):
            if T.likely(bx * 4 + k < n):
                A[bx * 4 + k] = 1.0

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), n: T.int32):
        bx = T.launch_thread("blockIdx.x", 8)
        if bx < n // 4:
            for k in range(4):
                A[bx * 4 + k] = 1.0
        else:
            for k in range(4):
                if bx * 4 + k < n:
                    A[bx * 4 + k] = 1.0


class TestGuardsHoldForAllThreads(PassTest):
    """A loop of threads side by side is cut where the guard holds for each of them."""

    run = TestBlocksChooseBetweenParts.run

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        for k in range(4):
            if T.likely(tx * 4 + k < 30):
                A[tx * 4 + k] = 1.0

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32")):
        tx = T.launch_thread("threadIdx.x", 8)
        for k in range(2):
            A[tx * 4 + k] = 1.0
        for k in range(2):
            if tx < 7:
                A[tx * 4 + k + 2] = 1.0
