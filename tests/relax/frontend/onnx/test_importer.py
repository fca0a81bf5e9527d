"""`from_onnx` as a whole: inputs, weights, shapes, names, spans, small networks, errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import tvm
from tests.relax.frontend.onnx.models import Array, check, make_model, run_compiled, run_onnx
from tvm import relax, tir
from tvm.error import (
    CallCancelled,
    OpAttributeInvalid,
    OpError,
    OpNotImplemented,
    ShapeError,
    TVMError,
)
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.frontend.onnx.importer import OpConversionError
from tvm.relax.interp import Interpreter
from tvm.runtime import time_limit

node = helper.make_node
RNG = np.random.default_rng(7)


def _floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype("float32")


def _ints(*values: int) -> Array:
    return np.array(values, "int64")


def _raw_model(*nodes: onnx.NodeProto, kind: int = TensorProto.FLOAT) -> onnx.ModelProto:
    """A model from `x` (2, 3) to `y` that ONNX's own checks never see."""
    inputs = [helper.make_tensor_value_info("x", kind, [2, 3])]
    outputs = [helper.make_tensor_value_info("y", kind, [2, 3])]
    imports = [helper.make_opsetid("", 17)]
    return helper.make_model(helper.make_graph(nodes, "g", inputs, outputs), opset_imports=imports)


def _shape(info: Any) -> list[Any]:
    return [getattr(extent, "value", extent) for extent in info.shape.values]


def _ops(mod: tvm.IRModule) -> list[str]:
    bindings = [b for block in mod["main"].body.blocks for b in block.bindings]
    return [b.value.op.name for b in bindings if isinstance(b.value, relax.Call)]


# --- inputs ---


def test_inputs_take_the_names_shapes_and_types_of_the_model() -> None:
    arrays = {"a": _floats(2, 3), "b": _floats(3)}
    model = make_model([node("Add", ["a", "b"], ["y"])], arrays, ["y"])
    params = from_onnx(model)["main"].params
    assert [p.name_hint for p in params] == ["a", "b"]
    assert [_shape(p.struct_info) for p in params] == [[2, 3], [3]]
    assert {p.struct_info.dtype for p in params} == {"float32"}


def test_shape_dict_fixes_open_extents() -> None:
    model = make_model([node("Relu", ["x"], ["y"])], {"x": _floats(2, 3)}, ["y"],
                       shapes={"x": ["n", 3]})  # fmt: skip
    assert _shape(from_onnx(model, {"x": [4, 3]})["main"].params[0].struct_info) == [4, 3]
    renamed = from_onnx(model, {"x": ["batch", 3]})["main"].params[0].struct_info.shape.values[0]
    assert isinstance(renamed, tir.SizeVar)
    assert renamed.name == "batch"
    own = tir.SizeVar("m", "int64")
    assert from_onnx(model, {"x": [own, 3]})["main"].params[0].struct_info.shape.values[0] is own


def test_equal_names_of_extents_are_one_symbol() -> None:
    arrays = {"a": _floats(2, 3), "b": _floats(2, 3)}
    model = make_model([node("Add", ["a", "b"], ["y"])], arrays, ["y"],
                       shapes={"a": ["n", 3], "b": ["n", 3]})  # fmt: skip
    main = from_onnx(model)["main"]
    first, second = (p.struct_info.shape.values[0] for p in main.params)
    assert first is second
    assert main.ret_struct_info.shape.values[0] is first


def test_dtype_dict_names_types_that_the_model_leaves_open() -> None:
    model = _raw_model(node("Add", ["x", "x"], ["y"]), kind=TensorProto.UNDEFINED)
    assert from_onnx(model)["main"].params[0].struct_info.dtype == "float32"
    assert from_onnx(model, dtype_dict="float64")["main"].ret_struct_info.dtype == "float64"
    assert from_onnx(model, dtype_dict={"x": "int32"})["main"].ret_struct_info.dtype == "int32"


