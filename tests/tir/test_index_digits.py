"""Index maps that divide by a symbol."""

from __future__ import annotations

import pytest

import tvm
from tvm import tir
from tvm.script import tir as T
from tvm.tir import IndexMap
from tvm.tir.index_digits import digits_of
from tvm.tir.schedule import Schedule

pytestmark = pytest.mark.pure
n = tir.Var("n", "int32")


def test_padding_depends_on_the_symbol() -> None:
    made = IndexMap.from_func(lambda i: [i // n, i % n], index_dtype="int32")
    assert [str(d) for d in made.map_shape([16])] == ["(-16 % n + 16) // n", "n"]
    back, padding = made.non_surjective_inverse([16])
    assert "lambda axis0, axis1: (axis1 + axis0 * n,)" in str(back)
    assert str(padding) == "-16 % n != 0 and (axis0 == 16 // n and 16 % n <= axis1)"


def test_multiples_of_the_symbol_need_no_padding() -> None:
    made = IndexMap.from_func(lambda i: [i % n, i // n], index_dtype="int32")
    assert [str(d) for d in made.map_shape([n * 4])] == ["n", "4"]
    back, padding = made.non_surjective_inverse([n * 4])
    assert "lambda axis0, axis1: (axis0 + axis1 * n,)" in str(back)
    assert str(padding) == "T.bool(False)"


def test_digits_among_other_indices() -> None:
    made = IndexMap.from_func(lambda i, j: [i // n, j, i % n], index_dtype="int32")
    back, _ = made.non_surjective_inverse([n * 4, 5])
    assert "lambda axis0, axis1, axis2: (axis2 + axis0 * n, axis1)" in str(back)
    with pytest.raises(RuntimeError, match="is not invertible"):
        IndexMap.from_func(lambda i: [i // n, i % n + i], index_dtype="int32").inverse([16])


@pytest.mark.parametrize(
    "function", [lambda i: [i // 4, i % 4], lambda i: [i // n, i], lambda i: [i // n, i % (n + 1)]]
)
def test_variables_that_have_no_digits(function: object) -> None:
    made = IndexMap.from_func(function, index_dtype="int32")
    domains = {made.initial_indices[0]: tir.IterVar((0, 16), "i").dom}
    assert digits_of(made.final_indices, domains) == []


def test_layouts_by_a_parameter() -> None:
    @T.prim_func
    def before(n: T.int32, A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
        B = T.alloc_buffer((16,), "int32")
        for i in range(16):
            with T.block("B"):
                vi = T.axis.spatial(16, i)
                B[vi] = A[vi]
        for i in range(16):
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = B[vi] + 1

    @T.prim_func
    def expected(n: T.int32, A: T.Buffer((16,), "int32"), C: T.Buffer((16,), "int32")):
        B = T.alloc_buffer(((-16 % n + 16) // n, n), "int32")
        for i, j in T.grid((-16 % n + 16) // n, n):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.if_then_else(
                    -16 % n != 0 and (vi == 16 // n and 16 % n <= vj), 0, A[vj + vi * n]
                )
        for i in range(16):
            with T.block("C"):
                vi = T.axis.spatial(16, i)
                C[vi] = B[vi // n, vi % n] + 1

    size = before.params[0]
    sch = Schedule(before)
    sch.transform_layout("B", ("write", 0), lambda i: [i // size, i % size], pad_value=0)
    made, wanted = [f.with_attr("global_symbol", "f") for f in (sch.mod["main"], expected)]
    tvm.ir.assert_structural_equal(made, wanted)
    sch = Schedule(before)
    with pytest.raises(tir.ScheduleError, match="would introduce padding"):
        sch.transform_layout("B", ("write", 0), lambda i: [i // size, i % size])

