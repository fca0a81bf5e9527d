"""Sequences and optional values that the caller gives, or gets, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

import tvm
from tvm.error import TVMError
from tvm.relax.frontend.onnx import from_onnx
from tvm.runtime.vm import VirtualMachine

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)
F, I64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
node: Any = helper.make_node
tensor: Any = helper.make_tensor_value_info
several: Any = helper.make_tensor_sequence_value_info


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("float32")


def maybe(name: str, kind: onnx.TypeProto) -> onnx.ValueInfoProto:
    return helper.make_value_info(name, helper.make_optional_type_proto(kind))


ROWS = [floats(2, 3), floats(4, 3), floats(1, 3)]
MATRIX = helper.make_tensor_type_proto(F, [None, 3])


def model_of(nodes: Sequence[Any], inputs: Sequence[Any], outputs: Sequence[Any],
             weights: dict[str, Any] | None = None) -> onnx.ModelProto:  # fmt: skip
    tensors = [onnx.numpy_helper.from_array(np.asarray(v), k) for k, v in (weights or {}).items()]
    graph = helper.make_graph(list(nodes), "g", list(inputs), list(outputs), tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)


def plain(value: Any) -> Any:
    return value.numpy() if hasattr(value, "numpy") else [plain(item) for item in value]


def check(model: onnx.ModelProto, *runs: Sequence[Any]) -> None:
    session = onnxruntime.InferenceSession(model.SerializeToString())
    vm = VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    names = [value.name for value in model.graph.input]
    for arguments in runs:
        wanted = session.run(None, dict(zip(names, arguments)))
        got = plain(vm["main"](*arguments))
        same(wanted if len(wanted) > 1 else wanted[0], got)


def same(wanted: Any, got: Any) -> None:
    if not isinstance(wanted, list):
        assert wanted.shape == got.shape
        assert wanted.dtype == got.dtype
        np.testing.assert_allclose(got, wanted, rtol=1e-5)
        return
    assert len(wanted) == len(got)
    for one, other in zip(wanted, got):
        same(one, other)


def test_items_of_several_extents() -> None:
    """Taken by a computed position, side by side, how many there are."""
    nodes = [
        node("SequenceAt", ["s", "at"], ["item"]), node("Exp", ["item"], ["y"]),
        node("ConcatFromSequence", ["s"], ["whole"], axis=0),
        node("SequenceLength", ["s"], ["count"]),
    ]  # fmt: skip
    outputs = [tensor("y", F, None), tensor("whole", F, None), tensor("count", I64, [])]
    inputs = [several("s", F, [None, 3]), tensor("at", I64, [])]
    model = model_of(nodes, inputs, outputs)
    check(model, [ROWS, np.array(1)], [ROWS[:2], np.array(-2)], [ROWS[2:], np.array(0)])


def test_put_in_and_taken_out() -> None:
    nodes = [
        node("SequenceInsert", ["s", "x", "at"], ["longer"]),
        node("SequenceErase", ["longer", "first"], ["t"]),
        node("SequenceInsert", ["t", "x"], ["out"]),
        node("SequenceErase", ["t"], ["shorter"]),
    ]
    inputs = [several("s", F, [None, 3]), tensor("x", F, ["n", 3]), tensor("at", I64, [])]
    outputs = [several("out", F, None), several("shorter", F, None)]
    model = model_of(nodes, inputs, outputs, {"first": np.array(0)})
    check(model, [ROWS, floats(5, 3), np.array(-1)], [ROWS[:1], floats(2, 3), np.array(1)])


def test_computed_positions_of_a_sequence_that_the_model_makes() -> None:
    nodes = [
        node("SequenceConstruct", ["x", "y"], ["s"]),
        node("SequenceAt", ["s", "at"], ["a"]),
        node("SequenceErase", ["s", "at"], ["left"]),
        node("SequenceInsert", ["s", "x", "at"], ["t"]),
    ]
    inputs = [tensor("x", F, ["n", 2]), tensor("y", F, ["m", 2]), tensor("at", I64, [])]
    outputs = [tensor("a", F, None), several("left", F, None), several("t", F, None)]
    runs = [[floats(2, 2), floats(3, 2), np.array(i)] for i in (0, 1)]
    check(model_of(nodes, inputs, outputs), *runs)


def doubled() -> onnx.GraphProto:
    nodes = [node("Add", ["a", "a"], ["b"]), node("Shape", ["a"], ["shape"])]
    return helper.make_graph(
        nodes, "body", [tensor("a", F, None)], [tensor("b", F, None), tensor("shape", I64, None)]
    )


def test_a_graph_for_each_item() -> None:
    nodes = [node("SequenceMap", ["s"], ["t", "shapes"], body=doubled())]
    outputs = [several("t", F, None), several("shapes", I64, None)]
    check(model_of(nodes, [several("s", F, [None, 3])], outputs), [ROWS], [ROWS[1:2]])


def slices() -> onnx.GraphProto:
    """The first i + 1 elements of x, at the end of a sequence."""
    nodes = [
        node("Add", ["i", "one"], ["count"]), node("Reshape", ["count", "one1"], ["end"]),
        node("Slice", ["x", "zero", "end"], ["part"]),
        node("SequenceInsert", ["s", "part"], ["s2"]), node("Identity", ["yes"], ["on"]),
    ]  # fmt: skip
    inputs = [tensor("i", I64, []), tensor("yes", BOOL, []), several("s", F, None)]
    return helper.make_graph(
        nodes, "body", inputs, [tensor("on", BOOL, []), several("s2", F, None)],
        [onnx.numpy_helper.from_array(np.asarray(v), k)
         for k, v in (("one", 1), ("one1", [1]), ("zero", [0]))],
    )  # fmt: skip


@pytest.mark.parametrize("first", ["empty", "given"])
def test_a_loop_that_collects_items_of_several_extents(first: str) -> None:
    """Rows of one tensor cannot hold them: a raw error at run time before."""
    nodes = [node("Loop", ["m", "", "s"], ["out"], body=slices())]
    inputs = [tensor("x", F, ["n"]), tensor("m", I64, [])]
    if first == "empty":
        nodes.insert(0, node("SequenceEmpty", [], ["s"]))
    else:
        inputs.append(several("s", F, [None]))
    model = model_of(nodes, inputs, [several("out", F, None)])
    more = [[floats(2)]] if first == "given" else []
    check(model, [floats(5), np.array(3), *more], [floats(9), np.array(7), *more])


def test_rows_as_a_result() -> None:
    """As many as the run tells (a tuple within a tuple came out)."""
    nodes = [node("SplitToSequence", ["x"], ["s"], axis=0, keepdims=0)]
    model = model_of(nodes, [tensor("x", F, ["n", 2])], [several("s", F, None)])
    check(model, [floats(3, 2)], [floats(1, 2)])


def otherwise(value: str) -> Any:
    """The value if there is one, else three zeros."""
    zeros = onnx.numpy_helper.from_array(np.zeros((1, 3), "float32"))
    there = helper.make_graph(
        [node("OptionalGetElement", [value], ["then"])], "t", [], [tensor("then", F, None)]
    )
    other = helper.make_graph(
        [node("Constant", [], ["else"], value=zeros)], "e", [], [tensor("else", F, None)]
    )
    return node("If", ["has"], ["value"], then_branch=there, else_branch=other)


def test_optional_tensors() -> None:
    nodes = [node("OptionalHasElement", ["x"], ["has"]), otherwise("x")]
    nodes.append(node("Exp", ["value"], ["y"]))
    model = model_of(nodes, [maybe("x", MATRIX)], [tensor("y", F, None), tensor("has", BOOL, [])])
    check(model, [floats(2, 3)], [None], [floats(4, 3)])


def test_optional_sequences() -> None:
    nodes = [node("OptionalGetElement", ["s"], ["t"]), node("SequenceLength", ["t"], ["n"])]
    kind = helper.make_sequence_type_proto(MATRIX)
    check(model_of(nodes, [maybe("s", kind)], [tensor("n", I64, [])]), [ROWS], [ROWS[:1]])


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ([ROWS, np.array(3)], IndexError, "item 3 of a sequence of 3"),
        ([ROWS, np.array(-4)], IndexError, "item -4 of a sequence of 3"),
        ([floats(2, 3), np.array(0)], TVMError, "argument 's'\n.*Tensor\n.*a sequence"),
        ([[floats(2)], np.array(0)], TVMError, "float32, 1 dim.*\n.*float32, 2 dim"),
        ([[floats(2, 3).astype("float64")], np.array(0)], TVMError, "found: float64"),
        ([["word"], np.array(0)], TVMError, "found: str"),
    ],
)
def test_what_does_not_fit_is_told(arguments: Any, error: Any, text: str) -> None:
    inputs = [several("s", F, [None, 3]), tensor("at", I64, [])]
    model = model_of([node("SequenceAt", ["s", "at"], ["y"])], inputs, [tensor("y", F, None)])
    vm = VirtualMachine(tvm.compile(from_onnx(model), "llvm"), tvm.cpu())
    with pytest.raises(error, match=text):
        vm["main"](*arguments)


def test_items_of_no_dimension_and_of_a_rank_that_only_the_caller_knows() -> None:
    nodes = [node("SequenceAt", ["s", "at"], ["x"]), node("Exp", ["x"], ["y"])]
    outputs = [tensor("y", F, None)]
    model = model_of(nodes, [several("s", F, []), tensor("at", I64, [])], outputs)
    check(model, [[floats(), floats()], np.array(1)])
    model = model_of(nodes, [several("s", F, None), tensor("at", I64, [])], outputs)
    with pytest.raises(TVMError, match="how many dimensions the items of a sequence have"):
        from_onnx(model)
    vm = VirtualMachine(tvm.compile(from_onnx(model, {"s": ["a", "b"]}), "llvm"), tvm.cpu())
    np.testing.assert_allclose(vm["main"](ROWS, np.array(1)).numpy(), np.exp(ROWS[1]), rtol=1e-5)


def test_maps_of_nothing_are_refused() -> None:
    model = model_of([node("Identity", ["x"], ["y"])], [tensor("x", F, [1])], [tensor("y", F, [1])])
    model.graph.input[0].type.map_type.key_type = I64
    with pytest.raises(TVMError, match="a map of int64 to nothing"):
        from_onnx(model)
