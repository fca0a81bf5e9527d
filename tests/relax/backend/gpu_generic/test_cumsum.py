from __future__ import annotations

import numpy as np
import pytest

from tvm.relax.backend.gpu_generic import gpu_2d_continuous_cumsum
from tvm.tir.interp import run

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("columns", [1, 7, 16, 37])
@pytest.mark.parametrize(("in_dtype", "out_dtype"), [("int32", None), ("int8", "int64"),
                                                     ("float32", "float64")])  # fmt: skip
def test_sums(columns: int, in_dtype: str, out_dtype: str | None) -> None:
    kernel = gpu_2d_continuous_cumsum(2, 4, 2, in_dtype, out_dtype)
    a = np.random.default_rng(0).integers(-9, 10, (3, columns)).astype(in_dtype)
    out = np.full((3, columns), 99, out_dtype or in_dtype)
    run(kernel, a, out)
    np.testing.assert_array_equal(out, a.astype(out.dtype).cumsum(1))


def test_no_columns() -> None:
    out = np.zeros((2, 0), "int32")
    run(gpu_2d_continuous_cumsum(1, 4, 1), out.copy(), out)


@pytest.mark.parametrize("sizes", [(3, 4, 1), (2, 4, 0)])
def test_other_blocks(sizes: tuple[int, int, int]) -> None:
    with pytest.raises(ValueError, match="legal: a number of threads that is a power of two"):
        gpu_2d_continuous_cumsum(*sizes)
