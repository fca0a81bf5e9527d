from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm.ir
from tvm import relax
from tvm.error import TVMError
from tvm.relax.frontend.onnx import from_onnx, onnx_frontend
from tvm.relax.frontend.onnx.onnx_frontend import (
    ONNXGraphImporter,
    get_constant,
    get_numpy,
    get_prim_expr_list,
    get_type,
)

onnx: Any = pytest.importorskip("onnx")


def model() -> Any:
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    x = helper.make_tensor_value_info("x.0", kind, ["n", 4])
    y = helper.make_tensor_value_info("y", kind, ["n", 4])
    weight = onnx.numpy_helper.from_array(np.arange(4, dtype="float32"), "w")
    node = helper.make_node("Add", ["x.0", "w"], ["y"])
    graph = helper.make_graph([node], "g", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])


def test_the_class_is_the_function() -> None:
    assert onnx_frontend.from_onnx is from_onnx
    shapes = {"x.0": [2, 4]}
    for keep in (False, True):
        mod = ONNXGraphImporter(shapes, "float32", keep).from_onnx(model().graph, 18)
        tvm.ir.assert_structural_equal(mod, from_onnx(model(), shapes, keep_params_in_input=keep))
    main = ONNXGraphImporter(shapes, None, sanitize=False).from_onnx(model().graph, 18)["main"]
    assert isinstance(main, relax.Function)
    assert main.params[0].name_hint == "x.0"


def test_types_and_values() -> None:
    assert get_type(onnx.TensorProto.FLOAT16) == "float16"
    assert get_type("int8") == "int8"
    assert get_numpy(model().graph.initializer[0]).tolist() == [0, 1, 2, 3]
    assert get_prim_expr_list(relax.const(np.array([2, 3]))) == [2, 3]
    assert [int(v) for v in get_prim_expr_list(relax.ShapeExpr([5, 6]))] == [5, 6]
    with pytest.raises(TVMError, match="no vector"):
        get_prim_expr_list(relax.const(1))


def test_a_weight_becomes_a_constant_once() -> None:
    w = relax.Var("w", relax.TensorStructInfo([2], "float32"))
    params: list[dict[str, Any]] = [{}, {"w": (w, np.ones(2, "float32"))}]
    found = get_constant(w, params)
    assert isinstance(found, relax.Constant)
    assert params == [{"w": found}, {}]
    assert get_constant(w, params) is w


def test_extents_as_models_write_them() -> None:
    known: dict[str, tvm.tir.SizeVar] = {}
    assert onnx_frontend.get_value("12", known) == 12
    height = onnx_frontend.get_value("H", known)
    assert onnx_frontend.get_value("H", known) is height
    assert onnx_frontend.get_value("?", known) is not onnx_frontend.get_value("?", known)
    assert str(onnx_frontend.parse_shape_name("H // 2 + W", known)) == "H // T.int64(2) + W"
    assert onnx_frontend.parse_shape_name("H", known) is height
    value = onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, "H", "H * W"])
    name, shape, dtype, written, after = onnx_frontend.get_info(value, known)
    assert (name, dtype, written) == ("x", "float32", [2, "H", "H * W"])
    assert shape[:2] == [2, height]
    assert str(shape[2]) == "H * W"
    assert after is known
