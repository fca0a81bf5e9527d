"""Bad models: each is refused in words of ours, whatever is wrong with it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
import pytest
from google.protobuf.message import DecodeError
from onnx import TensorProto, helper, numpy_helper

import tvm
from tests.relax.frontend.onnx.models import Array, make_model
from tvm import relax
from tvm.error import ShapeError, TVMError
from tvm.relax.frontend.onnx import from_onnx

node = helper.make_node
X = np.ones((2, 3), "float32")


def _model(*nodes: onnx.NodeProto, **weights: Any) -> onnx.ModelProto:
    """A model from `x` (2, 3) to `y` that ONNX's own checks never see."""
    model = make_model([node("Relu", ["x"], ["y"])], {"x": X}, ["y"])
    if nodes:
        del model.graph.node[:]
        model.graph.node.extend(nodes)
    for name, array in weights.items():
        model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), name))
    return model


def _weight(change: Callable[[onnx.TensorProto], None]) -> onnx.ModelProto:
    model = _model(node("Add", ["x", "w"], ["y"]), w=np.ones(3, "float32"))
    change(model.graph.initializer[0])
    return model


def _cut(tensor: onnx.TensorProto) -> None:
    tensor.raw_data = tensor.raw_data[:5]


def _longer(tensor: onnx.TensorProto) -> None:
    tensor.dims[0] = 7


def _of_no_type(tensor: onnx.TensorProto) -> None:
    tensor.data_type = 77


def _elsewhere(tensor: onnx.TensorProto) -> None:
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    entry = tensor.external_data.add()
    entry.key, entry.value = "location", "nowhere.bin"


def _input(change: Callable[[Any], None]) -> onnx.ModelProto:
    model = _model()
    change(model.graph.input[0].type)
    return model


def _no_such_type(kind: Any) -> None:
    kind.tensor_type.elem_type = 99


def _reference() -> onnx.ModelProto:
    model = _model(node("LeakyRelu", ["x"], ["y"]))
    model.graph.node[0].attribute.add(name="alpha", ref_attr_name="q", type=1)
    return model


def _inner(nodes: Sequence[onnx.NodeProto], inputs: str, outputs: str) -> onnx.GraphProto:
    return helper.make_graph(
        list(nodes), "inner", [onnx.ValueInfoProto(name=name) for name in inputs],
        [onnx.ValueInfoProto(name=name) for name in outputs],
    )  # fmt: skip


def _function() -> onnx.ModelProto:
    body = [node("Add", ["a", "b"], ["c"])]
    made = helper.make_function("own", "F", ["a", "b"], ["c"], body, [helper.make_opsetid("", 17)])
    model = _model(node("F", ["x"], ["y"], domain="own"))
    model.functions.append(made)
    return model


