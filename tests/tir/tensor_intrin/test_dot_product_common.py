"""dp4a: what it says it computes, in all four combinations of signs."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import tir
from tvm.tir import TensorIntrin
from tvm.tir.tensor_intrin import dot_product_common as common

pytestmark = pytest.mark.pure
NAMES = {
    common.DP4A_S8S8S32_INTRIN: ("int8", "int8", "int32"),
    common.DP4A_S8U8S32_INTRIN: ("int8", "uint8", "int32"),
    common.DP4A_U8S8S32_INTRIN: ("uint8", "int8", "int32"),
    common.DP4A_U8U8U32_INTRIN: ("uint8", "uint8", "uint32"),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_description_is_a_dot_product(name: str) -> None:
    intrin = TensorIntrin.get(name)
    assert intrin is not None
    x, y, result = NAMES[name]
    a, b = np.array([1, 2, 3, 100]).astype(x), np.array([5, 6, 7, 120]).astype(y)
    c = np.array([1]).astype(result)
    tir.interp.run(intrin.desc, a, b, c)
    assert c[0] == 1 + 5 + 12 + 21 + 12000


@pytest.mark.parametrize("name", NAMES)
def test_the_call_says_its_types(name: str) -> None:
    intrin = TensorIntrin.get(name)
    assert intrin is not None
    call = f'T.call_pure_extern("{NAMES[name][2]}", "__dp4a", A[0:4], B[0:4]'
    assert call in intrin.impl.script()
