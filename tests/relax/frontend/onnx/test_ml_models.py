"""ai.onnx.ml: linear models and support vector machines, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from tests.relax.frontend.onnx.models import check, make_model
from tests.relax.frontend.onnx.test_ml_tables import ML, ml_check
from tvm.error import OpAttributeInvalid
from tvm.relax.frontend.onnx import from_onnx

pytestmark = pytest.mark.cpu
RNG = np.random.default_rng(5)
X = RNG.standard_normal((6, 3)).astype("float32")


def _numbers(*shape: int) -> list[float]:
    return [float(v) for v in RNG.standard_normal(shape).astype("float32").reshape(-1)]


def test_linear_regressor() -> None:
    ml_check("LinearRegressor", {"x": X}, targets=2, coefficients=_numbers(2, 3),
             intercepts=_numbers(2))  # fmt: skip


@pytest.mark.parametrize("post", ["NONE", "LOGISTIC", "SOFTMAX", "SOFTMAX_ZERO"])
def test_linear_classifier(post: str) -> None:
    ml_check("LinearClassifier", {"x": X}, outputs=2, coefficients=_numbers(4, 3),
             intercepts=_numbers(4), classlabels_ints=[3, 1, 2, 9],
             post_transform=post)  # fmt: skip


@pytest.mark.parametrize("kernel", ["LINEAR", "POLY", "RBF", "SIGMOID"])
def test_svm_regressor(kernel: str) -> None:
    degree = 2.0 if kernel == "POLY" else 0.0
    ml_check("SVMRegressor", {"x": X}, kernel_type=kernel, kernel_params=[0.3, 0.5, degree],
             support_vectors=_numbers(4, 3), coefficients=_numbers(4), n_supports=4,
             rho=[0.25], rtol=1e-4)  # fmt: skip


def test_svm_of_one_class() -> None:
    ml_check("SVMRegressor", {"x": X}, kernel_type="RBF", kernel_params=[0.3, 0.0, 0.0],
             support_vectors=_numbers(4, 3), coefficients=_numbers(4), n_supports=4,
             rho=[0.1], one_class=1)  # fmt: skip


def _machine(classes: int) -> dict[str, Any]:
    total = 2 * classes
    return {
        "kernel_type": "RBF", "kernel_params": [0.4, 0.0, 0.0],
        "support_vectors": _numbers(total, 3), "vectors_per_class": [2] * classes,
        "coefficients": _numbers(classes - 1, total),
        "rho": _numbers(classes * (classes - 1) // 2), "classlabels_ints": [5, 6, 7][:classes],
    }  # fmt: skip


@pytest.mark.parametrize("classes", [2, 3])
def test_svm_classifier(classes: int) -> None:
    ml_check("SVMClassifier", {"x": X}, outputs=2, rtol=1e-4, **_machine(classes))


@pytest.mark.parametrize("classes", [2, 3])
def test_svm_classifier_with_probabilities(classes: int) -> None:
    pairs = classes * (classes - 1) // 2
    ml_check("SVMClassifier", {"x": X}, outputs=2, rtol=1e-4, prob_a=[-1.5, -2.0, -0.5][:pairs],
             prob_b=[1.2, -0.3, 0.1][:pairs], **_machine(classes))  # fmt: skip


def test_an_unknown_transform() -> None:
    node = helper.make_node(
        "LinearRegressor", ["x"], ["y"], domain=ML, coefficients=[1.0] * 3, post_transform="SQUARE"
    )
    with pytest.raises(OpAttributeInvalid, match="NONE, LOGISTIC, SOFTMAX, SOFTMAX_ZERO, PROBIT"):
        from_onnx(make_model([node], {"x": X}, ["y"], domains={ML: 3}))


def test_labels_that_are_strings() -> None:
    labels = {"classlabels_strings": ["no", "maybe", "as you like it"]}
    numbers = {"coefficients": _numbers(3, 3), "intercepts": _numbers(3)}
    made = helper.make_node("LinearClassifier", ["x"], ["y", "z"], domain=ML, **numbers, **labels)
    check(make_model([made], {"x": X}, ["y", "z"], domains={ML: 3}), {"x": X}, 1e-4)
