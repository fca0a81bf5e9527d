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
