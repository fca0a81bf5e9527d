"""Strings of a model: which values they are, and how programs bring theirs."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import tvm
from tests.relax.frontend.onnx.models import Array, check, make_model
from tvm import relax
from tvm.relax.frontend.onnx import from_onnx
from tvm.runtime import strings

pytestmark = pytest.mark.cpu
LONG = "a string that is longer than a code"


def words(*texts: str) -> Array:
    return np.array(texts, object)


def test_strings_are_moved_and_compared() -> None:
    x = words("b", "a", LONG, "", "c", "b").reshape(2, 3)
    table = words("b", "one", LONG)
    nodes = [
        helper.make_node("Identity", ["x"], ["same"]),
        helper.make_node("Transpose", ["same"], ["t"]),
        helper.make_node("Slice", ["t", "from", "to"], ["cut"]),
        helper.make_node("Concat", ["cut", "t"], ["joined"], axis=0),
        helper.make_node("Equal", ["x", "table"], ["equal"]),
        helper.make_node("Where", ["equal", "x", "table"], ["chosen"]),
        helper.make_node("Gather", ["chosen", "from"], ["taken"], axis=1),
        helper.make_node("Reshape", ["taken", "flat"], ["row"]),
        helper.make_node("Shape", ["joined"], ["shape"]),
    ]
    weights = {"from": np.array([1]), "to": np.array([3]), "flat": np.array([-1]), "table": table}
    outputs = ["joined", "equal", "row", "shape"]
    check(make_model(nodes, {"x": x}, outputs, weights, 21, {"x": ["n", 3]}), {"x": x})


def test_strings_in_branches() -> None:
    def way(name: str, text: str) -> onnx.GraphProto:
        value = helper.make_tensor("v", TensorProto.STRING, [1], [text.encode()])
        node = helper.make_node("Constant", [], [name], value=value)
        out = helper.make_tensor_value_info(name, TensorProto.STRING, [1])
        return helper.make_graph([node], name, [], [out])

    nodes = [
        helper.make_node(
            "If", ["c"], ["t"], then_branch=way("a", "12"), else_branch=way("b", LONG)
        ),
        helper.make_node("Cast", ["t"], ["y"], to=TensorProto.STRING),
        helper.make_node("StringConcat", ["y", "y"], ["z"]),
    ]
    for c in (True, False):
        inputs = {"c": np.array(c)}
        check(make_model(nodes, inputs, ["y", "z"], opset=21), inputs)


def test_a_program_brings_its_strings() -> None:
    """What is forgotten is known again where a program that holds it has run."""
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_int64s=[1],
                            values_strings=[LONG])  # fmt: skip
    x = np.array([1])
    mod = from_onnx(make_model([node], {"x": x}, ["y"], domains={"ai.onnx.ml": 3}))
    vm = relax.VirtualMachine(tvm.compile(mod, "llvm"), tvm.cpu())
    strings.forget()
    assert strings.decode(vm["main"](x)).tolist() == [LONG]