def test_names_become_identifiers_unless_told_otherwise() -> None:
    arrays = {"in/0.a": _floats(2), "in/0_a": _floats(2), "1st": _floats(2)}
    model = make_model([node("Sum", list(arrays), ["y"])], arrays, ["y"])
    names = [p.name_hint for p in from_onnx(model)["main"].params]
    assert names == ["in_0_a", "in_0_a_1", "input_1st"]
    kept = from_onnx(model, sanitize_input_names=False)["main"].params
    assert [p.name_hint for p in kept] == list(arrays)


def test_weights_listed_as_inputs_are_weights() -> None:
    model = make_model([node("Mul", ["x", "w"], ["y"])], {"x": _floats(2, 3)}, ["y"],
                       {"w": _floats(3)})  # fmt: skip
    model.graph.input.append(helper.make_tensor_value_info("w", TensorProto.FLOAT, [3]))
    assert [p.name_hint for p in from_onnx(model)["main"].params] == ["x"]


def test_keep_params_in_input() -> None:
    weight, x = _floats(3, 4), _floats(2, 3)
    model = make_model([node("MatMul", ["x", "w/0"], ["y"])], {"x": x}, ["y"], {"w/0": weight})
    mod = from_onnx(model, keep_params_in_input=True)
    assert [p.name_hint for p in mod["main"].params] == ["x", "w_0"]
    assert int(mod["main"].attrs["num_input"]) == 1
    mod, params = relax.frontend.detach_params(mod)
    assert "params" not in mod["main"].attrs
    assert [list(one) for one in params.values()] == [params["main"]]
    np.testing.assert_array_equal(params["main"][0].numpy(), weight)
    got = Interpreter(mod).run("main", x, weight)
    np.testing.assert_allclose(got, x @ weight, rtol=1e-5)


def test_kept_params_are_all_initializers() -> None:
    """Whole numbers as well, though shapes and axes follow from them here."""
    nodes = [
        node("Gather", ["x", "rows"], ["h"]),
        node("Concat", ["one", "rest"], ["target"], axis=0),
        node("Reshape", ["h", "target"], ["r"]),
        node("MatMul", ["r", "w"], ["y"]),
    ]
    weights = {"rows": _ints(2, 0), "one": _ints(4), "rest": _ints(-1), "w": _floats(3, 2)}
    x = _floats(3, 6)
    mod = from_onnx(make_model(nodes, {"x": x}, ["y"], weights), keep_params_in_input=True)
    main = mod["main"]
    assert [p.name_hint for p in main.params] == ["x", *weights]
    assert [int(extent) for extent in main.ret_struct_info.shape] == [4, 2]
    held = main.attrs["params"]
    for array, one in zip(weights.values(), held):
        np.testing.assert_array_equal(one.numpy(), array)
        assert (one.shape, one.dtype) == (array.shape, str(array.dtype))
    got = Interpreter(mod).run("main", x, *weights.values())
    np.testing.assert_allclose(got, x[[2, 0]].reshape(4, 3) @ weights["w"], rtol=1e-5)


def test_a_model_without_weights_has_none_to_detach() -> None:
    mod = from_onnx(_raw_model(node("Relu", ["x"], ["y"])))
    again, params = relax.frontend.detach_params(mod)
    assert params == {}
    tvm.ir.assert_structural_equal(again, mod)


# --- shape arithmetic ---


