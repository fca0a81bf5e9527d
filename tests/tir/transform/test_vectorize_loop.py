import numpy as np
import pytest

import tvm
from tvm.error import TVMError
from tvm.ir.module import IRModule
from tvm.ir.transform import PassContext
from tvm.script import tir as T
from tvm.target import Target
from tvm.testing.pass_test import PassTest
from tvm.tir.functor import walk
from tvm.tir.transform import VectorizeLoop

pytestmark = pytest.mark.pure


def with_predicates(mod: IRModule) -> IRModule:
    with PassContext(config={"tir.enable_buffer_level_predication": True}):
        return VectorizeLoop()(mod)


class TestContiguousAndUniform(PassTest):
    run = VectorizeLoop()

    @T.prim_func
    def Before(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), c: T.float32):
        for i in range(4):
            for j in T.vectorized(16):
                B[i * 16 + j] = A[i * 16 + j] * c

    @T.prim_func
    def Expected(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), c: T.float32):
        for i in range(4):
            B[T.Ramp(i * 16, 1, 16)] = A[T.Ramp(i * 16, 1, 16)] * T.Broadcast(c, 16)


class TestNoElements(PassTest):
    run = VectorizeLoop()

    @T.prim_func
    def Before(A: T.Buffer((0,), "float32")):
        for j in T.vectorized(0):
            A[j] = T.float32(1)

    @T.prim_func
    def Expected(A: T.Buffer((0,), "float32")):
        T.evaluate(0)


class TestLanesThatMeetInOne(PassTest):
    """The order of `|` does not matter; that of other operators may."""

    run = VectorizeLoop()

    @T.prim_func
    def Before(
        A: T.Buffer((16,), "int32"), B: T.Buffer((2,), "int32"), C: T.Buffer((2,), "int32")
    ):
        T.func_attr({"target": T.target("llvm")})
        for j in T.vectorized(16):
            B[0] = T.bitwise_or(B[0], A[j])
        for j in T.vectorized(16):
            B[1] = B[1] + A[j]
        for j in T.vectorized(16):  # of another tensor of this shape
            B[0] = T.bitwise_or(C[0], A[j])

    @T.prim_func
    def Expected(
        A: T.Buffer((16,), "int32"), B: T.Buffer((2,), "int32"), C: T.Buffer((2,), "int32")
    ):
        T.func_attr({"target": T.target("llvm")})
        B[0] = T.bitwise_or(B[0], T.vectoror("int32", A[0:16]))
        for j_s in range(16):
            B[1] = B[1] + A[j_s]
        for j_s in range(16):
            B[0] = T.bitwise_or(C[0], A[j_s])


