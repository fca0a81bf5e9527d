"""Matrix products by name: what is refused. Numbers are in tests/contrib/test_cblas.py."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import runtime
from tvm.error import ShapeError
from tvm.ffi import get_global_func

pytestmark = pytest.mark.pure


def test_inner_dimensions_agree() -> None:
    a, b, c = (runtime.tensor(np.zeros(s, "float32")) for s in [(2, 3), (4, 5), (2, 5)])
    with pytest.raises(ShapeError, match=r"lhs \(2, 3\), rhs \(4, 5\)"):
        get_global_func("tvm.contrib.cblas.matmul")(a, b, c, False, False)
