"""The forms that nodes get: axes as the model has them, the order of operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tvm.ir
from tvm import relax
from tvm.error import OpAttributeInvalid
from tvm.relax import op
from tvm.relax.frontend.onnx import from_onnx

onnx: Any = pytest.importorskip("onnx")
CUBE = (2, 3, 4)


def one_node(
    op_type: str,
    *inputs: Sequence[int] | np.ndarray,
    opset: int = 18,
    outputs: int = 1,
    **attrs: Any,
) -> Any:
    """A model of one node; shapes are inputs of the graph, arrays its weights."""
    helper, kind = onnx.helper, onnx.TensorProto.FLOAT
    names = [f"x{i}" for i in range(len(inputs))]
    results = [f"y{i}" for i in range(outputs)]
    given, weights = [], []
    for name, value in zip(names, inputs):
        if isinstance(value, np.ndarray):
            weights.append(onnx.numpy_helper.from_array(value, name))
        else:
            given.append(helper.make_tensor_value_info(name, kind, value))
    made = [helper.make_tensor_value_info(name, kind, None) for name in results]
    node = helper.make_node(op_type, names, results, **attrs)
    graph = helper.make_graph([node], "g", given, made, weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def written(mod: Any) -> list[relax.Expr]:
    """The calls of `main` in order."""
    blocks = mod["main"].body.blocks
    values = [b.value for block in blocks for b in block.bindings]
    return [v for v in values if isinstance(v, relax.Call)]


def assert_calls(model: Any, *names: str, **attrs: Any) -> list[Any]:
    """The operators in order, and what the first has among its attributes."""
    calls: list[Any] = written(from_onnx(model))
    assert [call.op.name for call in calls] == list(names)
    for key, value in attrs.items():
        found = getattr(calls[0].attrs, key)
        if isinstance(value, list):
            found = [int(v) for v in found]
        assert found == value, key
    return calls


@pytest.mark.parametrize("axis", [-1, 1, -3])
def test_axes_of_softmax_stay(axis: int) -> None:
    assert_calls(one_node("Softmax", CUBE, axis=axis), "relax.nn.softmax", axis=axis)
    assert_calls(one_node("LogSoftmax", CUBE, axis=axis), "relax.nn.log_softmax", axis=axis)


@pytest.mark.parametrize(
    ("name", "operator"),
    [("ReduceSum", "sum"), ("ReduceMean", "mean"), ("ReduceProd", "prod")],
)
def test_axes_of_reductions_stay(name: str, operator: str) -> None:
    some = np.array([0, -1])
    assert_calls(one_node(name, CUBE, some), f"relax.{operator}", axis=[0, -1], keepdims=True)
    assert_calls(one_node(name, CUBE, keepdims=0), f"relax.{operator}", axis=None, keepdims=False)
    older = one_node(name, CUBE, opset=11, axes=[-2])
    assert_calls(older, f"relax.{operator}", axis=[-2])


def test_the_logarithm_of_a_sum_drops_its_axes_last() -> None:
    assert_calls(
        one_node("ReduceLogSumExp", CUBE, np.array([1]), keepdims=0),
        "relax.max", "relax.subtract", "relax.exp", "relax.sum", "relax.log", "relax.add",
        "relax.squeeze",
        axis=[1], keepdims=True,
    )  # fmt: skip


@pytest.mark.parametrize(("axis", "axes"), [(-1, [-1]), (-2, [-2, -1]), (1, [1, 2])])
def test_axes_of_layer_norm_count_as_the_axis_does(axis: int, axes: list[int]) -> None:
    own = CUBE[axis:]
    model = one_node("LayerNormalization", CUBE, own, own, axis=axis)
    assert_calls(model, "relax.nn.layer_norm", axes=axes)


def test_the_axis_of_split_stays() -> None:
    model = one_node("Split", (6, 4), outputs=2, axis=-1, num_outputs=2)
    assert_calls(model, "relax.split", axis=-1)


def test_transposed_matrices_say_their_axes() -> None:
    names = ("relax.permute_dims", "relax.permute_dims", "relax.matmul")
    calls = assert_calls(one_node("Gemm", (4, 3), (5, 4), transA=1, transB=1), *names, axes=[1, 0])
    assert [int(a) for a in calls[1].attrs.axes] == [1, 0]


def test_alpha_goes_with_the_first_matrix() -> None:
    names = ("relax.multiply", "relax.permute_dims", "relax.matmul")
    assert_calls(one_node("Gemm", (4, 3), (4, 5), transA=1, alpha=0.5), *names)


def test_hard_sigmoid() -> None:
    x = relax.Var("x0", relax.TensorStructInfo(CUBE, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x], attrs={"num_input": 1}):
        with bb.dataflow():
            line = bb.emit(op.multiply(relax.const(0.25, "float32"), x))
            line = bb.emit(op.add(line, relax.const(0.5, "float32")))
            made = bb.emit_output(op.clip(line, 0, 1))
        bb.emit_func_output(made)
    tvm.ir.assert_structural_equal(from_onnx(one_node("HardSigmoid", CUBE, alpha=0.25)), bb.get())


@pytest.mark.parametrize("name", ["ReduceSum", "ReduceMax", "ReduceL2", "ReduceLogSumExp"])
@pytest.mark.parametrize("axis", [3, -4, 7])
def test_an_axis_outside_is_refused(name: str, axis: int) -> None:
    with pytest.raises(OpAttributeInvalid, match=r"axes.*\n(.*\n)*.*-3 \.\.\. 2"):
        from_onnx(one_node(name, CUBE, np.array([axis])))
