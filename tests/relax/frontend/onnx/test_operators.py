"""Every converter against ONNX Runtime, on small inputs."""

from __future__ import annotations

import zlib
from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check, make_model, run_compiled

pytestmark = pytest.mark.cpu
F = "float32"


def case(op: str, *inputs: Any, opset: int = 17, outputs: int = 1, weights: Any = (), **attrs: Any):
    """One node: inputs are shapes (random floats), (shape, dtype), or arrays."""
    return pytest.param(op, inputs, opset, outputs, weights, attrs, id=_name(op, opset, attrs))


def _name(op: str, opset: int, attrs: dict[str, Any]) -> str:
    return "-".join([op, f"v{opset}", *[f"{k}={v}" for k, v in attrs.items()]]).replace(" ", "")


def _array(spec: Any, rng: np.random.Generator) -> Any:
    if isinstance(spec, np.ndarray):
        return spec
    shape, dtype = spec if isinstance(spec[-1], str) else (spec, F)
    if dtype == F:
        return rng.uniform(0.1, 1.5, shape).astype(F) * rng.choice([-1, 1], shape).astype(F)
    if dtype == "positive":
        return rng.uniform(0.1, 0.9, shape).astype(F)
    if dtype == "signed":
        return rng.uniform(-1.2, 1.2, shape).astype(F)
    if dtype == "bool":
        return rng.random(shape) < 0.5
    return rng.integers(1, 9, shape).astype(dtype)


I64 = np.int64
X = (2, 3, 4)
# below the width: beyond it no standard says what comes out
SHIFTS = np.arange(24, dtype="uint8").reshape(X) % 8
IMAGE = (1, 4, 9, 7)
EMPTY = np.zeros(0, F)
BOXES = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, -0.1, 1, 0.9], [0, 10, 1, 11],
                   [0, 10.1, 1, 11.1], [0, 100, 1, 101]]], F)  # fmt: skip
CENTRES = np.array([[[0.5, 0.5, 1, 1], [0.5, 0.6, 1, 1], [0.5, 0.4, 1, 1], [0.5, 10.5, 1, 1],
                     [0.5, 10.6, 1, 1], [0.5, 100.5, 1, 1]]], F)  # fmt: skip
