"""Results whose size depends on the data."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import info, var
from tvm import relax, tir
from tvm.error import TVMError
from tvm.relax import interp, op
from tvm.relax.op.set import numpy_nonzero, numpy_unique

pytestmark = pytest.mark.pure

X = np.float32([[3, 1], [3, 2]])


def run(build: object, legalize: bool) -> object:
    x = var(2, 2)
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        call = bb.normalize(build(x))
        if legalize:
            call = call.op.get_attr("FLegalize")(bb, call)
        bb.emit_func_output(bb.emit(call))
    packed = {"relax.run.unique": numpy_unique, "relax.run.nonzero": numpy_nonzero}
    return interp.Interpreter(bb.get(), packed).run("main", X)


@pytest.mark.parametrize("legalize", [False, True])
def test_distinct_elements(legalize: bool) -> None:
    values, index, inverse, counts = run(lambda x: op.unique(x, True, True, True, True), legalize)
    np.testing.assert_array_equal(values, [1, 2, 3])
    np.testing.assert_array_equal(index, [1, 3, 0])
    np.testing.assert_array_equal(inverse, [2, 0, 2, 1])
    np.testing.assert_array_equal(counts, [1, 1, 2])
    rows = run(lambda x: op.unique(x, axis=0), legalize)
    np.testing.assert_array_equal(rows, [[3, 1], [3, 2]])


@pytest.mark.parametrize("legalize", [False, True])
def test_places_that_are_not_zero(legalize: bool) -> None:
    found = run(lambda x: op.nonzero(op.clip(x, 1, 2)), legalize)
    assert found.shape == (2, 4)


def test_struct_info() -> None:
    n = tir.Var("n", "int64")
    found = info(op.unique(var(n, 4), return_inverse=True))
    assert found.fields[0].ndim == 1
    assert (found.fields[1].ndim, found.fields[1].values) == (1, None)
    with pytest.raises(TVMError, match="axis is out of range"):
        info(op.unique(var(2), axis=1))
    flag = relax.Var("flag", relax.PrimStructInfo("int64"))
    with pytest.raises(TVMError, match="return_index must be known"):
        info(op.unique(var(2), return_index=flag))


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_without_sorting_values_stand_as_they_first_come(axis: int | None) -> None:
    x = np.array([[5, 1, 5], [7, 7, 2], [5, 1, 5]])
    values, first, inverse, counts = numpy_unique(x, 0, 1, 1, 1, axis)
    assert list(first) == sorted(first)
    whole = x.reshape(-1) if axis is None else x
    along = 0 if axis is None else axis
    np.testing.assert_array_equal(np.take(values, inverse, along), whole)
    np.testing.assert_array_equal(np.take(whole, first, along), values)
    assert counts.sum() == whole.shape[along]


def test_one_element_is_found_once() -> None:
    values, places = info(op.unique(var(), return_index=True)).fields
    assert (values.values, places.values, places.dtype) == ((1,), (1,), "int64")
