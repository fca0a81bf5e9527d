"""Sequences as long as the run tells, against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper

from tests.relax.frontend.onnx.models import check_sizes, make_model
from tvm.error import TVMError
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
F = TensorProto.FLOAT


def _body() -> helper.GraphProto:
    """h = tanh(h + the item at the turn's number), and h at the end of the sequence."""
    nodes = [
        helper.make_node("SequenceAt", ["columns", "i"], ["item"]),
        helper.make_node("Add", ["h", "item"], ["sum"]),
        helper.make_node("Tanh", ["sum"], ["h2"]),
        helper.make_node("SequenceInsert", ["s", "h2"], ["s2"]),
        helper.make_node("Identity", ["yes"], ["on"]),
    ]
    value = helper.make_tensor_value_info
    several = helper.make_tensor_sequence_value_info
    inputs = [value("i", TensorProto.INT64, []), value("yes", TensorProto.BOOL, []),
              several("s", F, None), value("h", F, ["n"])]  # fmt: skip
    outputs = [value("on", TensorProto.BOOL, []), several("s2", F, None), value("h2", F, ["n"])]
    return helper.make_graph(nodes, "body", inputs, outputs)


@pytest.mark.parametrize("first", [False, True])
def test_a_loop_that_collects(first: bool) -> None:
    """Of single columns, which are taken by their numbers; `first`: something is there before."""
    begin = [helper.make_node("SequenceEmpty", [], ["empty"])]
    if first:
        begin.append(helper.make_node("SequenceInsert", ["empty", "h"], ["start"]))
    nodes = [
        *begin,
        helper.make_node("SplitToSequence", ["x"], ["columns"], axis=1, keepdims=0),
        helper.make_node("SequenceLength", ["columns"], ["count"]),
        helper.make_node(
            "Loop", ["count", "", "start" if first else "empty", "h"], ["s", "last"], body=_body()
        ),
        helper.make_node("SequenceInsert", ["s", "last"], ["more"]),
        helper.make_node("SequenceLength", ["more"], ["length"]),
        helper.make_node("SequenceAt", ["more", "back"], ["one"]),
        helper.make_node("ConcatFromSequence", ["more"], ["stacked"], axis=-1, new_axis=1),
        helper.make_node("ConcatFromSequence", ["more"], ["flat"], axis=0),
    ]
    inputs = {"x": np.zeros((2, 3), "float32"), "h": np.zeros(2, "float32"),
              "back": np.asarray(-2, np.int64)}  # fmt: skip
    model = make_model(
        nodes, inputs, ["last", "length", "one", "stacked", "flat"],
        shapes={"x": ["n", "m"], "h": ["n"]},
    )  # fmt: skip
    rng = np.random.default_rng(0)
    check_sizes(model, [
        {"x": rng.standard_normal((n, m)).astype("float32"),
         "h": rng.standard_normal(n).astype("float32"), "back": np.asarray(back, np.int64)}
        for n, m, back in ((2, 3, -2), (4, 1, 0), (1, 7, 3))
    ])  # fmt: skip


def test_a_sequence_by_another_name_is_the_sequence() -> None:
    nodes = [
        helper.make_node("SequenceConstruct", ["x", "y"], ["s"]),
        helper.make_node("Identity", ["s"], ["same"]),
        helper.make_node("SequenceInsert", ["same", "y"], ["more"]),
        helper.make_node("Identity", ["more"], ["again"]),
        helper.make_node("ConcatFromSequence", ["again"], ["z"], axis=0),
    ]
    inputs = {"x": np.ones((2, 3), "float32"), "y": np.zeros((1, 3), "float32")}
    check_sizes(make_model(nodes, inputs, ["z"]), [inputs])


@pytest.mark.parametrize("count", [1, 3])
def test_a_loop_that_only_collects(count: int) -> None:
    """What is put at the end is a tensor from around the loop; it has other names on the way."""
    value, several = helper.make_tensor_value_info, helper.make_tensor_sequence_value_info
    body = helper.make_graph(
        [helper.make_node("Identity", ["yes"], ["on"]),
         helper.make_node("SequenceInsert", ["s", "x"], ["s1"]),
         helper.make_node("Identity", ["s1"], ["s2"])],
        "body",
        [value("i", TensorProto.INT64, []), value("yes", TensorProto.BOOL, []),
         several("s", F, None)],
        [value("on", TensorProto.BOOL, []), several("s2", F, None)],
    )  # fmt: skip
    nodes = [
        helper.make_node("SequenceEmpty", [], ["empty"]),
        helper.make_node("Loop", ["count", "", "empty"], ["s"], body=body),
        helper.make_node("ConcatFromSequence", ["s"], ["z"], axis=0),
    ]
    inputs = {"x": np.ones((2, 3), "float32"), "count": np.asarray(count, np.int64)}
    check_sizes(make_model(nodes, inputs, ["z"], shapes={"x": ["n", 3]}), [inputs])


def test_a_body_that_does_not_give_its_sequence_is_refused() -> None:
    value, several = helper.make_tensor_value_info, helper.make_tensor_sequence_value_info
    body = helper.make_graph(
        [helper.make_node("SequenceInsert", ["s", "x"], ["s1"])], "body",
        [value("i", TensorProto.INT64, []), value("yes", TensorProto.BOOL, []),
         several("s", F, None)], [several("s1", F, None)],
    )  # fmt: skip
    nodes = [
        helper.make_node("SequenceEmpty", [], ["empty"]),
        helper.make_node("Loop", ["count", "", "empty"], ["s"], body=body),
        helper.make_node("ConcatFromSequence", ["s"], ["z"], axis=0),
    ]
    inputs = {"x": np.ones((2, 3), "float32"), "count": np.asarray(1, np.int64)}
    with pytest.raises(TVMError, match=r"0 values of state'\n +legal: 1 values of state"):
        from_onnx(make_model(nodes, inputs, ["z"]))
