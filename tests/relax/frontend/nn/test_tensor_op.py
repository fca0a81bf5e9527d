"""What can be written with a tensor in front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.relax.frontend.nn.running import apply

pytestmark = pytest.mark.pure

RNG = np.random.default_rng(0)
X = RNG.standard_normal((4, 6)).astype("float32")
Y = RNG.standard_normal((4, 6)).astype("float32")
CASES: list[Callable[[Any, Any], Any]] = [
    lambda x, y: x + y, lambda x, y: x + 2, lambda x, y: 2 + x,
    lambda x, y: x - y, lambda x, y: x - 2, lambda x, y: 2 - x,
    lambda x, y: x * y, lambda x, y: 2 * x, lambda x, y: x / y, lambda x, y: 2 / x,
    lambda x, y: -x, lambda x, y: x < y, lambda x, y: x <= 0, lambda x, y: x > y,
    lambda x, y: x >= 0, lambda x, y: x.astype("int32"), lambda x, y: x.reshape(2, 12),
    lambda x, y: x.reshape([24]), lambda x, y: x.repeat(2, 1), lambda x, y: x.sum(0),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_as_in_numpy(case: Callable[[Any, Any], Any]) -> None:
    found, wanted = apply(case, X, Y), case(X, Y)
    assert found.dtype == wanted.dtype
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_methods_that_numpy_does_not_have() -> None:
    def several(x: Any, y: Any) -> Any:
        return (
            x.maximum(y), x.minimum(0), x.permute_dims(1, 0), x.permute(), x @ y.permute_dims(),
            x.unsqueeze(0), x.unsqueeze(0).squeeze(0), x.broadcast_to([2, 4, 6]),
            x.split(2, axis=1)[1],
        )  # fmt: skip

    wanted = [
        np.maximum(X, Y), np.minimum(X, 0), X.T, X.T, X @ Y.T, X[None], X,
        np.broadcast_to(X, (2, 4, 6)), X[:, 3:],
    ]  # fmt: skip
    for found, want in zip(apply(several, X, Y), wanted):
        np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)
