"""Losses: as text, and against numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tvm import relax
from tvm.ir import assert_structural_equal
from tvm.relax import interp
from tvm.relax.training import CategoricalCrossEntropyLoss, CrossEntropyLoss, L1Loss, MSELoss
from tvm.relax.training.loss import Loss
from tvm.script import relax as R

pytestmark = pytest.mark.pure

FORM = relax.TensorStructInfo((3, 5), "float32")
LABELS = relax.TensorStructInfo((3, 5), "int64")
RNG = np.random.default_rng(0)
X, Y = (RNG.standard_normal((3, 5)).astype("float32") for _ in range(2))
CLASSES = np.array([4, 0, 2])
WEIGHTS = RNG.uniform(0.5, 2, 5).astype("float32")


def run(func: relax.Function, *args: Any) -> Any:
    return interp.run(func, *args)


def reduced(values: Any, reduction: str) -> Any:
    return {"none": lambda v: v, "sum": np.sum, "mean": np.mean}[reduction](values)


def log_softmax(x: Any) -> Any:
    return x - np.log(np.exp(x).sum(1, keepdims=True))


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
def test_distances(reduction: Any) -> None:
    np.testing.assert_allclose(
        run(L1Loss(reduction)(FORM, FORM), X, Y), reduced(abs(X - Y), reduction), rtol=1e-6
    )
    np.testing.assert_allclose(
        run(MSELoss(reduction)(FORM, FORM), X, Y), reduced((X - Y) ** 2, reduction), rtol=1e-5
    )


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("ignored", [-100, 2])
@pytest.mark.parametrize("weighted", [False, True])
def test_cross_entropy(reduction: Any, ignored: int, weighted: bool) -> None:
    targets = relax.TensorStructInfo((3,), "int64")
    weights = [relax.TensorStructInfo((5,), "float32")] if weighted else []
    func = CrossEntropyLoss(reduction, ignored)(FORM, targets, *weights)
    given = [WEIGHTS] if weighted else []
    weight = (WEIGHTS if weighted else np.ones(5))[CLASSES] * (ignored != CLASSES)
    each = -log_softmax(X)[np.arange(3), CLASSES] * weight
    wanted = each.sum() / weight.sum() if reduction == "mean" else reduced(each, reduction)
    np.testing.assert_allclose(run(func, X, CLASSES, *given), wanted, rtol=1e-5)


def test_cross_entropy_of_one_and_of_pictures() -> None:
    single = CrossEntropyLoss()(
        relax.TensorStructInfo((5,), "float32"), relax.TensorStructInfo((), "int64")
    )
    wanted = -log_softmax(X)[0, 4]
    np.testing.assert_allclose(run(single, X[0], np.array(4)), wanted, rtol=1e-5)
    pictures = CrossEntropyLoss("none")(
        relax.TensorStructInfo((1, 5, 3), "float32"), relax.TensorStructInfo((1, 3), "int64")
    )
    each = -log_softmax(X)[np.arange(3), CLASSES]
    np.testing.assert_allclose(run(pictures, X.T[None], CLASSES[None]), each[None], rtol=1e-5)


ONE_HOT = np.eye(5, dtype="int64")[CLASSES]


@pytest.mark.parametrize("reduction", ["none", "sum", "mean"])
@pytest.mark.parametrize("weighted", [False, True])
def test_categorical_cross_entropy(reduction: Any, weighted: bool) -> None:
    weights = [relax.TensorStructInfo((5,), "float32")] if weighted else []
    func = CategoricalCrossEntropyLoss(reduction)(FORM, LABELS, *weights)
    given = [WEIGHTS] if weighted else []
    wanted = reduced(-log_softmax(X) * (WEIGHTS if weighted else 1) * ONE_HOT, reduction)
    np.testing.assert_allclose(run(func, X, ONE_HOT, *given), wanted, rtol=1e-4, atol=1e-5)


def test_categorical_cross_entropy_without_a_class() -> None:
    weights = relax.TensorStructInfo((5,), "float32")
    func = CategoricalCrossEntropyLoss("sum", 2)(FORM, LABELS, weights)
    counted = -log_softmax(X)[np.arange(3), CLASSES] * WEIGHTS[CLASSES] * (CLASSES != 2)
    np.testing.assert_allclose(run(func, X, ONE_HOT, WEIGHTS), counted.sum(), rtol=1e-4)

    @R.function
    def categorical_cross_entropy_loss(
        p: R.Tensor((3, 5), "float32"), t: R.Tensor((3, 5), "int64"), w: R.Tensor((5,), "float32")
    ):
        with R.dataflow():
            lv = R.nn.log_softmax(p, axis=-1)
            lv1 = R.argmax(t, axis=1)
            lv2 = R.reshape(lv1, R.shape([3]))
            gv = R.nn.nll_loss(lv, lv2, w, reduction="sum", ignore_index=2)
            R.output(gv)
        return gv

    assert_structural_equal(func, categorical_cross_entropy_loss)


def test_as_text() -> None:
    @R.function
    def mse_loss(
        predictions: R.Tensor((3, 5), "float32"), targets: R.Tensor((3, 5), "float32")
    ) -> R.Tensor((), "float32"):
        with R.dataflow():
            lv = R.subtract(predictions, targets)
            lv1 = R.multiply(lv, lv)
            gv = R.mean(lv1, axis=None, keepdims=False)
            R.output(gv)
        return gv

    assert_structural_equal(MSELoss()(FORM, FORM), mse_loss)
    assert_structural_equal(MSELoss()(relax.Var("a", FORM), relax.Var("b", FORM)), mse_loss)
    assert MSELoss().num_backbone_outputs == 1


def test_what_is_refused() -> None:
    with pytest.raises(ValueError, match="'mean', 'sum' or 'none'"):
        L1Loss("median")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="define __call__"):
        Loss("nothing", 1)()
    for ignored in (-100, 0):
        with pytest.raises(TypeError, match=r"expected to be int/uint\. .* targets is float32"):
            CategoricalCrossEntropyLoss(ignore_index=ignored)(FORM, FORM)


def test_parameters_keep_names_of_variables() -> None:
    info = relax.TensorStructInfo((3, 5), "float32")
    var = relax.Var("guess", info)
    func = MSELoss()(var, info)
    assert [param.name_hint for param in func.params] == ["guess", "targets"]
    assert not func.params[0].same_as(var)