def _flattening(x: Array, shapes: Any) -> onnx.ModelProto:
    """Reshape to (batch, -1), where the model itself computes the batch."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Gather", ["shape", "zero"], ["batch"], axis=0),
        node("Unsqueeze", ["batch", "axes"], ["row"]),
        node("Concat", ["row", "rest"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"]),
    ]
    weights = {"zero": np.array(0, "int64"), "axes": _ints(0), "rest": _ints(-1)}
    return make_model(nodes, {"x": x}, ["y"], weights, shapes=shapes)


def test_shape_chain_of_known_sizes_is_one_reshape() -> None:
    x = _floats(2, 3, 4)
    model = _flattening(x, None)
    assert _ops(from_onnx(model)) == ["relax.reshape"]
    check(model, {"x": x})


def test_shape_chain_of_symbolic_sizes_is_one_reshape() -> None:
    model = _flattening(_floats(2, 3, 4), {"x": ["n", 3, 4]})
    mod = from_onnx(model)
    assert _ops(mod) == ["relax.reshape"]
    batch, rest = mod["main"].ret_struct_info.shape.values
    assert batch is mod["main"].params[0].struct_info.shape.values[0]
    assert rest.value == 12
    for count in (1, 5):
        check(model, {"x": _floats(count, 3, 4)})


def test_arithmetic_on_symbolic_sizes() -> None:
    """Halves of an axis, split off by slices whose bounds the model computes."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Slice", ["shape", "one", "two"], ["width"]),
        node("Mul", ["width", "two"], ["double"]),
        node("Div", ["double", "two"], ["back"]),
        node("Concat", ["back", "minus"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["y"]),
    ]
    weights = {"one": _ints(1), "two": _ints(2), "minus": _ints(-1)}
    x = _floats(3, 8)
    model = make_model(nodes, {"x": x}, ["y"], weights, shapes={"x": ["n", 8]})
    assert _ops(from_onnx(model)) == ["relax.reshape"]
    check(model, {"x": x})


def test_a_shape_that_is_also_a_result_becomes_a_tensor() -> None:
    nodes = [node("Shape", ["x"], ["shape"]), node("Relu", ["x"], ["y"])]
    model = make_model(nodes, {"x": _floats(2, 3)}, ["y", "shape"], shapes={"x": ["n", 3]})
    got = run_compiled(model, {"x": _floats(5, 3)})
    assert got[1].tolist() == [5, 3]


def test_constant_nodes() -> None:
    nodes = [
        node("Constant", [], ["a"], value=numpy_helper.from_array(np.float32([1, 2, 3]))),
        node("Constant", [], ["b"], value_float=0.5),
        node("Constant", [], ["axes"], value_ints=[1]),
        node("Mul", ["x", "a"], ["xa"]),
        node("Add", ["xa", "b"], ["z"]),
        node("ReduceSum", ["z", "axes"], ["y"]),
    ]
    x = _floats(2, 3)
    check(make_model(nodes, {"x": x}, ["y"]), {"x": x})


# --- names and spans ---


def test_calls_name_the_node_they_came_from() -> None:
    nodes = [node("Relu", ["x"], ["a"], name="block1/relu"), node("Exp", ["a"], ["y"])]
    main = from_onnx(make_model(nodes, {"x": _floats(2)}, ["y"]))["main"]
    calls = [b.value for b in main.body.blocks[0].bindings if isinstance(b.value, relax.Call)]
    assert [call.span.source_name.name for call in calls] == ["block1/relu", "Exp_1"]
    assert [call.span.line for call in calls] == [1, 2]


