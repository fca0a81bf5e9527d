"""Inputs without a shape: their ranks from what reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from tests.relax.frontend.onnx.models import Array, check_sizes, make_model
from tvm.error import ShapeError
from tvm.relax.frontend.onnx import from_onnx

RNG = np.random.default_rng(3)
node = helper.make_node


def _unranked(nodes: list[Any], x: Array, weights: dict[str, Array] | None = None) -> Any:
    model = make_model(nodes, {"x": x}, ["y"], weights)
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, None))
    model.graph.output[0].CopyFrom(onnx.ValueInfoProto(name="y"))
    return model


def _floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype("float32")


CASES: dict[str, Any] = {
    "convolution": ([node("Conv", ["x", "w"], ["y"])], (2, 3, 6, 5), {"w": _floats(4, 3, 3, 3)}),
    "behind elements": (
        [node("Relu", ["x"], ["a"]), node("Neg", ["a"], ["b"]),
         node("MaxPool", ["b"], ["y"], kernel_shape=[2])], (1, 2, 7), {},
    ),
    "product": ([node("Gemm", ["x", "w"], ["y"])], (3, 4), {"w": _floats(4, 2)}),
    "axes": ([node("Transpose", ["x"], ["y"], perm=[1, 0, 2])], (2, 3, 4), {}),
    "padding": (
        [node("Pad", ["x", "p"], ["y"])], (2, 3), {"p": np.array([0, 1, 0, 1], "int64")},
    ),
    "beside another": (
        [node("Concat", ["x", "w"], ["y"], axis=0)], (2, 3), {"w": _floats(1, 3)},
    ),
}  # fmt: skip


@pytest.mark.cpu
@pytest.mark.parametrize("name", CASES)
def test_a_rank_follows_from_what_reads_the_input(name: str) -> None:
    nodes, shape, weights = CASES[name]
    model = _unranked(nodes, _floats(*shape), weights)
    found = from_onnx(model)["main"].params[0].struct_info
    assert found.ndim == len(shape)
    check_sizes(model, [{"x": _floats(*shape)}])


@pytest.mark.cpu
def test_a_rank_that_nothing_tells_is_asked_for() -> None:
    model = _unranked([node("Exp", ["x"], ["y"])], _floats(2, 3))
    with pytest.raises(ShapeError, match=r"how many dimensions input 'x' has[\s\S]*shape_dict="):
        from_onnx(model)
    check_sizes(model, [{"x": _floats(2, 3)}], shape_dict={"x": ["n", "m"]})


def test_an_input_that_nothing_reads_may_have_any_rank() -> None:
    model = _unranked([node("Constant", [], ["y"], value_float=1.0)], _floats(2, 3))
    assert from_onnx(model)["main"].params[0].struct_info.ndim == -1


@pytest.mark.parametrize("kind", ["sequence", "optional"])
def test_what_is_no_tensor_is_taken_as_it_is(kind: str) -> None:
    """Its rank is not asked for."""
    make = getattr(helper, f"make_{kind}_type_proto")
    held = helper.make_value_info("x", make(helper.make_tensor_type_proto(1, None)))
    model = make_model([node("Identity", ["x"], ["y"])], {"x": _floats(2)}, ["y"])
    model.graph.input[0].CopyFrom(held)
    assert [param.name_hint for param in from_onnx(model)["main"].params] == ["x"]
