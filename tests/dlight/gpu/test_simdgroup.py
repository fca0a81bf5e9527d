from __future__ import annotations

import pytest

from tests.dlight.gpu.lowered import check, target
from tests.dlight.gpu.test_tensor_core import expected
from tests.dlight.gpu.workloads import product
from tvm.dlight.gpu import Matmul


@pytest.mark.covering(1)
@pytest.mark.parametrize("shape", [(16, 64, 32), (20, 30, 40)])
@pytest.mark.parametrize("epilogue", [False, True])
def test_products_by_simd_groups(shape: tuple[int, int, int], epilogue: bool) -> None:
    func = product(*shape, dtype="float16", epilogue=epilogue)
    text = str(check(Matmul(), func, target("metal"), expected=expected(func, epilogue)))
    assert "T.simdgroup_multiply_accumulate" in text
    # results pass through shared memory, from where all threads write rows of the output
    z, y = (text.rindex(f'thread="threadIdx.{axis}"') for axis in "zy")
    assert z < y
    assert "_metal.simdgroup_o" in text
