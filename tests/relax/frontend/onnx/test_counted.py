"""Loops that carry what no turn changes, and that count: as exporters write recurrent layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from tests.relax.frontend.onnx.models import Array, check_sizes, make_model
from tvm.relax.expr import Function
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
node, F, I32, I64, B = (
    helper.make_node, TensorProto.FLOAT, TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL
)  # fmt: skip
RNG = np.random.default_rng(8)
WEIGHT = RNG.standard_normal((2, 2)).astype("float32")


def _info(name: str, kind: int = F, shape: Any = None) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, kind, shape)


def _floats(*shape: int) -> Array:
    return RNG.standard_normal(shape).astype("float32")


def _recurrent(
    *, first: int = 0, step: int = 1, starts: str = "Less", as_floats: bool = False,
    count: str = "", compare: str = "Less", twice: bool = False,
) -> onnx.ModelProto:  # fmt: skip
    """h = x[at] + h @ w while the counter, an int32, is below the rows of x.

    The weight, the number of rows and the counter are state; each h is collected.
    """
    body_nodes = [
        node("Gather", ["x", "at"], ["row"], axis=0),
        node("MatMul", ["h", "w"], ["turned"]),
        node("Add", ["row", "turned"], ["new"]),
        node("Add", ["at", "step"], ["next"]),
        node("Identity", ["w"], ["same"]),
    ]
    if as_floats:
        body_nodes += [node("Cast", ["next"], ["a"], to=F), node("Cast", ["rows"], ["b"], to=F)]
    names = ["a", "b"] if as_floats else ["next", "rows"]
    names = names if compare.startswith("Less") else names[::-1]
    if twice:
        body_nodes += [
            node(compare, names, ["below"]), node("Cast", ["turn"], ["turn32"], to=I32),
            node("LessOrEqual", ["turn32", "rows"], ["also"]),
            node("And", ["below", "also"], ["go"]),
        ]  # fmt: skip
    else:
        body_nodes.append(node(compare, names, ["go"]))
    body = helper.make_graph(
        body_nodes,
        "body",
        [_info("turn", I64, []), _info("was", B, []), _info("at", I32, []), _info("rows", I32, []),
         _info("w", F, [2, 2]), _info("h", F, [1, 2])],
        [_info("go", B, []), _info("next", I32, []), _info("rows", I32, []),
         _info("same", F, [2, 2]), _info("new", F, [1, 2]), _info("new", F, [1, 2])],
        [numpy_helper.from_array(np.array(step, "int32"), "step")],
    )  # fmt: skip
    nodes = [
        node("Shape", ["x"], ["shape"], start=0, end=1),
        node("Cast", ["shape"], ["shape32"], to=I32),
        node("Squeeze", ["shape32"], ["n"]),
        node("Cast", ["n"], ["n64"], to=I64),
        node(starts, ["first", "n"], ["begins"]),
        node("Loop", [count, "begins", "first", "n", "weight", "h0"],
             ["at_end", "rows_end", "w_end", "y", "all"], body=body),
    ]  # fmt: skip
    weights = {
        "first": np.array(first, "int32"), "weight": WEIGHT, "h0": np.zeros((1, 2), "float32"),
        "five": np.array(5, "int64"),
    }  # fmt: skip
    outputs = ["at_end", "rows_end", "w_end", "y", "all"]
    return make_model(nodes, {"x": _floats(3, 2)}, outputs, weights, shapes={"x": ["n_rows", 2]})


def _loop(mod: Any) -> Function:
    (found,) = [f for v, f in mod.functions.items() if v.name_hint.endswith("_repeat")]
    assert isinstance(found, Function)
    return found


SIZES = (3, 1, 0, 17)
ALL = [{"x": _floats(size, 2)} for size in SIZES]


@pytest.mark.parametrize(
    "way",
    [
        {}, {"as_floats": True}, {"compare": "Greater"}, {"twice": True}, {"count": "five"},
        {"count": "n64"}, {"compare": "LessOrEqual", "first": 1, "starts": "LessOrEqual"},
        {"twice": True, "as_floats": True, "count": "n64"},
    ],
    ids=str,
)  # fmt: skip
def test_a_condition_that_counts(way: dict[str, Any]) -> None:
    """The rows have their room before the first turn; weights are constants within the loop."""
    model = _recurrent(**way)
    if way.get("first"):  # a gather of row n is refused: the last turn reads the row before
        body = model.graph.node[-1].attribute[0].g
        body.node.insert(0, node("Sub", ["at", "step"], ["before"]))
        body.node[1].input[1] = "before"
    text = str(from_onnx(model))
    assert "call_tir_inplace" in text
    params = [str(p.struct_info) for p in _loop(from_onnx(model)).params]
    assert 'R.Tensor((2, 2), dtype="float32")' not in params
    assert 'R.Tensor((), dtype="int32")' not in params
    check_sizes(model, ALL)


def test_two_turns_for_each_step_backwards() -> None:
    """Counters may go down, or by more than one: they follow from the turn, the end does not."""
    for step in (2, 3):
        check_sizes(_recurrent(step=step), ALL)
    model = _recurrent(first=-1, step=-1, compare="Less")
    body = model.graph.node[-1].attribute[0].g
    body.node[-1].CopyFrom(node("Less", ["least", "next"], ["go"]))
    body.initializer.append(numpy_helper.from_array(np.array(-3, "int32"), "least"))
    check_sizes(model, [{"x": _floats(size, 2)} for size in (3, 2, 7)])


def test_the_first_turn_need_not_meet_the_condition() -> None:
    """`do ... while`: one turn is made also where the condition would not allow it."""
    model = _recurrent(starts="LessOrEqual")
    # Gather reads the one row there is, whatever the counter says
    check_sizes(model, [{"x": _floats(size, 2)} for size in (3, 1, 17)])
    always = _recurrent()
    always.graph.node[-1].input[1] = ""
    check_sizes(always, [{"x": _floats(size, 2)} for size in (3, 1, 17)])


def test_state_that_stays_and_is_no_constant() -> None:
    """It is handed to the loop once; its value after the loop is that before it."""
    model = _recurrent()
    model.graph.node[-1].input[4] = "given"
    model.graph.input.append(_info("given", F, [2, 2]))
    check_sizes(model, [{**one, "given": _floats(2, 2)} for one in ALL])


def test_a_shape_carried_as_state() -> None:
    """What shapes are made of may come through the state of a loop."""
    body = helper.make_graph(
        [node("Reshape", ["v", "shape"], ["w"]),
         node("ReduceSum", ["w", "axis"], ["s"], keepdims=0),
         node("Add", ["total", "s"], ["more"])],
        "body",
        [_info("turn", I64, []), _info("was", B, []), _info("shape", I64, [2]),
         _info("total", F, None)],
        [_info("was", B, []), _info("shape", I64, [2]), _info("more", F, None)],
        [numpy_helper.from_array(np.array([0]), "axis")],
    )  # fmt: skip
    nodes = [
        node("Shape", ["v"], ["n"]),
        node("Concat", ["two", "minus"], ["shape0"], axis=0),
        node("Loop", ["turns", "", "shape0", "zero"], ["shape1", "y"], body=body),
    ]
    weights = {
        "two": np.array([2]), "minus": np.array([3]), "zero": np.zeros(3, "float32"),
        "turns": np.array(400),
    }  # fmt: skip
    model = make_model(nodes, {"v": _floats(6)}, ["y"], weights)
    check_sizes(model, [{"v": _floats(6)}])