def test_profile_names_all_nodes_of_a_fused_kernel() -> None:
    nodes = [
        node("Conv", ["x", "w"], ["a"], name="stem/conv", pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"], name="stem/relu"),
        node("Add", ["b", "x"], ["y"], name="stem/add"),
    ]
    x, w = _floats(1, 3, 8, 8), _floats(3, 3, 3, 3)
    model = make_model(nodes, {"x": x}, ["y"], {"w": w})
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    rows = vm.profile("main", x).calls
    assert [row["Sources"] for row in rows] == ["stem/conv, stem/relu, stem/add"]


# --- results ---


@pytest.mark.cpu
def test_several_results() -> None:
    nodes = [node("Relu", ["x"], ["a"]), node("Exp", ["a"], ["b"]), node("Neg", ["x"], ["c"])]
    x = _floats(2, 3)
    check(make_model(nodes, {"x": x}, ["b", "a", "c"]), {"x": x})


@pytest.mark.cpu
def test_the_last_operator_is_bound_to_the_result() -> None:
    last = helper.make_node("Tanh", ["r"], ["y"])
    nodes = [helper.make_node("Relu", ["x"], ["r"]), last]
    mod = from_onnx(_raw_model(*nodes))
    x = relax.Var("x", mod["main"].params[0].struct_info)
    bb = relax.BlockBuilder()
    with bb.function("main", [x], {"num_input": 1}):
        with bb.dataflow():
            result = bb.emit_output(relax.op.tanh(bb.emit(relax.op.nn.relu(x))))
        bb.emit_func_output(result)
    tvm.ir.assert_structural_equal(mod, bb.get(), map_free_vars=True)


def test_a_tensor_of_an_open_shape_is_one_number_spread_out() -> None:
    model = make_model(
        [
            helper.make_node("Shape", ["x"], ["s"]),
            helper.make_node("Gather", ["s", "i"], ["n"]),
            helper.make_node(
                "ConstantOfShape", ["n"], ["y"],
                value=helper.make_tensor("v", TensorProto.INT64, [1], [7]),
            ),
        ],
        {"x": _floats(3, 2)}, ["y"], {"i": _ints(0)}, shapes={"x": ["n", "m"]},
    )  # fmt: skip
    mod = from_onnx(model)
    assert 'R.broadcast_to(R.const(7, "int64"), R.shape([n]))' in mod.script()
    np.testing.assert_array_equal(Interpreter(mod).run("main", _floats(3, 2)), [7, 7, 7])


def test_a_result_that_is_also_an_input() -> None:
    x = _floats(2, 3)
    check(make_model([node("Relu", ["x"], ["y"])], {"x": x}, ["y", "x"]), {"x": x})


@pytest.mark.cpu
def test_one_result_twice() -> None:
    x = _floats(2, 3)
    nodes = [node("Relu", ["x"], ["y"]), node("Identity", ["y"], ["z"])]
    check(make_model(nodes, {"x": x}, ["y", "z"]), {"x": x})


@pytest.mark.cpu
def test_a_constant_result() -> None:
    value = numpy_helper.from_array(np.arange(3, dtype="float32"))
    nodes = [node("Constant", [], ["c"], value=value), node("Relu", ["x"], ["y"])]
    x = _floats(2)
    check(make_model(nodes, {"x": x}, ["c", "y"]), {"x": x})


def test_output_names_are_kept() -> None:
    nodes = [node("Relu", ["x"], ["head/a"]), node("Exp", ["x"], ["head/b"])]
    mod = from_onnx(make_model(nodes, {"x": _floats(2)}, ["head/b", "head/a"]))
    assert set(mod["main"].attrs.keys()) == {"global_symbol", "num_input"}
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    assert [value.name for value in vm.signature("main").results] == ["head/b", "head/a"]


@pytest.mark.cpu
@pytest.mark.parametrize("op", ["LayerNormalization", "Gelu"])
def test_operators_younger_than_the_operator_set(op: str) -> None:
    """A converter, and a body: as they are now."""
    arrays = {"x": _floats(2, 3), "w": _floats(3)}
    inputs = ["x", "w"] if op == "LayerNormalization" else ["x"]
    model = make_model([node(op, inputs, ["y"])], arrays, ["y"], opset=21)
    model.graph.input.pop() if op == "Gelu" else None
    used = [arrays[name] for name in inputs]
    wanted = run_onnx(model, dict(zip(inputs, used)))[0]
    vm = relax.VirtualMachine(tvm.compile(from_onnx(model, opset=14), "llvm"), tvm.cpu())
    np.testing.assert_allclose(vm["main"](*used).numpy(), wanted, rtol=1e-5, atol=1e-5)


# --- small networks ---


def _attention(size: int, heads: int) -> tuple[list[onnx.NodeProto], dict[str, Array]]:
    """One block of a transformer: attention and a layer with GELU, each normalised and added."""
    width = size // heads
    nodes = [
        node("LayerNormalization", ["x", "g1", "b1"], ["h"], axis=-1),
        *[node("MatMul", ["h", f"w{p}"], [p]) for p in "qkv"],
        node("Shape", ["x"], ["s"]),
        node("Gather", ["s", "i0"], ["batch"]),
        node("Gather", ["s", "i1"], ["length"]),
        node("Unsqueeze", ["batch", "zero"], ["batch1"]),
        node("Unsqueeze", ["length", "zero"], ["length1"]),
        node("Concat", ["batch1", "length1", "heads"], ["split_shape"], axis=0),
        *[node("Reshape", [p, "split_shape"], [f"{p}4"]) for p in "qkv"],
        node("Transpose", ["q4"], ["qt"], perm=[0, 2, 1, 3]),
        node("Transpose", ["k4"], ["kt"], perm=[0, 2, 3, 1]),
        node("Transpose", ["v4"], ["vt"], perm=[0, 2, 1, 3]),
        node("MatMul", ["qt", "kt"], ["scores"]),
        node("Div", ["scores", "root"], ["scaled"]),
        node("Softmax", ["scaled"], ["weights"], axis=-1),
        node("MatMul", ["weights", "vt"], ["mixed"]),
        node("Transpose", ["mixed"], ["mixed_t"], perm=[0, 2, 1, 3]),
        node("Concat", ["batch1", "length1", "size"], ["join_shape"], axis=0),
        node("Reshape", ["mixed_t", "join_shape"], ["joined"]),
        node("MatMul", ["joined", "wo"], ["projected"]),
        node("Add", ["x", "projected"], ["r"]),
        node("LayerNormalization", ["r", "g2", "b2"], ["h2"], axis=-1),
        node("MatMul", ["h2", "wu"], ["up"]),
        node("Div", ["up", "sqrt2"], ["u1"]),
        node("Erf", ["u1"], ["u2"]),
        node("Add", ["u2", "one"], ["u3"]),
        node("Mul", ["up", "u3"], ["u4"]),
        node("Mul", ["u4", "half"], ["act"]),
        node("MatMul", ["act", "wd"], ["down"]),
        node("Add", ["r", "down"], ["y"]),
    ]
    weights = {f"w{p}": _floats(size, size) / 4 for p in "qkvo"}
    weights |= {"wu": _floats(size, 2 * size) / 4, "wd": _floats(2 * size, size) / 4}
    weights |= {name: _floats(size) for name in ("g1", "b1", "g2", "b2")}
    weights |= {"i0": np.array(0, "int64"), "i1": np.array(1, "int64"), "zero": _ints(0)}
    weights |= {"heads": _ints(heads, width), "size": _ints(size)}
    numbers = {"root": width**0.5, "sqrt2": 2**0.5, "one": 1.0, "half": 0.5}
    weights |= {name: np.float32(value) for name, value in numbers.items()}
    return nodes, {name: np.asarray(array) for name, array in weights.items()}


@pytest.mark.cpu
@pytest.mark.parametrize("shape", [None, ["batch", "length", 16]])
def test_transformer_block(shape: Any) -> None:
    nodes, weights = _attention(16, 2)
    shapes = None if shape is None else {"x": shape}
    model = make_model(nodes, {"x": _floats(2, 5, 16)}, ["y"], weights, shapes=shapes)
    for batch, length in [(2, 5)] if shape is None else [(1, 3), (2, 5)]:
        check(model, {"x": _floats(batch, length, 16)}, rtol=1e-4)


@pytest.mark.cpu
@pytest.mark.parametrize("shape", [None, ["n", 3, 12, 12]])
def test_residual_network(shape: Any) -> None:
    """Strided stem, a block with a projected shortcut, pooling, a dense head."""

    def norm(source: str, name: str, channels: int) -> onnx.NodeProto:
        for part in ("scale", "shift", "mean"):
            weights[f"{name}_{part}"] = _floats(channels)
        weights[f"{name}_var"] = np.abs(_floats(channels)) + 0.5
        parts = [f"{name}_{part}" for part in ("scale", "shift", "mean", "var")]
        return node("BatchNormalization", [source, *parts], [name], name=name)

    weights: dict[str, Array] = {
        "stem_w": _floats(8, 3, 3, 3) / 4, "a_w": _floats(16, 8, 3, 3) / 4, "a_b": _floats(16),
        "b_w": _floats(16, 16, 3, 3) / 4, "p_w": _floats(16, 8, 1, 1) / 4,
        "head_w": _floats(10, 16), "head_b": _floats(10),
    }  # fmt: skip
    nodes = [
        node("Conv", ["x", "stem_w"], ["stem"], strides=[2, 2], pads=[1, 1, 1, 1]),
        norm("stem", "stem_n", 8),
        node("Relu", ["stem_n"], ["s"]),
        node("MaxPool", ["s"], ["m"], kernel_shape=[3, 3], strides=[1, 1], pads=[1, 1, 1, 1]),
        node("Conv", ["m", "a_w", "a_b"], ["a"], strides=[2, 2], pads=[1, 1, 1, 1]),
        norm("a", "a_n", 16),
        node("Relu", ["a_n"], ["ar"]),
        node("Conv", ["ar", "b_w"], ["b"], pads=[1, 1, 1, 1]),
        norm("b", "b_n", 16),
        node("Conv", ["m", "p_w"], ["p"], strides=[2, 2]),
        norm("p", "p_n", 16),
        node("Add", ["b_n", "p_n"], ["sum"]),
        node("Relu", ["sum"], ["r"]),
        node("GlobalAveragePool", ["r"], ["pooled"]),
        node("Flatten", ["pooled"], ["flat"]),
        node("Gemm", ["flat", "head_w", "head_b"], ["logits"], transB=1),
        node("Softmax", ["logits"], ["y"], axis=-1),
    ]
    shapes = None if shape is None else {"x": shape}
    model = make_model(nodes, {"x": _floats(2, 3, 12, 12)}, ["y"], weights, shapes=shapes)
    for count in (2,) if shape is None else (1, 3):
        check(model, {"x": _floats(count, 3, 12, 12)}, rtol=1e-4)


# --- bad input ---


def _message(raised: type[BaseException], call: Callable[[], object]) -> str:
    with pytest.raises(raised) as caught:
        call()
    assert isinstance(caught.value, (TVMError, TypeError))
    return str(caught.value)


def test_rejects_all_unsupported_operators_at_once() -> None:
    model = _raw_model(
        node("Frobnicate", ["x"], ["a"], name="first"),
        node("Relux", ["a"], ["b"]),
        node("Frobnicate", ["b"], ["c"], name="second"),
        node("Gelu", ["c"], ["d"], domain="com.example", name="odd"),
        node("Relu", ["d"], ["y"]),
    )
    text = _message(OpNotImplemented, lambda: from_onnx(model))
    known, text = text.split("  legal: ")[1], text.split("  legal: ")[0]
    assert text == (
        "The following operators are not supported for frontend ONNX: "
        "Frobnicate, Relux, com.example.Gelu\n"
        "  found: 3 operators without a converter:\n"
        "         Frobnicate (first, second)\n"
        "         Relux (Relux_1)\n"
        "         com.example.Gelu (odd)\n"
        "  where: operator set 17\n"
    )
    assert "operators are known, among them" in known
    assert "Relu" in known


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (
            {"imag": [2, 3]},
            "from_onnx: shape_dict names 'imag', which is no input of the model; did you mean "
            "'image'?\n  legal: image",
        ),
        (
            {"image": [2, 3, 4]},
            "from_onnx: shape_dict gives input 'image' a rank that the model rules out\n"
            "  found: [2, 3, 4]\n  legal: ['n', 3]",
        ),
        (
            {"image": [-1, 3]},
            "from_onnx: an extent of input 'image' is no size\n"
            "  found: -1\n  legal: a number that is not negative, a name, or a tir expression",
        ),
    ],
    ids=["name", "rank", "negative"],
)
def test_rejects_shapes_that_do_not_fit(shapes: Any, message: str) -> None:
    model = make_model([node("Relu", ["image"], ["y"])], {"image": _floats(2, 3)}, ["y"],
                       shapes={"image": ["n", 3]})  # fmt: skip
    assert _message(ShapeError, lambda: from_onnx(model, shapes)) == message


