"""Mixtures of experts, against ONNX Runtime; forms it lacks on CPUs, against their definition."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check, make_model, run_compiled
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("float32")


def model_of(inputs: list[Any], op: str = "MoE", **attrs: Any) -> tuple[Any, dict[str, Any]]:
    """With any number of rows."""
    arrays = {
        f"x{i}": np.ascontiguousarray(array) for i, array in enumerate(inputs) if array is not None
    }
    names = [f"x{i}" if array is not None else "" for i, array in enumerate(inputs)]
    shapes = {n: ("rows", *arrays[n].shape[1:]) for n in ("x0", "x1") if arrays[n].ndim == 2}
    node = helper.make_node(op, names, ["y"], domain="com.microsoft", **attrs)
    return make_model([node], arrays, ["y"], shapes=shapes), arrays


X, P = floats(5, 8), floats(5, 4)
W1, B1, W2, B2 = floats(4, 16, 8), floats(4, 16), floats(4, 8, 16), floats(4, 8)


@pytest.mark.parametrize(
    ("kind", "attrs"),
    [("relu", {"k": 1}), ("gelu", {"k": 2, "normalize_routing_weights": 1}), ("silu", {"k": 2})],
)
def test_experts(kind: str, attrs: Any) -> None:
    check(*model_of([X, P, W1, B1, W2, B2], activation_type=kind, **attrs), rtol=1e-5)


def test_rows_in_two_dimensions_and_gates_in_turns() -> None:
    inputs = [floats(2, 3, 8), floats(6, 4), W1, None, floats(4, 8, 8)]
    limits = {"activation_alpha": 1.7, "activation_beta": 1.0, "swiglu_limit": 0.9}
    for more in ({}, limits):
        attrs = {"k": 2, "normalize_routing_weights": 1, "swiglu_fusion": 1, **more}
        check(*model_of(inputs, activation_type="swiglu", **attrs), rtol=1e-5)


@pytest.mark.parametrize("way", [0, 2])
def test_gates_apart_or_behind(way: int) -> None:
    wide, both = floats(4, 16, 8), floats(4, 8, 8)
    first, third = (wide, None) if way else np.split(wide, 2, 1)
    inputs = [X, P, first, None, both, None, third]
    model, arrays = model_of(inputs, activation_type="swiglu", swiglu_fusion=way, k=1)
    (got,) = run_compiled(model, arrays)
    shares = np.exp(P) / np.exp(P).sum(1, keepdims=True)
    for row, found in enumerate(got):
        best = int(P[row].argmax())
        inner = X[row] @ wide[best].T
        gated = inner[:8] / (1 + np.exp(-inner[:8])) * inner[8:]
        np.testing.assert_allclose(found, shares[row, best] * (gated @ both[best].T), rtol=1e-4,
                                   atol=1e-5)  # fmt: skip


def test_refuses() -> None:
    for attrs, legal in (({"activation_type": "geglu"}, "relu"), ({"use_sparse_mixer": 1}, "0")):
        with pytest.raises(OpAttributeInvalid, match=f"legal: {legal}"):
            from_onnx(model_of([X, P, W1, B1, W2, B2], **attrs)[0])


def packed(numbers: Any, bits: int) -> Any:
    parts = numbers.reshape(*numbers.shape[:-1], -1, 8 // bits).astype("uint8")
    return np.bitwise_or.reduce(parts << (bits * np.arange(8 // bits, dtype="uint8")), axis=-1)


@pytest.mark.parametrize(
    ("bits", "block", "zeros", "kind"),
    [(4, 0, False, "silu"), (4, 16, True, "swiglu"), (8, 0, True, "relu"), (2, 16, False, "gelu")],
)
def test_weights_of_few_bits(bits: int, block: int, zeros: bool, kind: str) -> None:
    outputs = 64 if kind == "swiglu" else 32
    layers, points = [], []
    for rows, columns in ((outputs, 32), (32, 32)):
        scales = (4, rows, columns // block) if block else (4, rows)
        numbers = RNG.integers(0, 1 << bits, (4, rows, columns))
        layers += [packed(numbers, bits), RNG.uniform(0.01, 0.05, scales).astype("float32"),
                   floats(4, rows)]  # fmt: skip
        points.append(packed(RNG.integers(0, 1 << bits, scales), bits) if zeros else None)
    attrs = {"block_size": block} if block else {}
    if kind == "swiglu":
        attrs["swiglu_fusion"] = 1
    given = [floats(5, 32), P, *layers, None, None, None, *points, None, abs(floats(5, 4))]
    for inputs in (given, given[:13] if zeros else given[:8]):
        model, arrays = model_of(
            inputs, op="QMoE", k=2, activation_type=kind, expert_weight_bits=bits, **attrs
        )
        check(model, arrays, rtol=1e-4)


@pytest.mark.parametrize("attrs", [
    {"top_k": 3}, {"top_k": 2, "n_group": 4, "topk_group": 2},
    {"top_k": 2, "n_group": 2, "group_topk": 9, "router_sentinel": -5.0},
])  # fmt: skip
def test_experts_of_the_best_groups(attrs: dict[str, Any]) -> None:
    model, arrays = model_of([floats(7, 8), floats(8) / 10], "MoEGroupRouter", **attrs)
    check(model, arrays, rtol=1e-4)


def test_scores_of_all_experts() -> None:
    model, arrays = model_of([floats(7, 8), floats(8) / 10], "MoEGroupRouter", top_k=2)
    model.graph.node[0].output[:] = ["", "scores", "shares"]
    model.graph.output[0].name = "scores"
    model.graph.output.append(helper.make_empty_tensor_value_info("shares"))
    shares = 1 / (1 + np.exp(-arrays["x0"]))
    scores, weights = run_compiled(model, arrays)
    np.testing.assert_allclose(weights, shares, rtol=1e-5)
    np.testing.assert_allclose(scores, shares + arrays["x1"], rtol=1e-5)


def test_refuses_groups_of_other_sizes() -> None:
    model, _ = model_of([floats(7, 8), floats(8)], "MoEGroupRouter", top_k=2, n_group=3)
    with pytest.raises(OpAttributeInvalid, match="n_group"):
        from_onnx(model)
