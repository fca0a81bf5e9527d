"""Functions of a model that call one another."""

from __future__ import annotations

import itertools

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import make_model
from tvm.relax.frontend.onnx import from_onnx

node = helper.make_node


def _functions(count: int, calls: int) -> onnx.ModelProto:
    """A model of functions each of which calls the one before it so many times."""
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("own", 1)]
    functions = []
    for i in range(count):
        inner = [node("Relu", ["a"], ["b"])]
        if i:
            names = ["a", *(f"t{k}" for k in range(calls - 1)), "b"]
            inner = [
                helper.make_node(f"f{i - 1}", [x], [y], domain="own")
                for x, y in itertools.pairwise(names)
            ]
        functions.append(helper.make_function("own", f"f{i}", ["a"], ["b"], inner, sets))
    model = make_model([node("Relu", ["x"], ["y"])], {"x": np.ones((2, 3), "float32")}, ["y"])
    model.graph.node[0].CopyFrom(helper.make_node(f"f{count - 1}", ["x"], ["y"], domain="own"))
    model.functions.extend(functions)
    model.opset_import.append(sets[1])
    return model


def test_functions_in_many_levels() -> None:
    mod = from_onnx(_functions(34, 1))
    assert str(mod["main"]).count("R.nn.relu") == 1


@pytest.mark.parametrize(
    ("count", "calls", "why"),
    [(29, 2, "make 268,435,456 nodes"), (600, 1, "calls others to a depth of 501")],
)
def test_functions_without_end(count: int, calls: int, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        from_onnx(_functions(count, calls))


def test_functions_that_call_one_another() -> None:
    model = _functions(3, 1)
    model.functions[0].node[0].CopyFrom(helper.make_node("f2", ["a"], ["b"], domain="own"))
    with pytest.raises(ValueError, match="calls itself"):
        from_onnx(model)
