import pytest

from tvm import tir
from tvm.arith.analyzer import Analyzer
from tvm.ir import Range
from tvm.tir.functor import walk
from tvm.tir.transform.lane_predicate import guard_lanes, guard_statement

pytestmark = pytest.mark.pure

A = tir.decl_buffer((16,), "float32", "A")
P = tir.decl_buffer((4,), "int32", "P")
i = tir.Var("i")
LANES = tir.Ramp(i * 4, 1, 4)
MASK = tir.LT(LANES, tir.Broadcast(13, 4))


def load(index):
    return tir.BufferLoad(A, [index])


def analyzer(extent):
    known = Analyzer()
    known.bind(i, Range(0, extent))
    return known


def test_vector_loads_get_the_mask():
    found = guard_lanes(load(LANES) + load(LANES), MASK, analyzer(4))
    loads = [n for n in walk(found) if isinstance(n, tir.BufferLoad)]
    assert all(n.predicate is MASK for n in loads)


def test_what_a_mask_reads_gets_the_mask():
    """Select(A[P[i]] > 0, ..., B[i]) in lanes that are there: P is not read past its end."""
    chosen = tir.LT(tir.Broadcast(tir.FloatImm("float32", 0), 4), load(LANES))
    found = guard_lanes(tir.BufferLoad(A, [LANES], chosen), MASK, analyzer(4))
    loads = [n for n in walk(found) if isinstance(n, tir.BufferLoad)]
    assert len(loads) == 2
    assert all(n.predicate is not None for n in loads)
    store = tir.BufferStore(A, tir.Broadcast(tir.FloatImm("float32", 1), 4), [LANES], chosen)
    (read,) = [n for n in walk(guard_lanes(store, MASK, analyzer(4)))
               if isinstance(n, tir.BufferLoad)]  # fmt: skip
    assert read.predicate is MASK


S = tir.decl_buffer((4,), "float32", "S", scope="local")
SUMS = tir.Ramp(0, 1, 4)


def test_sums_in_registers_are_chosen_not_masked():
    """A masked store would keep them in memory, where the next load of them waits for it."""
    kept = tir.BufferLoad(S, [SUMS])
    stmt = tir.BufferStore(S, kept + load(LANES), [SUMS])
    found = guard_lanes(stmt, MASK, analyzer(4))
    assert found.predicate is None
    assert isinstance(found.value, tir.Select)
    assert found.value.condition is MASK
    loads = [n for n in walk(found.value) if isinstance(n, tir.BufferLoad)]
    assert [n.predicate is MASK for n in loads if n.buffer is A] == [True]
    assert all(n.predicate is None for n in loads if n.buffer is S)


@pytest.mark.parametrize("first", [1, -1])
def test_sums_that_are_not_all_there_are_masked(first):
    place = tir.Ramp(first, 1, 4)
    stmt = tir.BufferStore(S, tir.BufferLoad(S, [place]) + load(LANES), [place])
    found = guard_lanes(stmt, MASK, analyzer(4))
    assert found.predicate is MASK
    assert all(n.predicate is MASK for n in walk(found.value) if isinstance(n, tir.BufferLoad))


def test_copies_to_registers_are_masked():
    found = guard_lanes(tir.BufferStore(S, load(LANES), [SUMS]), MASK, analyzer(4))
    assert found.predicate is MASK


def test_scalar_loads_stay_where_they_are_in_bounds():
    expr = tir.Broadcast(load(i), 4)
    assert guard_lanes(expr, MASK, analyzer(16)) is expr
    assert guard_lanes(expr, MASK, analyzer(17)) is None


@pytest.mark.parametrize(
    "stmt",
    [
        tir.BufferStore(A, 1.0, [0]),
        tir.Evaluate(tir.call_extern("int32", "f")),
        tir.While(tir.const(True, "bool"), tir.Evaluate(0)),
        tir.AssertStmt(tir.const(True, "bool"), "no", tir.Evaluate(0)),
    ],
)
def test_refuses_what_takes_place_for_all_lanes(stmt):
    assert guard_lanes(stmt, MASK, analyzer(4)) is None


def test_refuses_divisions_that_the_condition_protects():
    divided = tir.FloorDiv(LANES, tir.Broadcast(i, 4))
    assert guard_lanes(divided, MASK, analyzer(4)) is None
    assert guard_lanes(tir.FloorDiv(LANES, tir.Broadcast(3, 4)), MASK, analyzer(4)) is not None


def test_divisors_that_loops_around_run_through_are_not_zero():
    n, m = tir.Var("n", "int32"), tir.Var("m", "int32")
    divided = tir.Broadcast(tir.FloorDiv(i, n * 12), 4)
    for around, fine in (([n * m * 12], True), ([m, n], True), ([m], False), ([n + m], False)):
        loops = {tir.Var(f"j{place}"): extent for place, extent in enumerate(around)}
        assert (guard_lanes(divided, MASK, analyzer(5), loops) is not None) is fine


def test_divisors_may_be_factors_that_are_no_variables():
    n, m = tir.Var("n", "int32"), tir.Var("m", "int32")
    tiles = (n * m + 63) // 64
    divided = tir.Broadcast(tir.FloorDiv(i, tiles), 4)
    for extent, fine in ((m * tiles, True), (m * ((n * m + 31) // 32), False), (n * m, False)):
        loops = {tir.Var("j", "int32"): extent}
        assert (guard_lanes(divided, MASK, analyzer(5), loops) is not None) is fine


@pytest.mark.parametrize("strict", [True, False])
def test_scalar_loads_stay_where_some_lane_is_in(strict):
    n = tir.SizeVar("n", "int32")
    expr = tir.Broadcast(load(n), 4)  # as far as is known, out of bounds
    for end in (n, n * 3, (n - 1) // 2 + 1):
        limit = tir.Broadcast(end if strict else end - 1, 4)
        mask = (tir.LT if strict else tir.LE)(LANES, limit)
        known = Analyzer()
        for extent, fine in (((end + 3) // 4, True), ((end + 4) // 4, False)):
            loops = {i: known.simplify(extent)}
            assert (guard_lanes(expr, mask, known, loops) is expr) is fine
        both = tir.And(tir.Broadcast(n < 7, 4), mask)
        assert guard_lanes(expr, both, known, {i: (end + 3) // 4}) is None


def test_where_no_lane_may_be_in_the_first_one_is_asked():
    """A scalar load that the condition protects happens if some lane does."""
    value = load(LANES) + tir.Broadcast(load(i + 12), 4)
    store = tir.BufferStore(A, value, [LANES])
    found = guard_statement(store, MASK, analyzer(5), {})
    assert isinstance(found, tir.IfThenElse)
    assert str(found.condition) == "i * 4 < 13"
    assert found.then_case.predicate is MASK
    # lanes may be in behind one that is not
    falling = tir.LT(tir.Ramp(i * 4, -1, 4), tir.Broadcast(13, 4))
    assert guard_statement(store, falling, analyzer(5), {}) is None
