import pytest

from tvm import tir
from tvm.error import CheckError
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.script import tir as T
from tvm.testing.pass_test import PassTest
from tvm.tir.functor import walk
from tvm.tir.transform import UnrollLoop

pytestmark = pytest.mark.pure


class TestMarkedLoops(PassTest):
    run = UnrollLoop(folds=True)

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(16):
            for j in T.unroll(2):
                for k in T.unroll(2):
                    B[i * 4 + j * 2 + k] = A[i * 4 + j * 2 + k]

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(16):
            B[i * 4] = A[i * 4]
            B[i * 4 + 1] = A[i * 4 + 1]
            B[i * 4 + 2] = A[i * 4 + 2]
            B[i * 4 + 3] = A[i * 4 + 3]


class TestGuardsOfCopiesDecide(PassTest):
    """The first of two rows is there whenever the tile is."""

    run = UnrollLoop(folds=True)

    @T.prim_func
    def Before(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,), "float32")
        for i in range((n + 1) // 2):
            for j in T.unroll(2):
                if i * 2 + j < n:
                    A[i * 2 + j] = T.float32(0)

    @T.prim_func
    def Expected(a: T.handle, n: T.int32):
        A = T.match_buffer(a, (n,), "float32")
        for i in range((n + 1) // 2):
            A[i * 2] = T.float32(0)
            if i * 2 + 1 < n:
                A[i * 2 + 1] = T.float32(0)


class TestCopiesBindTheirOwnVariables(PassTest):
    run = UnrollLoop()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32")):
        for i in T.unroll(2):
            for j in range(4):
                A[i * 4 + j] = T.Cast("float32", j)

    def test_variables(self):
        loops = [n for n in walk(self._after()["main"].body) if type(n).__name__ == "For"]
        assert len(loops) == 2
        assert loops[0].loop_var is not loops[1].loop_var


class TestPragma(PassTest):
    run = UnrollLoop(folds=True)

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32")):
        with T.attr(0, "pragma_auto_unroll_max_step", 4):
            for i in range(2):
                for j in range(4):
                    A[i * 4 + j] = 0.0

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32")):
        for i in range(2):
            A[i * 4] = 0.0
            A[i * 4 + 1] = 0.0
            A[i * 4 + 2] = 0.0
            A[i * 4 + 3] = 0.0


@T.prim_func
def square(A: T.Buffer((16,), "float32")):
    for i in range(4):
        for j in range(4):
            A[i * 4 + j] = 0.0


def loops_of(mod: IRModule):
    return [n.kind.name for n in walk(mod["square"].body) if type(n).__name__ == "For"]


@pytest.mark.parametrize(
    ("config", "kinds"),
    [
        ({}, ["SERIAL", "SERIAL"]),
        ({"auto_max_step": 16}, []),
        ({"auto_max_step": 15}, ["SERIAL"]),
        ({"auto_max_extent": 4}, []),
        ({"auto_max_step": 16, "auto_max_depth": 0}, ["SERIAL"]),
        ({"auto_max_step": 16, "explicit_unroll": False}, ["UNROLLED", "UNROLLED"]),
        ({"auto_max_extent": 1, "explicit_unroll": False}, ["SERIAL", "SERIAL"]),
    ],
)
def test_limits(config, kinds):
    with PassContext(config={"tir.UnrollLoop": config}):
        assert loops_of(UnrollLoop()(IRModule.from_expr(square))) == kinds


def test_extents_may_be_literals_in_disguise():
    n = tir.SizeVar("n", "int32")
    ib = tir.ir_builder.create()
    with ib.for_range(n, n + 2) as i:
        ib.emit(tir.Evaluate(tir.call_extern("int32", "f", i)))
    mod = IRModule.from_expr(tir.PrimFunc([n], ib.get()))
    with PassContext(config={"tir.UnrollLoop": {"auto_max_step": 2}}):
        assert "for" not in UnrollLoop()(mod).script()


def test_a_single_iteration_is_written_out_without_explicit_unroll():
    ib = tir.ir_builder.create()
    with ib.for_range(0, 1) as i:
        ib.emit(tir.Evaluate(tir.call_extern("int32", "f", i)))
    mod = IRModule.from_expr(tir.PrimFunc([], ib.get()))
    with PassContext(config={"tir.UnrollLoop": {"auto_max_extent": 1, "explicit_unroll": False}}):
        assert isinstance(UnrollLoop()(mod)["main"].body, tir.Evaluate)


def test_a_single_iteration_is_written_out_whatever_is_in_it() -> None:
    @T.prim_func
    def func(A: T.Buffer((64,), "float32")):
        for i in range(1):
            A[i * 2] = 3.0
            for j in range(20):
                A[i + j] = 1.0

    config = {"auto_max_depth": 8, "auto_max_extent": 1, "explicit_unroll": False}
    with PassContext(config={"tir.UnrollLoop": config}):
        text = UnrollLoop(folds=True)(IRModule.from_expr(func)).script()
    assert "A[0] = T.float32(3.0)" in text
    assert "for j in range(20):\n            A[j]" in text


def test_each_copy_has_memory_of_its_own() -> None:
    @T.prim_func
    def func(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in T.unroll(2):
            for j in T.unroll(2):
                data = T.allocate([1], "float32", "local")
                held = T.Buffer((1,), data=data, scope="local")
                held[0] = A[i * 2 + j]
                B[i * 2 + j] = held[0] + held[0]

    body = UnrollLoop()(IRModule.from_expr(func))["func"].body
    owners = [node for node in walk(body) if isinstance(node, tir.Allocate)]
    assert len({owner.buffer_var for owner in owners}) == 4
    for owner in owners:
        uses = [node.buffer for node in walk(owner.body) if hasattr(node, "buffer")]
        local = [use for use in uses if use.scope() == "local"]
        assert len(set(local)) == 1
        assert local[0].data is owner.buffer_var


class TestNeighboursAreCountedAlone(PassTest):
    """The stores of one loop say nothing of the loop behind it."""

    @staticmethod
    def run(mod):
        with PassContext(config={"tir.UnrollLoop": {"auto_max_step": 4}}):
            return UnrollLoop()(mod)

    @T.prim_func
    def Before(A: T.Buffer((4,), "float32")):
        for i in range(3):
            A[i] = T.float32(1)
        for i in range(2):
            A[i] = T.float32(2)

    @T.prim_func
    def Expected(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1)
        A[1] = T.float32(1)
        A[2] = T.float32(1)
        A[0] = T.float32(2)
        A[1] = T.float32(2)


class TestIterationsAreWrittenAsTheyStand(PassTest):
    run = UnrollLoop()

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32")):
        for i in T.unroll(2):
            if i < 1:
                A[i * 3 + 4] = T.float32(0)

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32")):
        if T.LT(0, 1):
            A[T.Mul(0, 3) + 4] = T.float32(0)
        if T.LT(1, 1):
            A[T.Mul(1, 3) + 4] = T.float32(0)


def test_a_loop_marked_as_unrolled_has_a_constant_extent() -> None:
    @T.prim_func
    def func(A: T.Buffer((64,), "float32"), n: T.int32):
        for i in T.unroll(n):
            A[i] = T.float32(0)

    mod = IRModule.from_expr(func)
    with pytest.raises(CheckError, match="Cannot unroll non-constant loop"):
        UnrollLoop()(mod)
    assert "T.unroll(n)" in UnrollLoop(folds=True)(mod).script()
