"""Tensors of a model that name only what is not 0, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.relax.frontend.onnx.models import Array, check, make_model
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.interp import Interpreter

pytestmark = pytest.mark.cpu
FULL = np.array([[0, 1, 0, 2], [0, 0, 0, 0], [3, 0, 4.5, 0]], "float32")
X = np.ones((3, 4), "float32")


def sparse(array: Array, *, rows: bool, places: Array | None = None) -> Any:
    """Places as numbers in the order of the elements, or a row of indices each."""
    found = np.argwhere(array) if rows else np.flatnonzero(array)
    values = numpy_helper.from_array(array[array != 0], "w")
    where = numpy_helper.from_array((found if places is None else places).astype("int64"), "i")
    return helper.make_sparse_tensor(values, where, list(array.shape))


@pytest.mark.parametrize("rows", [False, True])
def test_weights_and_constants(rows: bool) -> None:
    add = helper.make_node("Add", ["x", "w"], ["y"])
    model = make_model([add], {"x": X}, ["y"])
    model.graph.sparse_initializer.append(sparse(FULL, rows=rows))
    check(model, {"x": X})
    constant = helper.make_node("Constant", [], ["w"], sparse_value=sparse(FULL, rows=rows))
    check(make_model([constant, add], {"x": X}, ["y"]), {"x": X})


def test_weights_of_a_branch() -> None:
    add = helper.make_node("Add", ["x", "w"], ["z"])
    branch = helper.make_graph([add], "then", [], [onnx.ValueInfoProto(name="z")])
    branch.sparse_initializer.append(sparse(FULL, rows=False))
    same = helper.make_graph([helper.make_node("Identity", ["x"], ["k"])], "else", [],
                             [onnx.ValueInfoProto(name="k")])  # fmt: skip
    chosen = helper.make_node("If", ["c"], ["y"], then_branch=branch, else_branch=same)
    for which in (True, False):
        check(make_model([chosen], given := {"x": X, "c": np.array(which)}, ["y"]), given)


@pytest.mark.parametrize("places", [np.array([1, 3, 8, 12]), np.array([1, 3, 8, -1]),
                                    np.array([1, 3]), np.array([[0, 1]] * 3)])  # fmt: skip
def test_places_that_are_none(places: Array) -> None:
    add = helper.make_node("Add", ["x", "w"], ["y"])
    model = make_model([add], {"x": X}, ["y"])
    model.graph.sparse_initializer.append(sparse(FULL, rows=False, places=places))
    with pytest.raises(OpAttributeInvalid, match=r"sparse tensor 'w'[\s\S]*\[3, 4\]"):
        from_onnx(model)


@pytest.mark.parametrize("known", [True, False])
def test_products_with_a_sparse_input_that_the_caller_writes_out(known: bool) -> None:
    product = helper.make_node("SparseToDenseMatMul", ["w", "b"], ["y"], domain="com.microsoft",
                               transA=1, transB=1, alpha=2.5)  # fmt: skip
    b = np.arange(15, dtype="float32").reshape(5, 3)
    model = make_model([product], {"b": b}, ["y"], shapes={"b": ["p", "q"]})
    value = onnx.ValueInfoProto(name="w")
    value.type.sparse_tensor_type.elem_type = TensorProto.FLOAT
    if known:
        for name in "mk":
            value.type.sparse_tensor_type.shape.dim.add().dim_param = name
    model.graph.input.append(value)
    got = Interpreter(from_onnx(model)).run("main", b, FULL)
    np.testing.assert_allclose(np.asarray(got), 2.5 * FULL.T @ b.T, rtol=1e-6)
