"""Tensors brought from one layout into another."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import relax
from tvm.relax import interp
from tvm.relax.op.layouts import from_plain
from tvm.relax.op.relayout import relayout
from tvm.relax.struct_info import TensorStructInfo

pytestmark = pytest.mark.pure

LAYOUTS = ["NCHW", "NHWC", "NCHW4c", "HWNC", "NCHW2n4c"]


@pytest.mark.parametrize("source", LAYOUTS)
@pytest.mark.parametrize("target", LAYOUTS)
def test_there(source: str, target: str) -> None:
    plain = np.arange(4 * 8 * 3 * 2, dtype="float32").reshape(4, 8, 3, 2)
    given, wanted = (from_plain(plain, layout, "NCHW") for layout in (source, target))
    x = relax.Var("x", TensorStructInfo(given.shape, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.normalize(relayout(x, source, target)))
    assert np.array_equal(interp.run(bb.get(), given), wanted)
