"""Odd cases of drawing."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import info, shape_of, var
from tvm import tir
from tvm.error import TVMError
from tvm.ir import Op
from tvm.relax import op

pytestmark = pytest.mark.pure

N = tir.Var("n", "int64")


def test_shape_and_refusals() -> None:
    indices = var(N, 1, dtype="int64")
    assert shape_of(op.multinomial_from_uniform(var(2, 5), var(N, 1), indices)) == (N, 1)
    with pytest.raises(TVMError, match="prob must have 2 dimensions"):
        info(op.multinomial_from_uniform(var(5), var(N, 1), indices))
    with pytest.raises(TVMError, match="differ in length"):
        info(op.multinomial_from_uniform(var(2, 5), var(3, 1), var(4, 1, dtype="int64")))


def test_classes_by_their_sums() -> None:
    call = op.multinomial_from_uniform(var(1, 3), var(4, 1), var(4, 1, dtype="int64"))
    prob = np.float32([[0.25, 0.5, 0.25]])
    uniform = np.float32([[0], [0.25], [0.74], [0.99]])
    found = Op.get("relax.multinomial_from_uniform").get_attr("FReference")(
        call, [prob, uniform, np.zeros((4, 1), "int64")]
    )
    assert found.ravel().tolist() == [0, 1, 1, 2]