def test_a_model_of_one_image_is_read_for_several() -> None:
    model = make_model(
        [node("Flatten", ["x"], ["f"]), node("Concat", ["f", "f"], ["y"], axis=0)],
        {"x": _floats(1, 2, 3)}, ["y"], shapes={"x": [1, 2, 3]},
    )  # fmt: skip
    n = tir.SizeVar("n", "int64")
    for given, rows in ((4, 8), (n, n * 2)):
        result = from_onnx(model, {"x": [given, 2, 3]})["main"].ret_struct_info
        wanted = relax.TensorStructInfo((rows, 6), "float32")
        tvm.ir.assert_structural_equal(result, wanted, map_free_vars=True)


def test_rejects_what_is_no_model() -> None:
    assert _message(TypeError, lambda: from_onnx("model.onnx")) == (
        "from_onnx: the model is no ONNX model\n"
        "  found: str\n"
        "  legal: onnx.ModelProto or onnx.GraphProto, as onnx.load(path) gives it"
    )


def test_rejects_a_value_that_nothing_makes() -> None:
    model = _raw_model(node("Relu", ["weight"], ["y"], name="r"))
    assert _message(TVMError, lambda: from_onnx(model)) == (
        "from_onnx: no node or input gives the value 'weight'\n"
        "  where: input of node 'r' (Relu)\n"
        "  legal: a graph in which every value is made before it is read"
    )


