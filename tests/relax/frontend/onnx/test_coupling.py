"""Probabilities of classes from those of pairs."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te
from tvm.relax.frontend.onnx.coupling import coupled

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("classes", [2, 3, 5])
def test_pairs_that_agree_give_their_classes_back(classes: int) -> None:
    """Of r[i, j] = p[i] / (p[i] + p[j]) the p are found, as far as the stop allows."""
    rng = np.random.default_rng(classes)
    p = rng.random((40, classes)).astype("float32") + 0.1
    p /= p.sum(1, keepdims=True)
    pairs = p[:, :, None] / (p[:, :, None] + p[:, None, :])
    given = te.placeholder((te.size_var("n", "int64"), classes, classes), "float32", "r")
    func = tvm.compile(te.create_prim_func([given, coupled(given)]), "llvm")
    out = tvm.runtime.empty((40, classes), "float32")
    func(tvm.runtime.tensor(pairs.astype("float32")), out)
    np.testing.assert_allclose(out.numpy().sum(1), 1, rtol=1e-5)
    np.testing.assert_allclose(out.numpy(), p, atol=0.02)
