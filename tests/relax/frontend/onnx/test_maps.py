"""Maps from strings or integers that the caller gives, and what reads them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tvm
from tvm import relax
from tvm.error import ArgumentValueError, OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx
from tvm.runtime import strings

pytestmark = pytest.mark.cpu
FLOAT, INT64, STRING = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


def _model(op: str, keys: int, values: int, result: int, **attrs: Any) -> onnx.ModelProto:
    node = helper.make_node(op, ["x"], ["row"], domain="ai.onnx.ml", **attrs)
    same = helper.make_node("Identity", ["row"], ["y"])
    kind = helper.make_map_type_proto(keys, helper.make_tensor_type_proto(values, []))
    x, y = helper.make_value_info("x", kind), helper.make_tensor_value_info("y", result, None)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    graph = helper.make_graph([node, same], "maps", [x], [y])
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def _run(model: onnx.ModelProto, value: object) -> Any:
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    return vm["main"](value)


@pytest.mark.parametrize(
    ("op", "values", "result", "attrs", "given", "wanted"),
    [
        ("DictVectorizer", FLOAT, FLOAT, {"string_vocabulary": ["a", "b", "cc"]},
         {"a": 1.5, "zz": 3.0, "cc": 2}, [1.5, 0, 2]),
        ("DictVectorizer", INT64, INT64, {"int64_vocabulary": [5, 1]}, {1: 7, 9: 8}, [0, 7]),
        ("DictVectorizer", STRING, STRING, {"int64_vocabulary": [5, 1]}, {1: "p"}, ["", "p"]),
        ("CastMap", FLOAT, FLOAT, {}, {4: 1.5, -1: -2.5}, [-2.5, 1.5]),
        ("CastMap", STRING, INT64, {"cast_to": "TO_INT64"}, {4: "12", 1: "-3"}, [-3, 12]),
        ("CastMap", FLOAT, STRING, {"cast_to": "TO_STRING"}, {1: 1.5}, ["1.500000"]),
        ("CastMap", FLOAT, INT64, {"cast_to": "TO_INT64", "map_form": "SPARSE", "max_map": 4},
         {3: 1.7, 1: -2.7, 9: 5.0}, [0, -2, 0, 1]),
        ("CastMap", FLOAT, STRING, {"cast_to": "TO_STRING", "map_form": "SPARSE", "max_map": 2},
         {0: 1.7}, ["1.700000", "0.f"]),
    ],
)  # fmt: skip
def test_rows_of_maps(
    op: str, values: int, result: int, attrs: dict[str, Any], given: Any, wanted: list[Any]
) -> None:
    keys = STRING if isinstance(next(iter(given)), str) else INT64
    found = _run(_model(op, keys, values, result, **attrs), given)
    assert found.shape == (1, len(wanted))
    assert (strings.decode(found) if result == STRING else found.numpy()).tolist() == [wanted]


def test_rows_go_on_as_any_tensor() -> None:
    model = _model("DictVectorizer", STRING, FLOAT, FLOAT, string_vocabulary=["a", "b"])
    model.graph.node[1].CopyFrom(helper.make_node("MatMul", ["row", "w"], ["y"]))
    weight = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
    np.testing.assert_allclose(_run(model, {"b": 2.0}).numpy(), [[8, 10, 12]])


def test_other_maps_are_refused() -> None:
    model = _model("CastMap", INT64, FLOAT, FLOAT)
    with pytest.raises(TypeError, match="a dict of int64 to float32"):
        _run(model, {"a": 1.0})
    with pytest.raises(TypeError, match="legal: a dict"):
        _run(model, np.zeros(2, np.float32))
    with pytest.raises(ArgumentValueError, match="the key -1"):
        _run(_model("CastMap", INT64, FLOAT, FLOAT, map_form="SPARSE", max_map=3), {-1: 1.0})
    with pytest.raises(ArgumentValueError, match="legal: text of a float32"):
        _run(_model("CastMap", INT64, STRING, FLOAT), {1: "one"})


@pytest.mark.parametrize(
    ("op", "keys", "attrs", "words"),
    [
        ("CastMap", INT64, {"map_form": "THIN"}, "DENSE, SPARSE"),
        ("CastMap", INT64, {"cast_to": "TO_BOOL"}, "TO_INT64"),
        ("CastMap", INT64, {"map_form": "SPARSE", "max_map": 0}, "1 or more"),
        ("CastMap", STRING, {}, "tell the order"),
        ("DictVectorizer", INT64, {"string_vocabulary": ["a"]}, "keys of the map: int64"),
    ],
)
def test_attributes_that_do_not_fit(
    op: str, keys: int, attrs: dict[str, Any], words: str
) -> None:
    with pytest.raises(OpAttributeInvalid, match=words):
        from_onnx(_model(op, keys, FLOAT, FLOAT, **attrs))


def test_a_map_is_asked_for() -> None:
    model = _model("CastMap", INT64, FLOAT, FLOAT)
    model.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", FLOAT, [2]))
    with pytest.raises(OpAttributeInvalid, match="no map"):
        from_onnx(model)
    kind = helper.make_map_type_proto(INT64, helper.make_tensor_type_proto(TensorProto.BOOL, []))
    model.graph.input[0].CopyFrom(helper.make_value_info("x", kind))
    with pytest.raises(Exception, match="is a map of int64 to bool"):
        from_onnx(model)
