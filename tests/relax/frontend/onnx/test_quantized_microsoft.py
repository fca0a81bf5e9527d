"""ONNX Runtime's own operators on quantised tensors, against it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import make_model, run_compiled, run_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)


def tensor(*shape: int, zero: int = 120, scale: float = 0.05) -> list[Any]:
    """Integers, their scale and their zero point."""
    values = RNG.integers(0, 256, shape).astype("uint8")
    return [values, np.float32(scale), np.uint8(zero)]


def out(scale: float, zero: int = 7) -> list[Any]:
    return [np.float32(scale), np.uint8(zero)]


def run(op: str, inputs: list[Any], **attrs: Any) -> None:
    """Integers may differ by one, where a half was rounded."""
    arrays = {f"x{i}": np.asarray(array) for i, array in enumerate(inputs)}
    node = helper.make_node(op, list(arrays), ["y"], domain="com.microsoft", **attrs)
    model = make_model([node], arrays, ["y"])
    (want,), (have,) = run_onnx(model, arrays), run_compiled(model, arrays)
    assert have.dtype == want.dtype
    most = 1e-4 if want.dtype == np.float32 else 1
    np.testing.assert_allclose(have.astype("float64"), want.astype("float64"), rtol=0, atol=most)


X = tensor(2, 3, 4, 5)


def test_elementwise() -> None:
    run("QLinearAdd", [*X, *tensor(3, 1, 5, zero=3), *out(0.1, 128)])
    run("QLinearMul", [*X, *tensor(4, 5, scale=0.1), *out(0.3, 100)])
    run("QLinearSigmoid", [*X, *out(1 / 255)])
    run("QLinearLeakyRelu", [*X, *out(0.06, 20)], alpha=0.2)


@pytest.mark.parametrize("opset", [11, 13])
def test_softmax(opset: int) -> None:
    run("QLinearSoftmax", [*X, *out(1 / 255, 0)], axis=2, opset=opset)


def test_pools_and_joins() -> None:
    run("QLinearGlobalAveragePool", [*X, *out(0.02, 100)], channels_last=0)
    run("QLinearConcat", [*out(0.07, 110), *X, *tensor(2, 1, 4, 5, zero=9, scale=0.08)], axis=1)


@pytest.mark.parametrize("flags", [(0, 0), (0, 1), (1, 0)])
def test_products(flags: tuple[int, int]) -> None:
    by_rows, by_columns = flags
    a = tensor(6, 4) if by_rows else tensor(4, 6)
    b = tensor(5, 6, zero=99) if by_columns else tensor(6, 5, zero=99)
    bias = RNG.integers(-900, 900, 5).astype("int32")
    run("QGemm", [*a, *b, bias, *out(0.4, 128)], transA=by_rows, transB=by_columns, alpha=1.0)
    run("QGemm", [*a, *b, bias], transA=by_rows, transB=by_columns, alpha=0.5)


def signed(*shape: int) -> Any:
    return RNG.integers(-64, 64, shape).astype("int8")


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("float32")


@pytest.mark.parametrize("last", [0, 1])
def test_windows_with_channels_last(last: int) -> None:
    shape = (1, 5, 5, 4) if last else (1, 4, 5, 5)
    weight = [signed(6, 4, 3, 3), np.float32(0.01), np.int8(0)]
    run("QLinearConv", [*tensor(*shape), *weight, *out(0.4, 128)], channels_last=last)
    run("QLinearAveragePool", [*tensor(*shape), *out(0.06, 100)], channels_last=last,
        kernel_shape=[2, 2])  # fmt: skip
    if last:
        run("NhwcMaxPool", tensor(*shape)[:1], kernel_shape=[2, 2], strides=[2, 2])


def test_choice() -> None:
    chosen = RNG.random((2, 3)) > 0.5
    run("QLinearWhere", [chosen, *tensor(2, 3), *tensor(2, 3, zero=110), *out(0.06, 100)])


def test_products_of_integers_as_floats() -> None:
    a, scales = tensor(3, 8), [np.float32(0.05), np.float32(0.01)]
    run("MatMulIntegerToFloat", [a[0], signed(8, 5), *scales, a[2], np.int8(3), floats(5)])
    run("MatMulIntegerToFloat",
        [a[0], signed(8, 5), scales[0], abs(floats(5)) / 100, a[2], signed(5)])  # fmt: skip
    run("DynamicQuantizeMatMul", [floats(3, 8), signed(8, 5), scales[1], np.int8(3), floats(5)])


@pytest.mark.parametrize("shapes", [{}, {"x": ["steps", "batch", 8]}])
def test_a_recurrent_layer_with_quantised_weights(shapes: dict[str, Any]) -> None:
    """What comes in is rounded for all steps at once, and the states for all rows of a step."""
    arrays = {"x": floats(4, 5, 8), "w": signed(2, 8, 24), "r": signed(2, 6, 24),
              "b": floats(2, 48), "ws": abs(floats(2, 24)) / 100 + 0.001,
              "wz": np.zeros((2, 24), "int8")}  # fmt: skip
    names = ["x", "w", "r", "b", "", "", "", "", "ws", "wz", "ws", "wz"]
    node = helper.make_node("DynamicQuantizeLSTM", names, ["y"], domain="com.microsoft",
                            hidden_size=6, direction="bidirectional")  # fmt: skip
    model = make_model([node], arrays, ["y"], shapes=shapes)
    (want,), (have,) = run_onnx(model, arrays), run_compiled(model, arrays)
    np.testing.assert_allclose(have, want, rtol=0, atol=1e-6)


def test_embeddings_of_quantised_tables() -> None:
    ids = np.array([[1, 2], [3, 0]], "int32")
    octets = [RNG.integers(0, 256, shape).astype("uint8") for shape in ((5, 8), (4, 8), 8, 8)]
    mask = np.array([[1, 1], [1, 0]], "int32")
    scales = [np.float32(s) for s in (0.02, 0.03, 0.02, 0.01)]
    zeros = [np.uint8(z) for z in (120, 110, 100, 90)]
    parts = [ids, None, *octets[:2], None, *octets[2:], mask, *scales[:2], None, *scales[2:],
             *zeros[:2], None, *zeros[2:]]  # fmt: skip
    arrays = {f"x{i}": np.asarray(part) for i, part in enumerate(parts) if part is not None}
    names = [f"x{i}" if part is not None else "" for i, part in enumerate(parts)]
    node = helper.make_node(
        "QEmbedLayerNormalization", names, ["y", "lengths"], domain="com.microsoft"
    )
    model = make_model([node], arrays, ["y", "lengths"])
    for want, have in zip(run_onnx(model, arrays), run_compiled(model, arrays)):
        np.testing.assert_allclose(have, want, rtol=1e-4, atol=1e-4)