CIRCLE = [node("Add", ["x", "b"], ["a"]), node("Add", ["a", "x"], ["b"]), node("Neg", ["b"], ["y"])]
SEQUENCE = [node("SequenceConstruct", ["x"], ["s"]), node("Relu", ["s"], ["y"])]
ROW: Array = np.array([5, 7])
CASES = {
    "circle": (lambda: _model(*CIRCLE), "no node or input gives the value 'b'"),
    "missing weight": (lambda: _model(node("Add", ["x", "w"], ["y"])), "gives the value 'w'"),
    "cut weight": (lambda: _weight(_cut), "tensor 'w' cannot be read"),
    "weight of other extents": (lambda: _weight(_longer), "tensor 'w' cannot be read"),
    "weight of no type": (lambda: _weight(_of_no_type), "tensor 'w' cannot be read"),
    "weight in a missing file": (lambda: _weight(_elsewhere), "nowhere.bin"),
    "input of no type": (lambda: _input(_no_such_type), "found: 99"),
    "huge tensor": (lambda: _model(node("ConstantOfShape", ["s"], ["y"]), s=[2**40, 2**40]),
                    "an address space holds"),
    "word for a number": (lambda: _model(node("Softmax", ["x"], ["y"], axis="one")), "invalid lit"),
    "axis out of range": (lambda: _model(node("Softmax", ["x"], ["y"], axis=9)), r"-2 \.\.\. 1"),
    "missing attribute": (lambda: _model(node("Cast", ["x"], ["y"])), "'to' is missing"),
    "missing input": (lambda: _model(node("Add", [], ["y"])), "input number 0 is missing"),
    "floats as indices": (lambda: _model(node("GatherND", ["x", "x"], ["y"])), "GatherND"),
    "shape of other size": (lambda: _model(node("Reshape", ["x", "s"], ["y"]), s=ROW), "elements"),
    "missing graph": (lambda: _model(node("If", ["x"], ["y"])), "'then_branch' is missing"),
    "number for a graph": (lambda: _model(node("If", ["x"], ["y"], then_branch=3)),
                           "'then_branch' is missing"),
    "loop that reads what is not there": (
        lambda: _model(node("Loop", ["", "", "x"], ["y"],
                            body=_inner([node("Identity", ["q"], ["b"])], "icv", "bv"))),
        "gives the value 'q'"),
    "loop with too few outputs": (
        lambda: _model(node("Loop", ["", "", "x"], ["y"],
                            body=_inner([node("Identity", ["c"], ["b"])], "icv", "b"))),
        "gives the value 'y'"),
    "scan of nothing": (
        lambda: _model(node("Scan", ["x"], ["y"],
                            body=_inner([node("Identity", ["c"], ["b"])], "c", "b"))),
        "'num_scan_inputs' is missing"),
    "known values, axis out of range": (
        lambda: _model(node("Gather", ["s", "s"], ["y"], axis=4), s=ROW), r"-1 \.\.\. 0"),
    "known values of other ranks": (
        lambda: _model(node("Concat", ["s", "t"], ["y"], axis=0), s=ROW, t=ROW[None]),
        "numbers of dimensions differ"),
    "known values, no single element": (
        lambda: _model(node("Squeeze", ["s"], ["y"], axes=[0]), s=ROW), "dimension 0 is not 1"),
    "bounds of other lengths": (
        lambda: _model(node("Slice", ["x", "s", "e"], ["y"]), s=[0, 1], e=[1]), "cannot be conv"),
    "more outputs than there are": (
        lambda: _model(node("Relu", ["x"], ["z", "y"])), "gives the value 'y'"),
    "sequence for a tensor": (lambda: _model(*SEQUENCE), "must be a tensor"),
    "attribute of no function": (_reference, "reference attribute"),
    "function with too few inputs": (_function, "input number 1 is missing"),
    "more than there is": (
        lambda: _model(node("TopK", ["x", "k"], ["y", "i"]), k=[50]), "k <= 3"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_bad_models(name: str) -> None:
    make, words = CASES[name]
    with pytest.raises(TVMError, match=words):
        from_onnx(make())


@pytest.mark.parametrize("cut", [1, 7, 30, 60])
def test_files_that_are_cut(cut: int) -> None:
    """A part of a file is nothing that protobuf reads, or a model that lacks something."""
    content = _model().SerializeToString()[:-cut]
    with contextlib.suppress(DecodeError, TVMError):
        from_onnx(onnx.ModelProto.FromString(content))


@pytest.mark.parametrize("name", [b"NAMEX", b"INPUTX", b"Relu", b"OUTX", b"DOMX"])
def test_names_that_are_no_text(name: bytes) -> None:
    inner = node("Relu", ["INPUTX"], ["OUTX"], name="NAMEX", domain="DOMX")
    model = make_model([node("Relu", ["INPUTX"], ["OUTX"])], {"INPUTX": X}, ["OUTX"])
    del model.graph.node[:]
    model.graph.node.append(inner)
    damaged = model.SerializeToString().replace(name, b"\xff" + name[1:])
    with pytest.raises(ValueError, match=r"found: the name b'\\xff.*\n.*\n  legal: UTF-8"):
        from_onnx(onnx.load_from_string(damaged))


def run(model: onnx.ModelProto, *args: Array) -> Array:
    machine = relax.VirtualMachine(tvm.compile(from_onnx(model), target="llvm"), tvm.cpu())
    found: Array = machine["main"](*[tvm.runtime.tensor(arg) for arg in args]).numpy()
    return found


def test_more_sizes_than_any_shape_has() -> None:
    shape = np.zeros(5000, "int64")
    for op in ("Expand", "Reshape"):
        model = make_model([node(op, ["x", "s"], ["y"])], {"x": X, "s": shape}, ["y"])
        with pytest.raises(TVMError, match="at most 4,096 sizes"):
            from_onnx(model)


def test_sizes_of_an_unknown_number() -> None:
    inputs = {"x": X, "s": np.zeros(2, "int64")}
    model = make_model([node("Reshape", ["x", "s"], ["y"])], inputs, ["y"])
    model.graph.input[1].type.tensor_type.shape.dim[0].dim_param = "k"
    with pytest.raises(TVMError, match="of one axis, whose extent is known"):
        from_onnx(model)


@pytest.mark.parametrize("version", [1 << 40, -(1 << 40), (1 << 63) - 1])
def test_versions_that_nobody_has(version: int) -> None:
    model = make_model([node("Mish", ["x"], ["y"])], {"x": X}, ["y"])
    model.opset_import[0].version = version
    with contextlib.suppress(TVMError):
        from_onnx(model)


def test_scales_along_an_axis_of_a_scalar() -> None:
    point = np.zeros(2, "uint8")
    model = make_model(
        [node("DequantizeLinear", ["x", "s", "z"], ["y"])],
        {"x": np.array(3, "uint8")}, ["y"], {"s": np.ones(2, "float32"), "z": point},
    )  # fmt: skip
    with contextlib.suppress(TVMError):
        from_onnx(model)


def test_a_constant_without_a_value() -> None:
    model = _model(node("Constant", [], ["c"], value=numpy_helper.from_array(X)),
                   node("Add", ["x", "c"], ["y"]))  # fmt: skip
    attribute = model.graph.node[0].attribute[0]
    attribute.ClearField("t")
    attribute.type = onnx.AttributeProto.UNDEFINED
    with pytest.raises(TVMError, match="Constant"):
        from_onnx(model)


def test_names_of_any_length() -> None:
    a, b = "x" * 1500 + "a", "x" * 1500 + "b"
    model = make_model([node("Sub", [a, b], ["y" * 5000])], {a: X, b: X}, ["y" * 5000])
    assert (run(model, 3 * X, X) == 2).all()


@pytest.mark.parametrize("op", ["Expand", "Reshape"])
@pytest.mark.parametrize("shape", [[5, 5], [4, 3], [-2, -3], [7, 1], [1 << 40, 1 << 40]])
def test_shapes_that_do_not_fit(op: str, shape: list[int]) -> None:
    given = np.array(shape)
    model = make_model([node(op, ["x", "s"], ["y"])], {"x": X, "s": given}, ["y"])
    with pytest.raises(ShapeError):
        run(model, X, given)


def test_shapes_that_fit() -> None:
    for op, shape, wanted in (
        ("Expand", [2, 3], (2, 3)), ("Expand", [4, 1, 3], (4, 2, 3)), ("Expand", [1], (2, 3)),
        ("Reshape", [3, -1], (3, 2)), ("Reshape", [0, 3, 1], (2, 3, 1)), ("Reshape", [-1], (6,)),
    ):  # fmt: skip
        given = np.array(shape)
        model = make_model([node(op, ["x", "s"], ["y"])], {"x": X, "s": given}, ["y"])
        assert run(model, X, given).shape == wanted


@pytest.mark.parametrize("bad", [2, -3, 1 << 40])
def test_indices_outside(bad: int) -> None:
    for op, indices in (("Gather", [0, bad]), ("GatherElements", [[0, 1, bad]])):
        given = np.array(indices)
        model = make_model([node(op, ["x", "i"], ["y"])], {"x": X, "i": given}, ["y"])
        with pytest.raises(IndexError, match="index on axis 0"):
            run(model, X, given)


def test_longer_conditions_choose_nothing_more() -> None:
    flags = np.ones(9, bool)
    for attrs in ({}, {"axis": 1}):
        model = make_model(
            [node("Compress", ["x", "c"], ["y"], **attrs)], {"x": X, "c": flags}, ["y"]
        )
        assert run(model, X, flags).size == 6


def test_shifts_of_all_bits() -> None:
    x, y = np.array([1, 255, 255], "uint8"), np.array([7, 8, 200], "uint8")
    for direction, wanted in (("LEFT", [128, 0, 0]), ("RIGHT", [0, 0, 0])):
        model = make_model(
            [node("BitShift", ["x", "y"], ["z"], direction=direction)], {"x": x, "y": y}, ["z"]
        )
        assert run(model, x, y).tolist() == wanted


@pytest.mark.parametrize("direction", ["LEFT", "RIGHT"])
def test_shifts_of_signed_integers(direction: str) -> None:
    """As of version 28: signs come in from the left, and no bit remains of a shift out of range."""
    x = np.repeat(np.int8([-128, -3, 0, 5, 127]), 7)
    y = np.tile(np.int8([-1, 0, 1, 7, 8, 9, 127]), 5)
    made = helper.make_node("BitShift", ["x", "y"], ["z"], direction=direction)
    model = make_model([made], {"x": x, "y": y}, ["z"], opset=28)
    none = (y < 0) | (y > 7)
    if direction == "LEFT":
        wanted = np.where(none, 0, x.astype("int32") << (y & 7)).astype("int8")
    else:
        wanted = x >> np.where(none, 7, y)
    np.testing.assert_array_equal(run(model, x, y), wanted)


def test_an_einsum_of_nothing() -> None:
    with pytest.raises(TVMError, match="attribute 'equation'"):
        from_onnx(_model(node("Einsum", ["x"], ["y"])))


@pytest.mark.parametrize("op", ["Reshape", "Expand", "Slice"])
def test_a_shape_that_says_how_long_it_is_is_not_believed_beyond_use(op: str) -> None:
    sizes = [helper.make_tensor_value_info(name, 7, [2**31]) for name in ("s", "t")]
    x = helper.make_tensor_value_info("x", 1, [2, 3, 4])
    names = ["x", "s", "t"] if op == "Slice" else ["x", "s"]
    graph = helper.make_graph(
        [helper.make_node(op, names, ["y"])], "g", [x, *sizes], [onnx.ValueInfoProto(name="y")]
    )
    with pytest.raises(TVMError, match="at most 4,096 sizes"):
        from_onnx(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)]))