def test_rejects_a_result_that_nothing_makes() -> None:
    model = _raw_model(node("Relu", ["x"], ["yy"]))
    assert _message(TVMError, lambda: from_onnx(model)) == (
        "from_onnx: no node or input gives the value 'y'; did you mean 'yy'?\n"
        "  where: output of the model\n"
        "  legal: a graph in which every value is made before it is read"
    )


def test_rejects_operands_that_do_not_fit_and_names_the_node() -> None:
    model = _raw_model(node("MatMul", ["x", "x"], ["y"], name="layer/matmul"))
    text = _message(OpConversionError, lambda: from_onnx(model))
    assert text.startswith(
        "from_onnx: node 'layer/matmul' (MatMul) cannot be converted\n"
        "  found: relax.matmul: inner dimensions differ"
    )
    assert text.endswith("where: node number 0 of the graph")


def test_rejects_an_attribute_out_of_range() -> None:
    model = _raw_model(node("Softmax", ["x"], ["y"], name="soft", axis=5))
    assert _message(OpAttributeInvalid, lambda: from_onnx(model)) == (
        "ONNX Softmax 'soft': attribute 'axis'\n  found: 5\n  legal: -2 ... 1"
    )


def test_rejects_a_missing_input() -> None:
    model = _raw_model(node("Add", ["x"], ["y"], name="half"))
    assert _message(OpError, lambda: from_onnx(model)) == (
        "ONNX Add 'half': input number 1 is missing"
    )


