"""Cheapest paths and places where texts part, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check_sizes, make_model, run_compiled
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(0)


def test_cheapest_paths() -> None:
    shapes = ((3, 4), (1, 1), (1, 5), (5, 1), (7, 6), (12, 9))
    runs = [{"x": RNG.standard_normal(shape).astype("float32")} for shape in shapes]
    runs += [{"x": np.full((3, 4), value, "float32")} for value in (0, np.inf, np.nan)]
    node = helper.make_node("DynamicTimeWarping", ["x"], ["y"], domain="com.microsoft")
    check_sizes(make_model([node], runs[0], ["y"], shapes={"x": ["m", "n"]}), runs)
    table = {"x": RNG.standard_normal((1, 4, 3)).astype("float32")}
    check_sizes(make_model([node], table, ["y"]), [table])
    with pytest.raises(OpAttributeInvalid, match="rank"):
        from_onnx(make_model([node], {"x": np.zeros(3, "float32")}, ["y"]))


def texts(*numbers: Any) -> dict[str, Any]:
    return {name: np.array(n, "int64") for name, n in zip(("s", "t", "i", "p"), numbers)}


def parting(runs: list[dict[str, Any]], **attrs: Any) -> Any:
    node = helper.make_node("BifurcationDetector", list(runs[0]), ["y", "z"], name="draft",
                            domain="com.microsoft", **attrs)  # fmt: skip
    shapes = {name: [name] for name in runs[0] if name != "i"}
    return make_model([node], runs[0], ["y", "z"], shapes=shapes)


def test_where_texts_part() -> None:
    runs = [
        texts([1, 2, 3, 4, 5], [7, 8], [0], [1, 2, 9, 9, 9, 9]),
        texts([1, 2, 3, 4, 5], [7, 8], [0], [1, 2, 3, 4, 5, 6]),
        texts([1, 2, 3, 4, 5], [7, 8], [2], [3, 4, 9, 9]),
        texts([1, 2, 3], [2], [3], [7]),
        texts([1, 2, 3], [2], [2], [3, 9]),
    ]
    model = parting(runs)
    check_sizes(model, runs)
    with pytest.raises(ValueError, match="source=draft"):
        run_compiled(model, texts([1, 2, 3, 4, 5], [7, 8], [0], [1, 2, 9]))


@pytest.mark.parametrize("attrs", [{}, {"max_ngram_size": 2}, {"min_ngram_size": 2}])
def test_where_last_tokens_stand_once(attrs: Any) -> None:
    cases = [([1, 2, 3, 2, 3], [7, 1, 2, 3]), ([1, 2, 3], [2]), ([1, 1, 1], [1, 1, 1, 1]),
             ([1, 2, 1], [1]), ([1, 2], []), ([], [1]), ([1, 2, 3], [4, 3])]  # fmt: skip
    runs = [texts(source, tokens, [0]) for source, tokens in cases]
    check_sizes(parting(runs, **attrs), runs)


def test_refuses() -> None:
    with pytest.raises(OpAttributeInvalid, match="least"):
        from_onnx(parting([texts([1], [1], [0])], min_ngram_size=4))
