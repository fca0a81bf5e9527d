"""Random numbers: shapes, types, and how they are spread."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import tvm
from tests.relax.frontend.onnx.models import Array, make_model, run_compiled
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
X = np.zeros((50, 40), "float32")


def _run(op: str, *inputs: Array, opset: int = 18, **attrs: Any) -> Array:
    given = {f"x{i}": array for i, array in enumerate(inputs)}
    node = helper.make_node(op, list(given), ["y"], **attrs)
    tvm.get_global_func("tvm.contrib.random.seed")(11)
    return run_compiled(make_model([node], given, ["y"], opset=opset), given)[0]


def test_even_and_normal_numbers() -> None:
    even = _run("RandomUniform", shape=[50, 40], low=-1.0, high=3.0)
    assert even.shape == (50, 40)
    assert even.dtype == np.float32
    assert -1 <= even.min() < -0.9
    assert 2.9 < even.max() < 3
    normal = _run("RandomNormalLike", X, mean=2.0, scale=0.5, dtype=TensorProto.DOUBLE)
    assert normal.dtype == np.float64
    assert abs(normal.mean() - 2) < 0.05
    assert abs(normal.std() - 0.5) < 0.05


def test_two_runs_differ_unless_the_generator_starts_anew() -> None:
    first, again = (_run("RandomUniformLike", X) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert len(np.unique(first)) > 1900


def test_coins_and_classes() -> None:
    coins = _run("Bernoulli", X + np.float32(0.25))
    assert set(np.unique(coins)) == {0, 1}
    assert abs(coins.mean() - 0.25) < 0.05
    logs = np.log(np.array([[0.1, 0.6, 0.3]], "float32"))
    classes = _run("Multinomial", logs, sample_size=4000)
    assert classes.shape == (1, 4000)
    assert classes.dtype == np.int32
    shares = np.bincount(classes[0], minlength=3) / 4000
    np.testing.assert_allclose(shares, [0.1, 0.6, 0.3], atol=0.04)


def test_dropout_in_training() -> None:
    node = helper.make_node("Dropout", ["x", "r", "t"], ["y", "mask"])
    weights = {"r": np.float32(0.25), "t": np.array(True)}
    x = np.ones((50, 40), "float32")
    y, mask = run_compiled(make_model([node], {"x": x}, ["y", "mask"], weights), {"x": x})
    np.testing.assert_allclose(y, mask / np.float32(0.75), rtol=1e-6)
    assert abs(mask.mean() - 0.75) < 0.05


@pytest.mark.parametrize(
    ("op", "attrs", "words"),
    [
        ("RandomUniform", {"shape": [2], "low": 1.0, "high": 1.0}, "low < high"),
        ("RandomNormal", {"shape": [2], "scale": -1.0}, "a number above 0"),
        ("RandomNormal", {"shape": [2], "dtype": TensorProto.INT32}, "float16, float32"),
    ],
)
def test_errors(op: str, attrs: dict[str, Any], words: str) -> None:
    model = make_model([helper.make_node("RandomUniform", [], ["y"], shape=[2])], {}, ["y"])
    model.graph.node[0].CopyFrom(helper.make_node(op, [], ["y"], **attrs))
    with pytest.raises(OpAttributeInvalid, match=words):
        from_onnx(model)