def test_rejects_axes_that_the_model_computes() -> None:
    nodes = [node("ReduceSum", ["x", "axes"], ["y"], name="sum")]
    arrays = {"x": _floats(2, 3), "axes": _ints(0)}
    model = make_model(nodes, arrays, ["y"])
    assert _message(OpAttributeInvalid, lambda: from_onnx(model)) == (
        "ONNX ReduceSum 'sum': axes (input 1) must be constant\n  found: the model computes it"
    )


def test_rejects_a_weight_with_too_little_data() -> None:
    model = make_model([node("Mul", ["x", "w"], ["y"])], {"x": _floats(2, 3)}, ["y"],
                       {"w": _floats(3)})  # fmt: skip
    model.graph.initializer[0].raw_data = b"\0\0"
    assert "ONNX tensor 'w' cannot be read" in _message(OpError, lambda: from_onnx(model))


def test_runs_as_onnx_runtime_on_a_graph_proto() -> None:
    x = _floats(2, 3)
    model = make_model([node("Relu", ["x"], ["y"])], {"x": x}, ["y"])
    mod = from_onnx(model.graph, opset=17)
    wanted = run_onnx(model, {"x": x})[0]
    np.testing.assert_array_equal(Interpreter(mod).run("main", x), wanted)


def test_a_picture_of_any_size_is_resized() -> None:
    nodes = [helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear",
                              coordinate_transformation_mode="asymmetric")]  # fmt: skip
    x = np.random.default_rng(0).random((1, 2, 4, 5), "float32")
    weights = {"scales": np.array([1, 1, 2, 3], "float32")}
    shapes = {"x": [1, 2, "h", "w"]}
    check(make_model(nodes, {"x": x}, ["y"], weights, shapes=shapes), {"x": x})