SCORES = np.array([[[0.9, 0.75, 0.6, 0.95, 0.5, 0.3], [0.1, 0.8, 0.2, 0.25, 0.9, 0.7]]], F)
CASES = [
    *[case(op, X) for op in (
        "Abs", "Atan", "Ceil", "Cos", "Elu", "Erf", "Exp", "Floor", "HardSigmoid", "HardSwish",
        "Identity", "LeakyRelu", "Neg", "Reciprocal", "Relu", "Round", "Selu", "Sigmoid", "Sign",
        "Sin", "Softplus", "Softsign", "Tan", "Tanh", "ThresholdedRelu", "Celu", "IsNaN", "IsInf",
        "Sinh", "Cosh",
    )],
    *[case(op, (X, "positive")) for op in ("Log", "Sqrt", "Acos", "Asin", "Atanh")],
    case("Mish", X, opset=18),
    case("Shrink", np.array([-2, -1, 0, 1, 2], "int32"), lambd=1.5, bias=1.5),
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
    case("Clip", X, weights=[np.float32(0.5), np.float32(-0.5)]),  # the upper bound wins
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
    case("LayerNormalization", X, (4,), (3, 1), axis=1),     # repeated along what is normalised
    case("LayerNormalization", X, (1,), axis=-1),
    case("LayerNormalization", (X, "float64"), ((4,), "float64"), outputs=3),
    case("RMSNormalization", X, (4,), axis=1, opset=23),
    *[case("Dropout", X, outputs=2, opset=opset) for opset in (7, 10, 12)],
    case("Clip", np.array([1, 2**63 + 5], "uint64"), opset=13,
         weights=[np.uint64(3), np.uint64(2**63 + 2)]),
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
    *[case("CumSum", X, np.array(axis, "int32"), reverse=1) for axis in (0, -2)],
    case("CumSum", (5,), np.array(-1, I64), exclusive=1),
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
    case("Split", (6, 4), opset=13, axis=0),
    case("Split", (6, 4), outputs=2, weights=[np.array([2, 4], I64)]),
    case("Slice", (6, 4), weights=[np.array([1, 3], I64), np.array([5, 0], I64),
                                   np.array([0, 1], I64), np.array([2, -1], I64)]),
    case("Slice", (6, 4), weights=[np.array([-9, 2], I64), np.array([-99, -9], I64),
         np.array([0, 1], I64), np.array([-1, -2], I64)]),
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
    case("BitwiseNot", (X, "int32"), opset=18),
    case("BitShift", (X, "uint32"), (X, "uint32"), direction="LEFT"),
    case("BitShift", (X, "uint8"), SHIFTS, direction="RIGHT"),
    case("Shrink", X, lambd=0.4, bias=0.1),
    case("Hardmax", X, axis=1),
    case("Hardmax", X, opset=11, axis=1),
    case("LpPool", IMAGE, opset=18, kernel_shape=[2, 3], strides=[2, 1], pads=[1, 0, 0, 1], p=3),
    case("GlobalLpPool", IMAGE, p=3),
    case("LRN", IMAGE, size=3, alpha=0.3, beta=0.6, bias=1.5),
    case("MeanVarianceNormalization", IMAGE),
    case("LpNormalization", X, axis=1),
    case("LpNormalization", X, p=1),
    case("MaxUnpool", (1, 1, 2, 2), np.array([[[[1, 7], [13, 15]]]], I64), kernel_shape=[2, 2],
         strides=[2, 2], opset=11),
    case("ConvTranspose", IMAGE, (4, 3, 3, 3), strides=[2, 2], output_shape=[18, 15]),
    case("ConvTranspose", IMAGE, (4, 3, 3, 3), strides=[2, 2], auto_pad="SAME_UPPER"),
    case("ConvTranspose", IMAGE, (4, 3, 3, 3), strides=[2, 3], auto_pad="SAME_LOWER"),
    case("ConvTranspose", (1, 2, 3, 4, 5), (2, 3, 2, 2, 2), strides=[2, 2, 2]),
    case("EyeLike", (3, 5), k=1),
    case("Scatter", (3, 4), np.array([[0, 2]], I64), (1, 2), opset=9, axis=1),
    case("NonZero", (X, "bool")),
    case("Compress", (3, 4), np.array([True, False, True]), axis=0),
    case("Compress", (3, 2), np.array([True, False, True, False, True])),
    case("Unique", np.array([3, 1, 3, 2, 1, 1], I64), outputs=4),
    case("Unique", np.array([3.0, 1.0, 3.0, 2.0], F)),
    case("ReverseSequence", (4, 3, 2), np.array([1, 4, 2], I64)),
    case("ReverseSequence", (3, 4, 2), np.array([1, 4, 2], I64), time_axis=1, batch_axis=0),
    case("CenterCropPad", (5, 3), weights=[np.array([3, 6], I64)], opset=18),
    case("CenterCropPad", (5, 3, 4), weights=[np.array([2, 7], I64)], opset=18, axes=[2, 0]),
    *[case(op, weights=[np.array(7, I64)], periodic=periodic)
      for op in ("HannWindow", "HammingWindow", "BlackmanWindow") for periodic in (0, 1)],
    case("NonMaxSuppression", BOXES, SCORES, weights=[np.array([2], I64), np.array([0.5], F),
                                                      np.array([0.2], F)]),
    case("NonMaxSuppression", CENTRES, SCORES, weights=[np.array([3], I64), np.array([0.3], F)],
         center_point_box=1),
    case("QuantizeLinear", X, weights=[np.float32(0.02), np.uint8(100)]),
    case("QuantizeLinear", X, weights=[np.array([0.02, 0.5, 0.1], F), np.array([3, 0, -5], "int8")],
         axis=1),
    case("QuantizeLinear", X, weights=[np.float32(0.02)]),
    case("DequantizeLinear", ((2, 3, 4), "uint8"), weights=[np.float32(0.02), np.uint8(7)]),
    case("DequantizeLinear", ((2, 3), "int8"), weights=[np.array([0.1, 0.2], F)], axis=0),
    case("DynamicQuantizeLinear", X, outputs=3),
    case("MatMulInteger", ((3, 4), "uint8"), ((4, 5), "int8"),
         weights=[np.uint8(3), np.array([1, 0, -1, 2, 4], "int8")]),
    case("MatMulInteger", ((3, 4), "uint8"), ((4, 5), "uint8")),
    case("ConvInteger", ((1, 2, 5, 5), "uint8"), ((3, 2, 3, 3), "uint8"), pads=[1, 1, 1, 1],
         weights=[np.uint8(2)]),
    case("QLinearMatMul", weights=[
        np.arange(12, dtype="uint8").reshape(3, 4), np.float32(0.1), np.uint8(4),
        np.arange(8, dtype="uint8").reshape(4, 2), np.float32(0.2), np.uint8(1),
        np.float32(0.05), np.uint8(20)]),
    case("QLinearConv", weights=[
        np.arange(50, dtype="uint8").reshape(1, 2, 5, 5), np.float32(0.1), np.uint8(4),
        np.arange(54, dtype="uint8").reshape(3, 2, 3, 3), np.float32(0.02), np.uint8(1),
        np.float32(0.9), np.uint8(20), np.array([100, -50, 7], "int32")], pads=[1, 0, 1, 0]),
    case("NegativeLogLikelihoodLoss", (3, 5), np.array([0, 4, 2], I64)),
    case("NegativeLogLikelihoodLoss", (3, 5), np.array([0, 4, 2], I64), ((5,), "positive"),
         reduction="sum", ignore_index=4),
    case("SoftmaxCrossEntropyLoss", (3, 5), np.array([0, 4, 2], I64), outputs=2),
    case("GridSample", (1, 2, 4, 5), ((1, 3, 3, 2), "signed"), opset=16),
    case("GridSample", (1, 2, 4, 5), ((1, 3, 3, 2), "signed"), opset=16, mode="nearest",
         padding_mode="border"),
    case("GridSample", (1, 2, 4, 5), ((1, 3, 3, 2), "signed"), opset=16, mode="bicubic",
         padding_mode="reflection", align_corners=1),
    case("GridSample", (1, 2, 3, 4, 5), ((1, 2, 2, 2, 3), "signed"), opset=20, mode="linear"),
    *[case("AffineGrid", (2, 3, 4), weights=[np.array([2, 3, 4, 5, 6], I64)], opset=20,
           align_corners=c) for c in (0, 1)],
    case("Reshape", (0, 3, 4), weights=[np.array([3, 4, 0], I64)], allowzero=1),
    *[case("AffineGrid", (2, 2, 3), weights=[np.array([2, 3, 4, 5], I64)], opset=20,
           align_corners=c) for c in (0, 1)],
    case("Upsample", IMAGE, opset=9, weights=[np.array([1, 1, 2, 3], F)]),
    case("Upsample", IMAGE, opset=9, weights=[np.array([1, 1, 2, 2], F)], mode="linear"),
    case("Upsample", IMAGE, opset=7, scales=[1.0, 1.0, 2.0, 2.0]),
    case("Resize", IMAGE, opset=10, weights=[np.array([1, 1, 0.6, 2], F)]),
    *[case("Resize", IMAGE, opset=13, weights=[EMPTY, np.array([1, 1, h, w], F)], mode=mode,
           coordinate_transformation_mode=how)
      for mode in ("nearest", "linear", "cubic")
      for how in ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel")
      for h, w in ((2, 2), (0.7, 1.3))],
    *[case("Resize", IMAGE, opset=13, weights=[EMPTY, EMPTY, np.array([1, 4, 5, 11], I64)],
           nearest_mode=how) for how in ("floor", "ceil", "round_prefer_ceil")],
    case("Resize", (2, 3, 7), opset=13, weights=[EMPTY, EMPTY, np.array([2, 3, 12], I64)],
         mode="linear"),
    case("Resize", (1, 2, 3, 4, 5), opset=13, mode="linear",
         weights=[EMPTY, EMPTY, np.array([1, 2, 5, 6, 7], I64)]),
    case("Resize", IMAGE, opset=13, mode="cubic", exclude_outside=1, cubic_coeff_a=-0.5,
         weights=[EMPTY, np.array([1, 1, 1.7, 0.8], F)]),
    case("Resize", IMAGE, opset=13, mode="linear", extrapolation_value=9.0,
         coordinate_transformation_mode="tf_crop_and_resize",
         weights=[np.array([0, 0, 0.2, -0.3, 1, 1, 0.8, 1.1], F), EMPTY,
                  np.array([1, 4, 6, 8], I64)]),
    case("Resize", IMAGE, opset=18, weights=[EMPTY, np.array([0.6, 0.5], F)], axes=[2, 3],
         mode="linear", antialias=1),
    case("Resize", IMAGE, opset=18, weights=[EMPTY, np.array([0.6, 0.5], F)], axes=[2, 3],
         mode="cubic", antialias=1),
    case("Resize", IMAGE, opset=18, weights=[EMPTY, EMPTY, np.array([5, 5], I64)], axes=[2, 3],
         keep_aspect_ratio_policy="not_larger", mode="linear"),
    case("Resize", IMAGE, opset=18, weights=[EMPTY, EMPTY, np.array([5, 5], I64)], axes=[3, 2],
         keep_aspect_ratio_policy="not_smaller"),
]  # fmt: skip


