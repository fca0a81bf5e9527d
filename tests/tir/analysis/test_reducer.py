from __future__ import annotations

import pytest

import tvm
from tests.tir.schedule.cases import chain, check, greatest_pairs, matmul
from tvm import te, tir
from tvm.script import from_source
from tvm.script import tir as T
from tvm.tir.analysis.reducer import reducer_of
from tvm.tir.schedule import Schedule
from tvm.topi.reduction import index_of_extreme


@pytest.mark.parametrize(("combine", "identity"), [(te.sum, 0.0), (te.max, -3.4028234663852886e38)])
def test_operator_and_identity(combine: object, identity: float) -> None:
    a = te.placeholder((4, 8), name="A")
    k = te.reduce_axis((0, 8), name="k")
    func = te.create_prim_func([a, te.compute((4,), lambda i: combine(a[i, k], axis=k), name="B")])
    sch = Schedule(func)
    found = reducer_of(sch.get(sch.get_block("B")))
    assert found.identities[0].value == identity
    assert str(found.parts[0]) == "A[v_i, v_k]"


def test_products_of_two_operands() -> None:
    sch = Schedule(matmul())
    assert str(reducer_of(sch.get(sch.get_block("C"))).parts[0]) == "A[v_i, v_k] * B[v_k, v_j]"


def test_no_reduction() -> None:
    sch = Schedule(chain())
    assert reducer_of(sch.get(sch.get_block("B"))) is None


@pytest.mark.parametrize("least", [True, False])
@pytest.mark.parametrize("tie", [True, False])
def test_pairs(least: bool, tie: bool) -> None:
    sch = Schedule(greatest_pairs(least=least, tie=tie))
    found = reducer_of(sch.get(sch.get_block("best")))
    assert [str(part) for part in found.parts] == ["place[v_i, v_k]", "data[v_i, v_k]"]
    assert [store.buffer.name for store in found.stores] == ["best_v0", "best_v1"]
    a, b, c, d = [tir.Var(n, t) for n, t in zip("abcd", ["int32", "float32"] * 2)]
    first, second = found.combine([a, b], [c, d])
    sign = "<" if least else ">"
    equal = "" if tie else "="
    assert str(second) == f"T.Select(b {sign}{equal} d, b, d)"
    more = " or b == d and a < c" if tie else ""
    assert str(first) == f"T.Select(b {sign}{equal} d{more}, a, c)"


@pytest.mark.parametrize("largest", [True, False])
def test_pairs_of_keys_that_may_be_nan(largest: bool) -> None:
    x = te.placeholder((4, 8), name="x")
    func = te.create_prim_func([x, index_of_extreme(x, 1, False, largest)])
    simple = tir.transform.Simplify()(tvm.IRModule({"main": func}))
    for sch in (Schedule(func), Schedule(simple)):
        found = reducer_of(sch.get(sch.get_block("x_red_temp")))
        assert [str(part) for part in found.parts] == ["v_k1", "x[v_ax0, v_k1]"]
        a, b, c, d = [tir.Var(n, t) for n, t in zip("abcd", ["int32", "float32"] * 2)]
        first, second = found.combine([a, b], [c, d])
        wins, loses = ("b <= d", "d <= b") if largest else ("d <= b", "b <= d")
        assert str(second) == f"T.Select(d == d and not {wins}, b, d)"
        tied = f"not (b == b and not {loses}) and a < c"
        assert str(first) == f"T.Select(d == d and not {wins} or {tied}, a, c)"


