"""Residual streams beside each other, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check_sizes, make_model

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(3)


def run(op: str, shapes: list[tuple[Any, ...]], outputs: int = 1, **attrs: Any) -> None:
    """Extents "b" and "s" are open."""
    names = [f"x{i}" for i in range(len(shapes))]
    runs = [
        {
            name: RNG.standard_normal([sizes.get(e, e) for e in shape]).astype("float32")
            for name, shape in zip(names, shapes)
        }
        for sizes in ({"b": 2, "s": 3}, {"b": 1, "s": 5})
    ]
    results = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, names, results, domain="com.microsoft", **attrs)
    model = make_model([node], runs[0], results, shapes=dict(zip(names, shapes)))
    check_sizes(model, runs, 1e-4)


X, FLAT, BRANCH = ("b", "s", 2, 8), ("b", "s", 16), ("b", "s", 8)
GATES = [("b", "s", 2), ("b", "s", 2, 1), ("b", "s", 2, 8)]


@pytest.mark.parametrize("gates", GATES)
def test_grouped_streams(gates: tuple[Any, ...]) -> None:
    run("HyperConnectionPreMix", [X, gates], reduction_scale=2.0)
    run("HyperConnectionPostMix", [X, BRANCH, gates])
    run("HyperConnectionPostMix", [X, BRANCH, gates, ("b", "s", 2, 2)])


def test_flat_streams() -> None:
    for gates in (FLAT, ("b", "s", 2)):
        run("HyperConnectionPreMix", [FLAT, gates], num_branches=2)
    run("HyperConnectionPostMix", [FLAT, BRANCH, GATES[0], ("b", "s", 2, 2)], num_branches=2)


def test_gates_of_what_is_looked_up() -> None:
    given = [X, X, BRANCH, (2, 8), (2, 8), (2, 8)]
    run("EngramGate", given[:5])
    run("EngramGate", given, outputs=2)
