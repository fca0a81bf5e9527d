"""Every converter against ONNX Runtime, on small inputs."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check, make_model

pytestmark = pytest.mark.cpu
F = "float32"


def case(op: str, *inputs: Any, opset: int = 17, outputs: int = 1, weights: Any = (), **attrs: Any):
    """One node: inputs are shapes (random floats), (shape, dtype), or arrays."""
    return pytest.param(op, inputs, opset, outputs, weights, attrs, id=_name(op, opset, attrs))


def _name(op: str, opset: int, attrs: dict[str, Any]) -> str:
    return "-".join([op, f"v{opset}", *[f"{k}={v}" for k, v in attrs.items()]])


def _array(spec: Any, rng: np.random.Generator) -> Any:
    if isinstance(spec, np.ndarray):
        return spec
    shape, dtype = spec if isinstance(spec[-1], str) else (spec, F)
    if dtype == F:
        return rng.uniform(0.1, 1.5, shape).astype(F) * rng.choice([-1, 1], shape).astype(F)
    if dtype == "positive":
        return rng.uniform(0.1, 0.9, shape).astype(F)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    return rng.integers(1, 9, shape).astype(dtype)


I64 = np.int64
X = (2, 3, 4)
IMAGE = (1, 4, 9, 7)
CASES = [
    *[case(op, X) for op in (
        "Abs", "Atan", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish",
        "Identity", "LeakyRelu", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign",
        "Sin", "Softplus", "Softsign", "Tan", "Tanh", "ThresholdedRelu", "Celu", "IsNaN", "IsInf",
        "Sinh", "Cosh",
    )],
    *[case(op, (X, "positive")) for op in ("Log", "Sqrt", "Acos", "Asin", "Atanh")],
    case("Mish", X, opset=18),
    case("Gelu", X, opset=20),
    case("Gelu", X, opset=20, approximate="tanh"),
    *[case(op, X, (3, 1)) for op in ("Add", "Sub", "Mul", "Div", "Greater", "Less", "Equal",
                                     "GreaterOrEqual", "LessOrEqual")],
    case("Pow", (X, "positive"), (3, 1)),
    case("Div", (X, "int32"), (X, "int32")),
    case("Mod", (X, "int32"), (X, "int32")),
    case("Mod", X, X, fmod=1),
    *[case(op, (X, "bool"), (X, "bool")) for op in ("And", "Or", "Xor")],
    case("Not", (X, "bool")),
    *[case(op, X, X, (4,)) for op in ("Max", "Min", "Sum", "Mean")],
    case("Cast", X, to=7),
    case("Cast", (X, "int32"), to=1),
    case("Clip", X, weights=[np.float32(-0.5), np.float32(0.5)]),
    case("Clip", X, opset=6, min=-0.5, max=0.5),
    case("PRelu", X, (3, 1)),
    case("Where", (X, "bool"), X, X),
    case("MatMul", (2, 3, 4), (4, 5)),
    case("MatMul", (2, 3, 4), (2, 4, 5)),
    case("MatMul", (4,), (4, 5)),
    case("Gemm", (3, 4), (4, 5), (5,)),
    case("Gemm", (4, 3), (5, 4), (3, 5), transA=1, transB=1, alpha=0.5, beta=2.0),
    case("Gemm", (3, 4), (4, 5), opset=13),
    case("Einsum", (3, 4), (4, 5), equation="ij,jk->ik"),
    case("Conv", IMAGE, (6, 4, 3, 3), pads=[1, 1, 1, 1]),
    case("Conv", IMAGE, (6, 4, 3, 3), (6,), strides=[2, 2], pads=[1, 0, 1, 2]),
    case("Conv", IMAGE, (6, 2, 3, 3), group=2, dilations=[2, 1]),
    case("Conv", IMAGE, (4, 1, 3, 3), group=4, auto_pad="SAME_UPPER", strides=[2, 2]),
    case("Conv", (1, 4, 9), (6, 4, 3), pads=[1, 1]),
    case("ConvTranspose", IMAGE, (4, 3, 3, 3), (3,), strides=[2, 2], pads=[1, 1, 1, 1]),
    case("MaxPool", IMAGE, kernel_shape=[2, 2], strides=[2, 2]),
    case("MaxPool", IMAGE, kernel_shape=[3, 3], pads=[1, 1, 1, 1], ceil_mode=1, strides=[2, 2]),
    case("AveragePool", IMAGE, kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
    case("AveragePool", IMAGE, kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    case("GlobalAveragePool", IMAGE),
    case("GlobalMaxPool", IMAGE),
    case("BatchNormalization", IMAGE, (4,), (4,), (4,), ((4,), "positive")),
    case("InstanceNormalization", IMAGE, (4,), (4,)),
    case("LayerNormalization", X, (4,), (4,)),
    case("LayerNormalization", X, (3, 4), (3, 4), axis=1),
    case("GroupNormalization", IMAGE, (4,), (4,), opset=21, num_groups=2),
    case("Softmax", X, axis=1),
    case("Softmax", X, opset=11, axis=1),
    case("LogSoftmax", X),
    *[case(op, (X, "positive"), axes=[1], keepdims=k, opset=13)
      for op in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
                 "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp") for k in (0, 1)],
    case("ReduceSum", X, weights=[np.array([0, 2], I64)]),
    case("ReduceSum", X, opset=11, axes=[-1]),
    case("ReduceMean", X, keepdims=0),
    case("ArgMax", X, axis=1),
    case("ArgMin", X, axis=-1, keepdims=0),
    case("CumSum", X, weights=[np.array(1, I64)]),
    case("CumSum", X, weights=[np.array(2, I64)], reverse=1, exclusive=1),
    case("TopK", X, weights=[np.array([2], I64)], outputs=2),
    case("Reshape", X, weights=[np.array([0, -1, 2], I64)]),
    case("Flatten", X),
    case("Flatten", X, axis=2),
    case("Transpose", X, perm=[2, 0, 1]),
    case("Transpose", X),
    case("Squeeze", (1, 3, 1), weights=[np.array([0], I64)]),
    case("Squeeze", (1, 3, 1), opset=11, axes=[2]),
    case("Unsqueeze", X, weights=[np.array([0, -1], I64)]),
    case("Expand", (3, 1), weights=[np.array([2, 1, 4], I64)]),
    case("Concat", X, (2, 1, 4), axis=1),
    case("Split", (6, 4), outputs=3, axis=0),
    case("Split", (6, 4), outputs=2, weights=[np.array([2, 4], I64)]),
    case("Slice", (6, 4), weights=[np.array([1, 3], I64), np.array([5, 0], I64),
                                   np.array([0, 1], I64), np.array([2, -1], I64)]),
    case("Slice", (6, 4), opset=9, starts=[1], ends=[-1], axes=[0]),
    case("Gather", (5, 4), weights=[np.array([0, -1, 3], I64)]),
    case("Gather", (5, 4), np.array([[0, 1], [2, 3]], I64), axis=1),
    case("GatherElements", (3, 4), np.array([[0, 1, 2, 0]], I64), axis=0),
    case("GatherND", (3, 4), np.array([[0, 1], [2, 3]], I64)),
    case("ScatterElements", (3, 4), np.array([[0, 2]], I64), (1, 2), axis=1),
    case("ScatterND", (5,), np.array([[1], [3]], I64), (2,)),
    case("Tile", (2, 3), weights=[np.array([2, 3], I64)]),
    case("Pad", (2, 3), weights=[np.array([1, 0, 0, 2], I64), np.float32(1.5)]),
    case("Pad", (4, 5), weights=[np.array([1, 2, 1, 2], I64)], mode="reflect"),
    case("Pad", (4, 5), weights=[np.array([1, 2, 1, 2], I64)], mode="edge"),
    case("OneHot", np.array([0, 2, 1], I64), weights=[np.array(3, I64),
                                                     np.array([0.0, 1.0], F)]),
    case("Trilu", (4, 5), upper=0),
    case("Trilu", (4, 5), weights=[np.array(1, I64)]),
    case("DepthToSpace", (1, 8, 2, 3), blocksize=2),
    case("DepthToSpace", (1, 8, 2, 3), blocksize=2, mode="CRD"),
    case("SpaceToDepth", (1, 2, 4, 6), blocksize=2),
    case("Dropout", X),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "opset", "outputs", "weights", "attrs"), CASES)
def test_operator(
    op: str, inputs: Any, opset: int, outputs: int, weights: Any, attrs: dict[str, Any]
) -> None:
    rng = np.random.default_rng(zlib.crc32(op.encode()))
    arrays = {f"x{i}": _array(spec, rng) for i, spec in enumerate(inputs)}
    constants = {f"w{i}": np.asarray(array) for i, array in enumerate(weights)}
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, [*arrays, *constants], names, name="the/node", **attrs)
    check(make_model([node], arrays, names, constants, opset), arrays)
