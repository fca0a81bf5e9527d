"""Gates and norms of ONNX Runtime's own set, against it, with open extents."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check, make_model
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)


def floats(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("float32")


def run(op: str, inputs: list[Any], outputs: int = 1, **attrs: Any) -> None:
    """The first axis of inputs of three dimensions or more is open."""
    arrays = {f"x{i}": array for i, array in enumerate(inputs)}
    shapes = {n: ("rows", *a.shape[1:]) for n, a in arrays.items() if a.ndim > 2}
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, list(arrays), results, domain="com.microsoft", **attrs)
    check(make_model([node], arrays, results, shapes=shapes), arrays, rtol=1e-5)


X = floats(2, 3, 16)


@pytest.mark.parametrize("attrs", [{}, {"activation": "sigmoid", "epsilon": 1e-3}])
def test_gated_norm(attrs: Any) -> None:
    run("GatedRMSNorm", [X, floats(8), floats(2, 3, 16)], **attrs)


def test_norms_of_branches() -> None:
    run("BranchwiseRMSNorm", [X, floats(16)], num_branches=2)
    for scale in ((16,), (2, 8), (8,)):
        run("BranchwiseRMSNorm", [floats(2, 3, 2, 8), floats(*scale)])
    run("BranchwiseRMSNorm", [floats(2, 3, 2, 8)])


def test_gates() -> None:
    run("ScaledSiLU", [X], alpha=0.5)
    run("ScaledSiLU", [X, np.array(0.3, "float32")])
    run("GatedAdd", [X, floats(2, 3, 16), floats(2, 3, 1)])
    run("LinearAttentionGate", [floats(2, 3, 4), floats(4), floats(4), floats(2, 3, 4)], 2)


def test_refuses() -> None:
    arrays = {"x": X, "s": floats(8), "g": X}
    node = helper.make_node("GatedRMSNorm", list(arrays), ["y"], domain="com.microsoft",
                            activation="relu")  # fmt: skip
    with pytest.raises(OpAttributeInvalid, match=r"'relu'[\s\S]*silu, swish, sigmoid"):
        from_onnx(make_model([node], arrays, ["y"]))