def test_what_data_chooses_is_used_on() -> None:
    nodes = [
        helper.make_node("NonZero", ["x"], ["places"], name="chosen"),
        helper.make_node("Transpose", ["places"], ["rows"]),
        helper.make_node("GatherND", ["x", "rows"], ["values"]),
        helper.make_node("Mul", ["values", "values"], ["y"]),
    ]
    x = np.array([[0, 2, 0], [3, 0, 5]], "float32")
    check(make_model(nodes, {"x": x}, ["y"]), {"x": x})


@pytest.mark.parametrize("op", ["NonZero", "Compress"])
def test_how_many_places_a_constant_has_is_known(op: str) -> None:
    node = helper.make_node(op, ["w"] if op == "NonZero" else ["x", "w"], ["y"], axis=1)
    if op == "NonZero":
        del node.attribute[:]
    x = np.random.default_rng(0).random((2, 4), "float32")
    weights = {"w": np.array([True, False, True, True])}
    model = make_model([node], {"x": x}, ["y"], weights)
    shape = [1, 3] if op == "NonZero" else [2, 3]
    assert [int(e) for e in from_onnx(model)["main"].ret_struct_info.shape.values] == shape
    check(model, {"x": x})


@pytest.mark.parametrize(
    ("op", "attrs", "told"),
    [
        ("Resize", {"mode": "quintic"}, "nearest, linear, cubic"),
        ("Resize", {"coordinate_transformation_mode": "odd"}, "half_pixel"),
        ("Resize", {"keep_aspect_ratio_policy": "odd"}, "not_larger"),
        ("LSTM", {"hidden_size": 2, "direction": "up"}, "bidirectional"),
        ("RNN", {"hidden_size": 2, "activations": ["Cubic"]}, "sigmoid"),
        ("SequenceLength", {}, "a sequence"),
    ],
)
def test_attributes_that_are_refused(op: str, attrs: dict[str, Any], told: str) -> None:
    x = helper.make_tensor_value_info("x", 1, [1, 2, 3, 4] if op == "Resize" else [3, 1, 4])
    weights = {
        "sizes": np.array([1, 2, 5, 5]), "w": np.zeros((1, 8 if op == "LSTM" else 2, 4), "float32"),
        "r": np.zeros((1, 8 if op == "LSTM" else 2, 2), "float32"),
    }  # fmt: skip
    inputs = {"Resize": ["x", "", "", "sizes"], "SequenceLength": ["x"]}.get(op, ["x", "w", "r"])
    node = helper.make_node(op, inputs, ["y"], name="the/node", **attrs)
    constants = [numpy_helper.from_array(value, name) for name, value in weights.items()]
    graph = helper.make_graph([node], "g", [x], [onnx.ValueInfoProto(name="y")], constants)
    with pytest.raises(OpAttributeInvalid, match=told):
        from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]))


def test_importing_ends_between_two_nodes() -> None:
    nodes = [helper.make_node("Relu", [f"x{i}"], [f"x{i + 1}"], name=f"n{i}") for i in range(3)]
    model = make_model(nodes, {"x0": np.zeros(2, "float32")}, ["x3"])
    with time_limit() as limit:
        limit.cancel()
        with pytest.raises(CallCancelled, match="before node n0"):
            from_onnx(model)
    assert from_onnx(model)
