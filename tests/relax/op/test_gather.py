"""Odd cases of reading and writing at indices."""

from __future__ import annotations

from typing import Any

import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import relax, tir
from tvm.error import TVMError
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def index(*shape: object) -> object:
    return var(*shape, dtype="int64", name="i")


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: op.gather_elements(var(2, 3), var(2, 3)), "indices must be integers"),
        (lambda: op.gather_elements(var(2, 3), index(2)), "the numbers of dimensions differ"),
        (lambda: op.gather_nd(var(2, 3), index(4, 3)), "more dimensions than data has"),
        (lambda: op.gather_nd(var(2, 3), index(4, 1), -1), "batch_dims is out of range"),
        (lambda: op.index_tensor(var(2), [index(2), index(2)]), "more indices than data"),
        (lambda: op.index_tensor(var(2), []), "there are no indices"),
        (lambda: op.index_put(var(2), (index(2), index(2)), var(2)), "more indices than data"),
        (lambda: op.scatter_nd(var(2), index(2, 1), var(2), "sub"), "unknown reduction"),
        (lambda: op.scatter_elements(var(2), index(2), var(1)), "indices and updates differ"),
        (lambda: op.scatter_nd(var(4, 2), index(3, 1), var(3, 3)), "updates do not fit"),
        (lambda: op.scatter_nd(var(4), index(3, 2), var(3)), "more dimensions than data has"),
        (lambda: op.slice_scatter(var(7), var(2), 1, 6, 2), "src does not fit the slice"),
        (lambda: op.slice_scatter(var(7), var(2), 1, 6, 0), "step must be positive"),
        (lambda: op.collapse_sum_to(var(2, 3), (2, 2)), "does not broadcast to data"),
        (lambda: op.collapse_sum_to(var(3), (2, 3)), "more dimensions than data"),
    ],
)
def test_refusals(call: object, text: str) -> None:
    with pytest.raises(TVMError, match=text):
        info(call())


def test_symbolic_shapes() -> None:
    assert shape_of(op.gather_elements(var(4, 3), index(N, 3))) == (N, 3)
    assert shape_of(op.gather_nd(var(4, 3, 2), index(N, 2))) == (N, 2)
    assert shape_of(op.index_tensor(var(4, 3), [index(N, 1), index(5)])) == (N, 5)
    assert info(op.gather_nd(var(4, 3), index(5, N))).ndim == -1


def test_one_tensor_of_indices_is_a_tuple_of_one() -> None:
    data, values, places = var(4), var(2), var(2, dtype="int64")
    call = op.index_put(data, places, values)
    assert isinstance(call.args[1], relax.Tuple)
    assert info(call) is data.struct_info
    pair = relax.Var("p", relax.TupleStructInfo([places.struct_info]))
    assert op.index_put(data, pair, values).args[1] is pair


@pytest.mark.parametrize("indices", [3, None])
def test_indices_are_a_tuple_or_a_tensor(indices: Any) -> None:
    x = var(2, 3)
    with pytest.raises(TypeError, match="index_put: indices is no list"):
        op.index_put(x, indices, x)


def test_shapes_that_are_variables_are_not_passed_on() -> None:
    s = relax.Var("s", relax.ShapeStructInfo([4, 6]))
    data = relax.Var("d", relax.TensorStructInfo(s, "float32"))
    at, pairs, new = index(2, 3), index(3, 2), var(2, 3)
    for call in (
        op.scatter_elements(data, at, new),
        op.scatter_nd(data, pairs, var(3)),
        op.index_put(data, (index(3), index(3)), var(3)),
        op.bucketize(data, var(3)),
    ):
        found = info(call)
        assert (found.shape, found.ndim) == (None, 2)


def test_what_is_known_without_extents() -> None:
    unknown = relax.Var("x", relax.TensorStructInfo(dtype="float32"))
    anywhere = relax.Var("i", relax.TensorStructInfo(dtype="int64"))
    assert info(op.gather_nd(var(ndim=3), index(3, 2))).ndim == 2
    assert info(op.gather_elements(unknown, index(3, 2))).ndim == -1
    assert info(op.gather_elements(var(4, 2), anywhere)).ndim == -1
    assert info(op.index_tensor(var(4, 5, 6), [index(3), index(N)])).ndim == -1