@pytest.mark.parametrize(("op", "inputs", "opset", "outputs", "weights", "attrs"), CASES)
def test_operator(
    op: str, inputs: Any, opset: int, outputs: int, weights: Any, attrs: dict[str, Any]
) -> None:
    rng = np.random.default_rng(zlib.crc32(op.encode()))
    arrays = {f"x{i}": _array(spec, rng) for i, spec in enumerate(inputs)}
    constants = {f"w{i}": np.asarray(array) for i, array in enumerate(weights)}
    names = [f"y{i}" for i in range(outputs)]
    if op == "Resize":  # an empty input is one that is left out
        constants = {k: v for k, v in constants.items() if v.size}
        given = [*arrays, *(f"w{i}" if np.size(w) else "" for i, w in enumerate(weights))]
    else:
        given = [*arrays, *constants]
    node = helper.make_node(op, given, names, name="the/node", **attrs)
    check(make_model([node], arrays, names, constants, opset), arrays)


# --- forms of the first operator sets, which ONNX Runtime has not ---

NORM = {"s": 2.0, "b": 0.5, "m": 0.25, "v": 1.5}
OLD = {
    "Pad": ({}, {"paddings": [0, 0, 1, 2, 0, 0, 1, 1], "value": 1.5},
            lambda x: np.pad(x, ((0, 0), (0, 0), (1, 1), (2, 1)), constant_values=1.5)),
    "TopK": ({}, {"k": 2, "axis": 2}, lambda x: -np.sort(-x, 2)[:, :, :2]),
    "Upsample": ({}, {"height_scale": 2.0, "width_scale": 3.0},
                 lambda x: x.repeat(2, 2).repeat(3, 3)),
    "Cast": ({}, {"to": "INT64"}, lambda x: x.astype(I64)),
    "BatchNormalization": (
        {name: np.full((3, 4, 5), value, F) for name, value in NORM.items()},
        {"spatial": 0, "is_test": 1}, lambda x: (x - 0.25) / np.sqrt(1.5 + 1e-5) * 2 + 0.5,
    ),
}  # fmt: skip


