from __future__ import annotations

import numpy as np
import pytest

from tests.topi.numerics import close, evaluate, floats, rng
from tvm import te

pytestmark = pytest.mark.pure


def test_python_operators_on_tensors() -> None:
    a, b = floats(3, 4), np.abs(floats(4, seed=1)) + 1
    close(evaluate(lambda x, y: (x + y) * x - x / y, a, b), (a + b) * a - a / b, 1e-5, 1e-5)
    close(evaluate(lambda x: -x, a), -a)
    close(evaluate(lambda x, y: x < y, a, b), a < b)
    close(evaluate(lambda x: 1.0 / x, b), 1 / b)
    close(evaluate(lambda x: x.astype("int32"), b), b.astype("int32"))
    i = rng().integers(1, 9, (5,)).astype("int32")
    close(evaluate(lambda x: (x << 2) % 3 + x // 2, i), (i << 2) % 3 + i // 2)


@pytest.mark.parametrize("dtype", ["float32", "int64", "bfloat16"])
def test_minus_a_tensor_is_a_product(dtype: str) -> None:
    negated = -te.placeholder((4,), dtype, "B")
    assert negated.op.name == "T_multiply"
    assert negated.dtype == dtype
