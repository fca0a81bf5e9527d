"""ai.onnx.ml: forests, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import make_model
from tests.relax.frontend.onnx.test_ml_tables import ML, ml_check
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx
from tvm.relax.frontend.onnx.graph import OpConversionError

pytestmark = pytest.mark.cpu
FEATURES = 4


def _forest(
    rng: np.random.Generator, trees: int, targets: int, prefix: str, modes: tuple[str, ...]
) -> dict[str, Any]:
    """Full binary trees of random depth, as lists over all nodes."""
    nodes: dict[str, list[Any]] = {key: [] for key in (
        "treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids",
    )}  # fmt: skip
    leaves: dict[str, list[Any]] = {key: [] for key in ("treeids", "nodeids", "ids", "weights")}
    for tree in range(trees):
        inner = 2 ** int(rng.integers(1, 4)) - 1
        for place in range(2 * inner + 1):
            is_leaf = place >= inner
            row = (
                tree, place, int(rng.integers(FEATURES)), float(np.float32(rng.standard_normal())),
                "LEAF" if is_leaf else str(rng.choice(modes)),
                0 if is_leaf else 2 * place + 1, 0 if is_leaf else 2 * place + 2,
            )  # fmt: skip
            for values, value in zip(nodes.values(), row):
                values.append(value)
            if is_leaf:
                weight = float(np.float32(rng.standard_normal()))
                for column, entry in zip(
                    leaves.values(), (tree, place, int(rng.integers(targets)), weight)
                ):
                    column.append(entry)
    return {
        **{f"nodes_{key}": values for key, values in nodes.items()},
        **{f"{prefix}_{key}": values for key, values in leaves.items()},
    }


def _rows(rng: np.random.Generator) -> np.ndarray:
    return rng.standard_normal((9, FEATURES)).astype("float32")


@pytest.mark.parametrize("how", ["SUM", "AVERAGE", "MIN", "MAX"])
def test_regressor(how: str) -> None:
    rng = np.random.default_rng(len(how))
    forest = _forest(rng, 5, 1, "target", ("BRANCH_LEQ",))
    ml_check("TreeEnsembleRegressor", {"x": _rows(rng)}, n_targets=1, aggregate_function=how,
             base_values=[0.5], **forest)  # fmt: skip


def test_all_tests_of_nodes_and_several_targets() -> None:
    rng = np.random.default_rng(11)
    modes = ("BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ")
    forest = _forest(rng, 11, 3, "target", modes)
    ml_check("TreeEnsembleRegressor", {"x": _rows(rng)}, n_targets=3, **forest)


def test_missing_values() -> None:
    rng = np.random.default_rng(12)
    forest = _forest(rng, 3, 1, "target", ("BRANCH_LEQ",))
    x = _rows(rng)
    x[::2, 1] = np.nan
    track = [int(v) for v in rng.integers(0, 2, len(forest["nodes_modes"]))]
    ml_check("TreeEnsembleRegressor", {"x": x}, n_targets=1,
             nodes_missing_value_tracks_true=track, **forest)  # fmt: skip


@pytest.mark.parametrize("post", ["NONE", "SOFTMAX", "LOGISTIC"])
def test_classifier(post: str) -> None:
    rng = np.random.default_rng(13)
    forest = _forest(rng, 5, 3, "class", ("BRANCH_LEQ",))
    ml_check("TreeEnsembleClassifier", {"x": _rows(rng)}, outputs=2,
             classlabels_int64s=[4, 2, 8], post_transform=post, **forest)  # fmt: skip


@pytest.mark.parametrize("positive", [True, False])
def test_two_classes_by_one_score(positive: bool) -> None:
    rng = np.random.default_rng(14)
    forest = _forest(rng, 5, 1, "class", ("BRANCH_LEQ",))
    if positive:
        forest["class_weights"] = [abs(w) / 5 for w in forest["class_weights"]]
    post = "NONE" if positive else "LOGISTIC"
    ml_check("TreeEnsembleClassifier", {"x": _rows(rng)}, outputs=2,
             classlabels_int64s=[0, 1], post_transform=post, **forest)  # fmt: skip


def _refused(error: type[Exception], words: str, **changes: Any) -> None:
    forest = _forest(np.random.default_rng(0), 1, 1, "target", ("BRANCH_LEQ",))
    node = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain=ML, n_targets=1, **{**forest, **changes}
    )
    x = np.zeros((1, FEATURES), "float32")
    with pytest.raises(error, match=words):
        from_onnx(make_model([node], {"x": x}, ["y"], domains={ML: 3}))


def test_bad_forests() -> None:
    forest = _forest(np.random.default_rng(0), 1, 1, "target", ("BRANCH_LEQ",))
    count = len(forest["nodes_modes"])
    _refused(OpAttributeInvalid, "BRANCH_LEQ", nodes_modes=["BRANCH_MAYBE"] * count)
    around = [0] * count
    _refused(OpConversionError, "in a circle", nodes_truenodeids=around)