class TestStridedAndDivided(PassTest):
    """A ramp within one multiple of the divisor has one quotient."""

    run = VectorizeLoop()

    @T.prim_func
    def Before(A: T.Buffer((4, 16), "float32"), B: T.Buffer((64,), "float32")):
        A_flat = T.Buffer((64,), data=A.data)
        for i in range(16):
            for j in T.vectorized(4):
                B[i * 4 + j] = A_flat[(i * 4 + j) % 16 * 4 + (i * 4 + j) // 16]

    @T.prim_func
    def Expected(A: T.Buffer((4, 16), "float32"), B: T.Buffer((64,), "float32")):
        A_flat = T.Buffer((64,), data=A.data)
        for i in range(16):
            B[T.Ramp(i * 4, 1, 4)] = A_flat[T.Ramp(i % 4 * 4 * 4 + i // 4, 4, 4)]


class TestSelectAndCast(PassTest):
    run = VectorizeLoop()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int32")):
        for j in T.vectorized(8):
            B[j] = T.Select(A[j] > 0.0, T.Cast("int32", A[j]), j)

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "int32")):
        B[T.Ramp(0, 1, 8)] = T.Select(
            A[T.Ramp(0, 1, 8)] > T.Broadcast(T.float32(0), 8),
            T.Cast("int32x8", A[T.Ramp(0, 1, 8)]),
            T.Ramp(0, 1, 8),
        )


class TestNarrowedRamp(PassTest):
    """A ramp whose lanes all fit is one of the narrower type: its access stays contiguous."""

    run = VectorizeLoop()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32"), B: T.Buffer((16,), "float32"), n: T.int64):
        for j in T.vectorized(T.int64(16)):
            B[T.Cast("int32", j)] = A[T.Cast("int32", j + n % T.int64(16))]

    @T.prim_func
    def Expected(A: T.Buffer((32,), "float32"), B: T.Buffer((16,), "float32"), n: T.int64):
        B[T.Ramp(0, 1, 16)] = A[T.Ramp(T.Cast("int32", n % T.int64(16)), 1, 16)]


class TestGuardBecomesPredicate(PassTest):
    run = with_predicates

    @T.prim_func
    def Before(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
        for i in range(4):
            for j in T.vectorized(4):
                if i * 4 + j < 14:
                    B[i * 4 + j] = A[i * 4 + j]

    def test_predicates(self):
        stmt = self._after()["main"].body.body
        assert type(stmt).__name__ == "BufferStore"
        assert stmt.predicate is not None
        assert stmt.value.predicate is not None


class TestGuardRunsLaneByLane(PassTest):
    run = VectorizeLoop()

    @T.prim_func
    def Before(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
        for i in range(4):
            for j in T.vectorized(4):
                if i * 4 + j < 14:
                    B[i * 4 + j] = A[i * 4 + j]

    @T.prim_func
    def Expected(A: T.Buffer((14,), "float32"), B: T.Buffer((14,), "float32")):
        for i in range(4):
            for j_s in range(4):
                if i * 4 + j_s < 14:
                    B[i * 4 + j_s] = A[i * 4 + j_s]


class TestScratchOfEachLane(PassTest):
    run = VectorizeLoop()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        for j in T.vectorized(8):
            t_data = T.allocate([2], "float32", "global")
            t = T.decl_buffer((2,), data=t_data)
            t[0] = A[j]
            t[1] = t[0] * 2.0
            B[j] = t[1]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), B: T.Buffer((8,), "float32")):
        t_data = T.allocate([16], "float32", "global")
        t = T.decl_buffer((16,), data=t_data)
        t[T.Ramp(0, 1, 8)] = A[T.Ramp(0, 1, 8)]
        t[T.Ramp(8, 1, 8)] = t[T.Ramp(0, 1, 8)] * T.Broadcast(T.float32(2), 8)
        B[T.Ramp(0, 1, 8)] = t[T.Ramp(8, 1, 8)]


class TestKeepsTheOrderOfAReduction(PassTest):
    run = VectorizeLoop()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
        for j in T.vectorized(8):
            B[0] = B[0] + A[j]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32"), B: T.Buffer((1,), "float32")):
        for j_s in range(8):
            B[0] = B[0] + A[j_s]


class TestLetAndInnerLoop(PassTest):
    run = VectorizeLoop()

    @T.prim_func
    def Before(A: T.Buffer((32,), "float32"), B: T.Buffer((8,), "float32")):
        for j in T.vectorized(8):
            for k in range(4):
                with T.LetStmt(A[k * 8 + j]) as x:
                    B[j] = B[j] + x * x

    @T.prim_func
    def Expected(A: T.Buffer((32,), "float32"), B: T.Buffer((8,), "float32")):
        for k in range(4):
            with T.LetStmt(A[T.Ramp(k * 8, 1, 8)]) as x:
                B[T.Ramp(0, 1, 8)] = B[T.Ramp(0, 1, 8)] + x * x


class TestManyLanesComeInPieces(PassTest):
    run = VectorizeLoop()

    @T.prim_func
    def Before(A: T.Buffer((768,), "float32")):
        for j in T.vectorized(768):
            A[j] = A[j] + 1.0

    @T.prim_func
    def Expected(A: T.Buffer((768,), "float32")):
        for j in range(12):
            A[T.Ramp(j * 64, 1, 64)] = A[T.Ramp(j * 64, 1, 64)] + T.Broadcast(T.float32(1), 64)


class TestEffectsHappenOnceALane(PassTest):
    run = VectorizeLoop()
    same_results = False

    @T.prim_func
    def Before(A: T.Buffer((4,), "float32")):
        for j in T.vectorized(4):
            T.evaluate(T.call_extern("int32", "touch", A.data))

    @T.prim_func
    def Expected(A: T.Buffer((4,), "float32")):
        for j_s in range(4):
            T.evaluate(T.call_extern("int32", "touch", A.data))


class TestSwitchedOff(PassTest):
    run = VectorizeLoop(enable_vectorize=False)

    @T.prim_func
    def Before(A: T.Buffer((4,), "float32")):
        for j in T.vectorized(4):
            A[j] = 1.0

    @T.prim_func
    def Expected(A: T.Buffer((4,), "float32")):
        for j in range(4):
            A[j] = 1.0


def test_rejects_an_extent_that_is_not_known():
    @T.prim_func
    def func(a: T.handle):
        n = T.int32()
        A = T.match_buffer(a, (n,))
        for j in T.vectorized(n):
            A[j] = 1.0

    with pytest.raises(
        TVMError, match="Failed to vectorize loop with extent n for target"
    ) as caught:
        VectorizeLoop()(IRModule.from_expr(func))
    assert "legal: a positive constant" in " ".join(str(caught.value).split())


def test_scalable_vectors():
    @T.prim_func
    def func(A: T.Buffer((64,), "float32")):
        for j in T.vectorized(4 * T.vscale()):
            A[j] = 1.0

    mod = IRModule.from_expr(func)
    with pytest.raises(TVMError, match=r"extent .*vscale.* for target \(nullptr\)"):
        VectorizeLoop()(mod)
    with Target("llvm -mtriple=aarch64-linux-gnu -mattr=+sve"):
        store = VectorizeLoop()(mod)["func"].body
    assert str(store.value.dtype) == "float32xvscalex4"


def test_protects_loads_in_choices():
    @T.prim_func
    def func(A: T.Buffer((15,), "float32"), B: T.Buffer((16,), "float32")):
        for j in T.vectorized(16):
            B[j] = T.if_then_else(j >= 1, A[j - 1], T.float32(0))

    on_cpu = func.with_attr("target", Target("llvm"))
    body = VectorizeLoop()(IRModule({"func": on_cpu}))["func"].body
    loads = [node for node in walk(body) if type(node).__name__ == "BufferLoad"]
    assert [load.predicate is not None for load in loads] == [True]
    assert type(VectorizeLoop()(IRModule.from_expr(func))["func"].body).__name__ == "For"


def test_choices_in_conditions_of_choices_stay_small():
    """Each level's loads would repeat all conditions around them."""
    x = tvm.tir.decl_buffer((64,), "float32", "x")
    y = tvm.tir.decl_buffer((8,), "float32", "y")
    lane = tvm.tir.Var("lane", "int32")
    value = x[lane]
    for level in range(1, 5):
        at = tvm.tir.Select(value > x[lane + level], lane, lane + 8)
        value = tvm.tir.if_then_else(value > 0.5, x[at], x[at + level])
    store = tvm.tir.BufferStore(y, value, [lane])
    body = tvm.tir.For(lane, 0, 8, tvm.tir.ForKind.VECTORIZED, store)
    handles = [tvm.tir.Var(name, "handle") for name in "xy"]
    func = tvm.tir.PrimFunc(handles, body, buffer_map=dict(zip(handles, (x, y))))
    mod = VectorizeLoop()(tvm.IRModule({"main": func.with_attr("target", Target("llvm"))}))
    assert sum(1 for _ in walk(mod["main"].body)) < 50_000


@T.prim_func
def _tail(a: T.handle, b: T.handle, n: T.int32):
    A, B = T.match_buffer(a, (16,), "float32"), T.match_buffer(b, (16,), "float32")
    for i_0 in T.serial(T.ceildiv(14, 4)):
        for i_1 in T.vectorized(4):
            if i_0 * 4 + i_1 < 14:
                B[i_0 * 4 + i_1] = A[i_0 * 4 + i_1] + 1.0
    for i_0 in T.serial(4):
        for i_1 in T.vectorized(4):
            if i_0 * 4 + i_1 < n:
                B[i_0 * 4 + i_1] = A[i_0 * 4 + i_1]


def test_ends_are_lane_masks_where_they_are_asked_for():
    @T.prim_func
    def expected(a: T.handle, b: T.handle, n: T.int32):
        A, B = T.match_buffer(a, (16,), "float32"), T.match_buffer(b, (16,), "float32")
        for i_0 in range(4):
            load = T.meta_var(
                A.vload(
                    [T.Ramp(i_0 * 4, 1, 4)],
                    predicate=T.get_active_lane_mask("uint1x4", i_0 * 4, 14),
                )
            )
            B.vstore(
                [T.Ramp(i_0 * 4, 1, 4)],
                load + T.Broadcast(T.float32(1), 4),
                predicate=T.get_active_lane_mask("uint1x4", i_0 * 4, 14),
            )
        for i_0 in range(4):
            below = T.meta_var(T.get_active_lane_mask("uint1x4", i_0 * 4, n))
            B.vstore(
                [T.Ramp(i_0 * 4, 1, 4)],
                A.vload([T.Ramp(i_0 * 4, 1, 4)], predicate=below),
                predicate=below,
            )

    made = with_predicates(IRModule.from_expr(_tail))["_tail"]
    tvm.ir.assert_structural_equal(made, expected.with_attr("global_symbol", "_tail"))


def test_what_is_no_end_of_the_accesses_is_scalar_where_masks_are_asked_for():
    """Other comparisons, other places, a branch for the rest, and expressions."""

    @T.prim_func
    def func(A: T.Buffer((32,), "float32"), B: T.Buffer((32,), "float32"), n: T.int32):
        for i in T.vectorized(8):
            if i <= n:
                B[i] = A[i]
        for i in T.vectorized(8):
            if i < n:
                B[i] = A[i + 8]
        for i in T.vectorized(8):
            if i < n:
                B[i] = A[n]
        for i in T.vectorized(8):
            if i < n:
                B[i] = A[i]
            else:
                B[i] = T.float32(1)
        for i in T.vectorized(8):
            B[i] = T.if_then_else(i < n, A[i], T.float32(0))

    made = with_predicates(IRModule.from_expr(func))["func"]
    loops = [node for node in walk(made.body) if isinstance(node, tvm.tir.For)]
    assert [loop.kind for loop in loops] == [tvm.tir.ForKind.SERIAL] * 5
    assert "vload" not in made.script()


SVE = "llvm -mtriple=aarch64-linux-gnu -mattr=+sve"


def test_the_target_of_a_region_counts():
    @T.prim_func
    def func(A: T.Buffer((14,), "float32")):
        with T.attr(T.target(SVE), "target", 0):
            for i, j in T.grid(4, 1):
                for k in T.vectorized(4):
                    if i * 4 + k < 14:
                        A[i * 4 + k] = T.float32(2)
        for i in range(4):
            for k in T.vectorized(4):
                if i * 4 + k < 14:
                    A[i * 4 + k] = T.float32(3)

    text = VectorizeLoop()(IRModule.from_expr(func))["func"].script()
    assert text.count('predicate=T.get_active_lane_mask("uint1x4", i * 4, 14)') == 1
    assert "for i, k_s in T.grid(4, 4)" in text


@pytest.mark.parametrize("case", range(3))
def test_no_vectors_of_scalable_vectors(case):
    lanes = 4 * T.vscale()

    @T.prim_func
    def fixed(Q: T.Buffer((64,), "float32")):
        T.func_attr({"target": T.target(SVE)})
        for j in T.vectorized(T.vscale() * 4):
            Q[j * 4 : j * 4 + 4] = T.Broadcast(T.float32(1), 4)

    @T.prim_func
    def elements(Q: T.Buffer((64,), "float32xvscalex4")):
        T.func_attr({"target": T.target(SVE)})
        for j in T.vectorized(4):
            Q[j] = T.Broadcast(T.float32(1), lanes)

    @T.prim_func
    def scalable(Q: T.Buffer((64,), "float32")):
        T.func_attr({"target": T.target(SVE)})
        for j in T.vectorized(4):
            Q[T.ramp(j * 4, 1, lanes)] = T.Broadcast(T.float32(1), lanes)

    func, words = (
        (fixed, "Creating scalable vectors from existing vectors is not supported."),
        (elements, "Vectorizing over scalable buffer elements is not supported in vectorizer."),
        (scalable, "Vectorizing over existing scalable vectors is not supported."),
    )[case]
    with pytest.raises(tvm.error.InternalError, match=words):
        VectorizeLoop()(IRModule.from_expr(func))


class TestElementsThatAreVectors(PassTest):
    """One value for all is stored at once; others one after the other."""

    run = VectorizeLoop()

    @T.prim_func
    def Before(Q: T.Buffer((4,), "float32x2"), P: T.Buffer((4,), "float32")):
        for i in T.vectorized(4):
            Q[i] = T.Broadcast(T.float32(1), 2)
        for i in T.vectorized(4):
            Q[i] = T.Broadcast(P[i], 2)

    @T.prim_func
    def Expected(Q: T.Buffer((4,), "float32x2"), P: T.Buffer((4,), "float32")):
        Q[0:4] = T.Broadcast(T.float32(1), 8)
        for i in range(4):
            Q[i] = T.Broadcast(P[i], 2)


class TestConditionsThatAllLanesShare(PassTest):
    run = VectorizeLoop()

    @T.prim_func
    def Before(Q: T.Buffer((8,), "float32"), n: T.int32):
        for i in T.vectorized(8):
            Q[i] = T.Select(n > 2, Q[i], T.float32(2))

    @T.prim_func
    def Expected(Q: T.Buffer((8,), "float32"), n: T.int32):
        Q[0:8] = T.Select(
            T.Broadcast(n > 2, 8), Q[0:8], T.Broadcast(T.float32(2), 8)
        )


@pytest.mark.cpu
def test_ends_as_lane_masks_mean_the_same():
    with PassContext(config={"tir.enable_buffer_level_predication": True}):
        compiled = tvm.compile(_tail, target="llvm")
    given = np.arange(16, dtype="float32")
    for end in (-3, 0, 5, 16):
        out = np.full(16, -1, "float32")
        compiled["_tail"](given, out, end)
        wanted = np.where(np.arange(16) < 14, given + 1, -1)
        np.testing.assert_array_equal(out, np.where(np.arange(16) < end, given, wanted))


@pytest.mark.parametrize("target", [None, "llvm"])
def test_choices_load_only_what_they_take(target):
    """From A, which is shorter than the loop; B is long enough and is loaded as a whole."""

    @T.prim_func
    def func(A: T.Buffer((5,), "float32"), B: T.Buffer((8,), "float32")):
        for j in T.vectorized(8):
            B[j] = T.Select(j < 5, A[j], T.float32(0))
        for j in T.vectorized(8):
            B[j] = T.Select(j < 5, B[j], T.float32(1))

    if target is not None:
        func = func.with_attr("target", Target(target))
    first, second = VectorizeLoop()(IRModule({"func": func}))["func"].body.seq
    assert not any(isinstance(node, tvm.tir.For) for node in walk(second))
    loads = [n for n in walk(first) if isinstance(n, tvm.tir.BufferLoad)]
    if target is None:
        assert isinstance(first, tvm.tir.For)
    else:
        assert [load.predicate is not None for load in loads] == [True]


def test_choices_take_what_their_condition_has_loaded():
    """Whole; what stands behind another choice may not be there."""

    @T.prim_func
    def func(a: T.handle, b: T.handle, n: T.int64, k: T.int64):
        A, B = T.match_buffer(a, (n,)), T.match_buffer(b, (n,))
        for j in T.vectorized(T.int64(8)):
            B[k + j] = T.Select(A[k + j] > T.float32(0), A[k + j], T.float32(0))
        for j in T.vectorized(T.int64(8)):
            B[k + j] = T.Select(
                T.Select(k + j < n, A[k + j], T.float32(1)) > T.float32(0), A[k + j], T.float32(0)
            )

    func = func.with_attr("target", Target("llvm"))
    for stmt, masks in zip(VectorizeLoop()(IRModule({"f": func}))["f"].body.seq, (False, True)):
        loads = [n for n in walk(stmt) if isinstance(n, tvm.tir.BufferLoad)]
        assert all((load.predicate is not None) == masks for load in loads)


def test_loops_with_a_condition_have_no_vector_form() -> None:
    @T.prim_func
    def main(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32")):
        for i in T.vectorized(8):
            while C[0] < 4:
                A[i] = A[i] + 1
                C[0] = C[0] + 1

    with pytest.raises(tvm.error.InternalError, match="A while loop inside a vectorized loop"):
        VectorizeLoop()(tvm.IRModule({"main": main}))


class TestElementsOfSeveralLanes(PassTest):
    """Neighbouring ones are one longer vector; those apart follow one another."""

    run = VectorizeLoop()

    @T.prim_func
    def Before(A: T.Buffer((8,), "float32x4"), B: T.Buffer((8,), "float32x4")):
        for i in T.vectorized(2):
            B[i] = A[i + 2] * T.Broadcast(T.float32(2), 4)
            B[i + 2] = T.max(A[i], T.Broadcast(T.float32(0), 4))
            B[i + 4] = A[i] + A[0]
        for i in T.vectorized(2):
            B[i * 2] = A[1 - i]

    @T.prim_func
    def Expected(A: T.Buffer((8,), "float32x4"), B: T.Buffer((8,), "float32x4")):
        B[T.Ramp(0, 1, 2)] = A[T.Ramp(2, 1, 2)] * T.Broadcast(T.float32(2), 8)
        B[T.Ramp(2, 1, 2)] = T.max(A[T.Ramp(0, 1, 2)], T.Broadcast(T.float32(0), 8))
        for i_s in range(2):
            B[i_s + 4] = A[i_s] + A[0]
        for i_s in range(2):
            B[i_s * 2] = A[1 - i_s]
