"""Where elements lie: offsets, flattened buffers, strides."""

from __future__ import annotations

import itertools
from operator import add, floordiv, mod, mul

import pytest

from tvm import tir
from tvm.tir.buffer_access import axis_groups, element_strides
from tvm.tir.functor import substitute

pytestmark = pytest.mark.pure
I, J = tir.Var("i", "int32"), tir.Var("j", "int32")


def value(expr: tir.PrimExpr, **values: int) -> int:
    """The number that an expression of +, * over literals is."""
    by_name = {v.name: v for v in (I, J)}
    done = substitute(expr, {by_name[k]: tir.const(v) for k, v in values.items()})

    def run(e: tir.PrimExpr) -> int:
        if isinstance(e, tir.IntImm):
            return e.value
        rules = {"Add": add, "Mul": mul, "FloorDiv": floordiv, "FloorMod": mod}
        return rules[type(e).__name__](run(e.a), run(e.b))

    return run(done)


def test_row_major() -> None:
    a = tir.decl_buffer((3, 5), "float32", "A")
    (offset,) = a.offset_of([I, J])
    assert [value(offset, i=i, j=j) for i, j in itertools.product(range(3), range(5))] == list(
        range(15)
    )
    assert [int(s) for s in element_strides(a)] == [5, 1]
    assert [int(e) for e in a.get_flattened_buffer().shape] == [15]


def test_strides_and_offset() -> None:
    a = tir.decl_buffer((3, 5), "float32", "A", strides=(8, 1), elem_offset=2)
    (offset,) = a.offset_of([I, J])
    assert value(offset, i=2, j=3) == 2 * 8 + 3 + 2
    assert [int(e) for e in a.get_flattened_buffer().shape] == [24]


def test_axis_separators_make_groups() -> None:
    a = tir.decl_buffer((2, 3, 4), "float32", "A", axis_separators=[1])
    assert [list(g) for g in axis_groups(a)] == [[0], [1, 2]]
    flat = a.offset_of([1, 2, 3])
    assert [int(x) for x in flat] == [1, 11]
    assert [int(e) for e in a.get_flattened_buffer().shape] == [2, 12]


def test_flattening_keeps_what_is_flat() -> None:
    a = tir.decl_buffer((7,), "float32", "A")
    assert a.get_flattened_buffer() is a
    zero = tir.decl_buffer((), "float32", "Z")
    assert [int(x) for x in zero.offset_of([])] == [0]


def test_pointers_to_vectors_count_in_vectors() -> None:
    n = tir.Var("n", "int32")
    a = tir.decl_buffer((n, 6), "float32x4", "A", elem_offset=n)
    _, _, offset, extent, _ = a.access_ptr("r", content_lanes=2).args
    assert str(offset) == "T.Div(n, 2)"
    assert str(extent) == "T.Div(n * 6, 2)"
    assert a.access_ptr("r", content_lanes=2).args[0].dtype == "float32x2"
    assert str(a.access_ptr("r", content_lanes=2, extent=n).args[3]) == "n"
