"""ai.onnx.ml: preparation of tables, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import Array, check, make_model, run_compiled
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
ML = "ai.onnx.ml"
X = np.array([[1.5, -2, 0], [0, 0, 0], [4, 0.25, -1]], "float32")
I64 = np.int64


def ml_check(
    op: str, inputs: dict[str, Array], outputs: int = 1, version: int = 3, rtol: float = 1e-5,
    **attrs: Any,
) -> None:  # fmt: skip
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, list(inputs), names, domain=ML, name="model", **attrs)
    check(make_model([node], inputs, names, domains={ML: version}), inputs, rtol)


def test_scaler() -> None:
    ml_check("Scaler", {"x": X}, offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, -1.0])
    ml_check("Scaler", {"x": X.astype(I64)}, offset=[1.0], scale=[0.5])


@pytest.mark.parametrize("norm", ["MAX", "L1", "L2"])
def test_normalizer(norm: str) -> None:
    ml_check("Normalizer", {"x": np.abs(X)}, norm=norm)


def test_binarizer() -> None:
    ml_check("Binarizer", {"x": X}, threshold=0.25)


def test_imputer() -> None:
    x = np.array([[1, np.nan], [np.nan, 2]], "float32")
    ml_check("Imputer", {"x": x}, imputed_value_floats=[7.0, 8.0], replaced_value_float=np.nan)
    ml_check("Imputer", {"x": X}, imputed_value_floats=[7.0], replaced_value_float=0.0)
    ml_check("Imputer", {"x": X.astype(I64)}, imputed_value_int64s=[9], replaced_value_int64=0)


def test_columns() -> None:
    ml_check("ArrayFeatureExtractor", {"x": X, "i": np.array([2, 0], I64)})
    ml_check("FeatureVectorizer", {"x": X, "z": X[:, :2].copy()}, inputdimensions=[3, 2])


def test_one_hot() -> None:
    ml_check("OneHotEncoder", {"x": np.array([3, 1, 7], I64)}, cats_int64s=[1, 3, 5])


def test_one_hot_of_nothing_else() -> None:
    """Without zeros an element that is no category is an error as the program runs."""
    attrs = {"cats_int64s": [1, 3, 5], "zeros": 0}
    ml_check("OneHotEncoder", {"x": np.array([[3, 1], [5, 5]], I64)}, **attrs)
    ml_check("OneHotEncoder", {"x": np.zeros((0, 2), I64)}, **attrs)
    node = helper.make_node("OneHotEncoder", ["x"], ["y"], domain=ML, name="pick{0}", **attrs)
    x = np.array([3, 7], I64)
    model = make_model([node], {"x": x}, ["y"], domains={ML: 3})
    with pytest.raises(AssertionError, match=r"'pick\{0\}': an element is none of its categories"):
        run_compiled(model, {"x": x})


@pytest.mark.parametrize(
    ("x", "attrs"),
    [
        (np.array([3, 1, 7], I64),
         {"keys_int64s": [1, 3], "values_int64s": [10, 30], "default_int64": -7}),
        (np.array([3, 1, 7], I64),
         {"keys_int64s": [1, 3], "values_floats": [0.5, 2.5], "default_float": 9.0}),
        (np.array([0.5, np.nan, 7], "float32"),
         {"keys_floats": [0.5, np.nan], "values_floats": [1.0, 2.0], "default_float": 3.0,
          "version": 4}),
    ],
)  # fmt: skip
def test_labels(x: Array, attrs: dict[str, Any]) -> None:
    ml_check("LabelEncoder", {"x": x}, **attrs)


@pytest.mark.parametrize(
    ("op", "attrs", "words"),
    [
        ("Normalizer", {"norm": "L3"}, "legal: MAX, L1, L2"),
        ("LabelEncoder", {"values_floats": [1.0]}, "keys_floats or keys_strings"),
        ("Imputer", {}, "one, or one a column"),
    ],
)
def test_errors(op: str, attrs: dict[str, Any], words: str) -> None:
    node = helper.make_node(op, ["x"], ["y"], domain=ML, name="model", **attrs)
    model = make_model([node], {"x": X}, ["y"], domains={ML: 3})
    with pytest.raises(OpAttributeInvalid, match=words):
        from_onnx(model)


def test_scores_stay_a_table() -> None:
    scores = np.array([[0.2, 0.8], [0.6, 0.4]], "float32")
    zipped = helper.make_node("ZipMap", ["x"], ["y"], domain=ML, classlabels_strings=["no", "yes"])
    model = make_model([zipped], {"x": scores}, ["y"], domains={ML: 3})
    with pytest.warns(UserWarning, match=r"table of scores, its columns are \['no', 'yes'\]"):
        (found,) = run_compiled(model, {"x": scores})
    np.testing.assert_array_equal(found, scores)