@pytest.mark.parametrize("op", OLD)
@pytest.mark.parametrize("sizes", [(2, 3, 4, 5), ("a", 3, 4, 5), ("a", "b", "c", "d")])
def test_first_forms(op: str, sizes: tuple[Any, ...]) -> None:
    weights, attrs, wanted = OLD[op]
    x = np.random.default_rng(0).uniform(-2, 2, (2, 3, 4, 5)).astype(F)
    names = ["y", "i"] if op == "TopK" else ["y"]
    node = helper.make_node(op, ["x", *weights], names, **attrs)
    model = make_model([node], {"x": x}, names, weights, 1, {"x": sizes})
    np.testing.assert_allclose(run_compiled(model, {"x": x})[0], wanted(x), rtol=1e-5, atol=1e-5)


def test_resizing_by_scales_of_any_picture() -> None:
    """Operator set 10 takes the next element where it shrinks, the one before where it grows."""
    x = np.random.default_rng(0).random((2, 3, 4, 5)).astype(F)
    scales = np.array([1, 1, 2, 0.6], F)
    for mode in ("nearest", "linear"):
        node = helper.make_node("Resize", ["x", "s"], ["y"], mode=mode)
        sizes = {"x": ["n", "c", "h", "w"]}
        check(make_model([node], {"x": x}, ["y"], {"s": scales}, 10, sizes), {"x": x})
