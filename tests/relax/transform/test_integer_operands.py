"""Bytes less a zero point, in other types."""

from __future__ import annotations

import numpy as np
import pytest

from tests.relax.programs import run_interp
from tvm import relax
from tvm.relax import op
from tvm.relax.transform.integer_operands import Centred, in_words, less, moved

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16"])
def test_numbers_stay(dtype: str, target: str) -> None:
    """All bytes, less 100, as bytes of either sign and as words."""
    values = np.arange(256).astype("uint8").view(dtype)
    x = relax.Var("x", relax.TensorStructInfo((256,), dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        given = Centred(x, relax.const(np.int32(100)))
        assert given.dtype == dtype
        if target == "int16":
            found: relax.Expr = op.astype(in_words(bb, given), "int32")
        else:
            after = moved(bb, given, target)
            assert after.dtype == target
            assert after.zero is not None
            wide = bb.emit(op.astype(after.raw, "int32"))
            found = less(bb, wide, [after.zero, relax.const(np.int32(1))])
        bb.emit_func_output(bb.emit(found))
    np.testing.assert_array_equal(run_interp(bb.get(), [values]), values.astype("int32") - 100)
