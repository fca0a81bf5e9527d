"""ONNX Runtime's own operators, against it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

import tvm
from tests.relax.frontend.onnx.models import check, make_model, run_compiled
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("float32")


def run(op: str, inputs: list[Any], outputs: int = 1, **attrs: Any) -> None:
    arrays = {f"x{i}": array for i, array in enumerate(inputs) if array is not None}
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attrs)
    shown = results if op == "EmbedLayerNormalization" else [results[0], *results[3:]]
    if outputs == 4:
        node.output[1:3] = ["", ""]
    check(make_model([node], arrays, shown), arrays, rtol=1e-4)


X = floats(2, 3, 8)


def nodes_of(op: str, domain: str, *inputs: str, **attrs: Any) -> Any:
    given = {"x": (2, 3, 8), "y": (2, 3, 8), "row": (8,), "w": (8, 24), "b": (24,)}
    node = helper.make_node(op, inputs, ["z"], domain=domain, **attrs)
    arrays = {name: np.ones(given[name], "float32") for name in inputs}
    return from_onnx(make_model([node], arrays, ["z"]))


@pytest.mark.parametrize(("op", "inputs", "attrs"), [
    ("BiasGelu", ("x", "row"), {}), ("FastGelu", ("x",), {}),
    ("SkipLayerNormalization", ("x", "y", "row", "row"), {"epsilon": 1e-4}),
    ("Attention", ("x", "w", "b"), {"num_heads": 2}),
])  # fmt: skip
def test_operators_that_are_written_without_their_domain(
    op: str, inputs: tuple[str, ...], attrs: dict[str, Any]
) -> None:
    plain = nodes_of(op, "", *inputs, **attrs)
    tvm.ir.assert_structural_equal(plain, nodes_of(op, "com.microsoft", *inputs, **attrs))


def test_activations() -> None:
    run("Gelu", [X])
    run("BiasGelu", [X, floats(8)])
    run("FastGelu", [X])
    run("FastGelu", [X, floats(8)])
    run("QuickGelu", [X], alpha=1.5)


def test_products() -> None:
    run("FusedMatMul", [X, floats(2, 5, 8)], transB=1, alpha=0.5)
    run("FusedMatMul", [floats(2, 8, 3), floats(2, 8, 5)], transA=1)


@pytest.mark.parametrize("bias", [None, floats(8)])
def test_norms_of_sums(bias: Any) -> None:
    run("SkipLayerNormalization", [X, floats(2, 3, 8), floats(8), floats(8), bias])
    run("SkipLayerNormalization", [X, floats(2, 3, 8), floats(8), None, bias], outputs=4)
    run("SkipSimplifiedLayerNormalization", [X, floats(2, 3, 8), floats(8), bias])


@pytest.mark.parametrize("segments", [False, True])
def test_embeddings(segments: bool) -> None:
    ids = np.array([[1, 4, 2], [0, 3, 1]], "int32")
    inputs = [
        ids, ids % 2 if segments else None, floats(5, 8), floats(6, 8),
        floats(2, 8) if segments else None, floats(8), floats(8),
        np.array([[1, 1, 1], [1, 1, 0]], "int32"),
    ]  # fmt: skip
    run("EmbedLayerNormalization", inputs, outputs=2)


@pytest.mark.parametrize(
    "mask",
    [None, np.array([[1, 1, 1], [1, 1, 0]], "int32"), np.array([3, 2], "int32")],
    ids=["no mask", "mask", "lengths"],
)
def test_attention(mask: Any) -> None:
    run("Attention", [X, floats(8, 24), floats(24), mask], num_heads=2)


def test_attention_of_other_forms() -> None:
    run("Attention", [X, floats(8, 24), floats(24)], num_heads=2, unidirectional=1)
    sizes = [8, 8, 12]
    run("Attention", [X, floats(8, 28), floats(28)], num_heads=2, qkv_hidden_sizes=sizes)
    bias = floats(2, 2, 3, 3)
    run("Attention", [X, floats(8, 24), floats(24), None, None, bias], num_heads=2)


@pytest.mark.parametrize("op", ["SkipLayerNormalization", "SkipSimplifiedLayerNormalization"])
def test_outputs_that_nobody_reads_are_not_made(op: str) -> None:
    arrays = {f"x{i}": floats(*shape) for i, shape in enumerate([(2, 3, 8), (2, 3, 8), (8,)])}
    names = ["y", "mean", "inverse", "sum"]
    made = helper.make_node(op, list(arrays), names, domain="com.microsoft")
    model = make_model([made], arrays, ["y"])
    check(model, arrays, rtol=1e-4)
    fewer = make_model([helper.make_node(op, list(arrays), ["y"], domain="com.microsoft")],
                       arrays, ["y"])  # fmt: skip
    tvm.ir.assert_structural_equal(from_onnx(model), from_onnx(fewer))
    total = arrays["x0"] + arrays["x1"]
    mean, inverse = run_compiled(make_model([made], arrays, names[1:3]), arrays)
    np.testing.assert_allclose(mean, total.mean(-1, keepdims=True), rtol=1e-4, atol=1e-6)
    spread = total.var(-1) if op == "SkipLayerNormalization" else (total**2).mean(-1)
    np.testing.assert_allclose(inverse[..., 0], spread**-0.5, rtol=1e-4)


def test_windows_of_an_axis() -> None:
    run("UnfoldTensor", [floats(3, 10, 2)], dim=1, size=4, step=2)
    run("UnfoldTensor", [floats(3, 5)], size=2)
