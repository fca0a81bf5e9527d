"""Masks."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.op.cases import var
from tvm import relax
from tvm.relax import interp, op

pytestmark = pytest.mark.pure


def test_masked_elements_are_replaced() -> None:
    x, mask = var(3), var(3, dtype="bool", name="m")
    bb = relax.BlockBuilder()
    with bb.function("main", [x, mask]):
        bb.emit_func_output(bb.emit(op.masked_fill(x, mask, -1)))
    found = interp.run(bb.get(), np.float32([1, 2, 3]), np.array([True, False, True]))
    np.testing.assert_array_equal(found, np.float32([-1, 2, -1]))