def test_pairs_with_comparisons_turned_round() -> None:
    @T.prim_func
    def best(A: T.Buffer((4, 8)), I: T.Buffer((4,), "int32"), V: T.Buffer((4,))):
        for i, k in T.grid(4, 8):
            with T.block("best"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    I[vi] = -1
                    V[vi] = T.min_value("float32")
                place: T.int32 = T.Select(
                    A[vi, vk] < V[vi] or (A[vi, vk] == V[vi] and vk > I[vi]), I[vi], vk
                )
                value: T.float32 = T.Select(A[vi, vk] < V[vi], V[vi], A[vi, vk])
                I[vi] = place
                V[vi] = value

    sch = Schedule(best)
    found = reducer_of(sch.get(sch.get_block("best")))
    assert found is not None
    a, b, c, d = [tir.Var(n, t) for n, t in zip("abcd", ["int32", "float32"] * 2)]
    first, second = found.combine([a, b], [c, d])
    assert str(first) == "T.Select(b > d or b == d and a < c, a, c)"
    assert str(second) == "T.Select(b > d, b, d)"


def test_bits() -> None:
    @T.prim_func
    def some(A: T.Buffer((4, 8), "bool"), B: T.Buffer((4,), "bool")) -> None:
        for i, k in T.grid(4, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.bool(False)
                B[vi] = B[vi] or A[vi, vk]

    sch = Schedule(some)
    assert str(reducer_of(sch.get(sch.get_block("B"))).parts[0]) == "A[vi, vk]"


def test_pairs_that_are_no_choice() -> None:
    @T.prim_func
    def mixed(
        A: T.Buffer((4, 8), "float32"), B: T.Buffer((4,), "int32"), C: T.Buffer((4,), "float32")
    ) -> None:
        for i, k in T.grid(4, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = 0
                    C[vi] = T.float32(0)
                b: T.int32 = T.Select(C[vi] >= A[vi, vk], B[vi], vk)
                c: T.float32 = T.Select(C[vi] <= A[vi, vk], C[vi], A[vi, vk])
                B[vi] = b
                C[vi] = c

    sch = Schedule(mixed)
    assert reducer_of(sch.get(sch.get_block("B"))) is None


def test_sums_side_by_side() -> None:
    @T.prim_func
    def moments(
        A: T.Buffer((4, 8), "float32"), S: T.Buffer((4,), "float32"), Q: T.Buffer((4,), "float32")
    ) -> None:
        for i, k in T.grid(4, 8):
            with T.block("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    S[vi] = T.float32(0)
                    Q[vi] = T.float32(0)
                s: T.float32 = S[vi] + A[vi, vk]
                q: T.float32 = Q[vi] + A[vi, vk] * A[vi, vk]
                S[vi] = s
                Q[vi] = q

    sch = Schedule(moments)
    found = reducer_of(sch.get(sch.get_block("B")))
    assert [str(part) for part in found.parts] == ["A[vi, vk]", "A[vi, vk] * A[vi, vk]"]
    node = found.as_comm_reducer()
    assert [str(one) for one in node.result] == ["x0 + y0", "x1 + y1"]
    sch.rfactor(sch.get_loops("B")[1], 0)
    check(sch, moments)


@pytest.mark.parametrize(
    ("start", "value", "known"),
    [
        ("T.float32(0)", "R[vi] + P[vi, vk]", True),
        ("T.float32(5)", "R[vi] + P[vi, vk]", False),
        ("Q[vi]", "R[vi] + P[vi, vk]", False),
        ("T.float32(1)", "R[vi] * P[vi, vk]", True),
        ("T.float32(0)", "R[vi] * P[vi, vk]", False),
        ("T.float32(7)", "T.max(R[vi], P[vi, vk])", True),
        ("Q[vi]", "T.min(R[vi], P[vi, vk])", False),
    ],
)
def test_sums_start_from_what_may_be_added_several_times(
    start: str, value: str, known: bool
) -> None:
    program = f"""
from tvm.script import tir as T
@T.prim_func
def func(P: T.Buffer((4, 8)), Q: T.Buffer((4,)), R: T.Buffer((4,))):
    for i, k in T.grid(4, 8):
        with T.block("sum"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                R[vi] = {start}
            R[vi] = {value}
"""
    sch = Schedule(from_source(program))
    assert (reducer_of(sch.get(sch.get_block("sum"))) is not None) == known


@pytest.mark.parametrize(
    "inits", [("V[vi] = 0.0", "V[vi] = 0.0"), ("W[vi] = 0.0", "V[vi] = W[vi]"), ("W[vi] = 0.0",)]
)
def test_each_sum_has_an_init_of_its_own(inits: tuple[str, ...]) -> None:
    lines = "\n                ".join(inits)
    program = f"""
from tvm.script import tir as T
@T.prim_func
def func(A: T.Buffer((4, 8)), V: T.Buffer((4,)), W: T.Buffer((4,))):
    for i, k in T.grid(4, 8):
        with T.block("sums"):
            vi, vk = T.axis.remap("SR", [i, k])
            with T.init():
                {lines}
            v: T.float32 = V[vi] + A[vi, vk]
            w: T.float32 = W[vi] + A[vi, vk] * A[vi, vk]
            V[vi] = v
            W[vi] = w
"""
    sch = Schedule(from_source(program))
    assert reducer_of(sch.get(sch.get_block("sums"))) is None
