"""Hexagon's dot products and copies: what they say they compute, and the calls that do it."""

from __future__ import annotations

import numpy as np
import pytest

from tvm import tir
from tvm.ir import assert_structural_equal
from tvm.script import from_source
from tvm.tir import TensorIntrin
from tvm.tir.tensor_intrin import hexagon

pytestmark = pytest.mark.pure
DOTS = {
    hexagon.VRMPY_u8u8i32_INTRIN: ("uint8", "uint8", 4, "vrmpyub"),
    hexagon.VRMPY_u8i8i32_INTRIN: ("uint8", "int8", 4, "vrmpybusv"),
    hexagon.VDMPY_i16i16i32_INTRIN: ("int16", "int16", 2, "vdmpyhvsat"),
    hexagon.VRMPY_u8u8i32_VTCM_INTRIN: ("uint8", "uint8", 4, "vrmpyub"),
    hexagon.VRMPY_u8i8i32_VTCM_INTRIN: ("uint8", "int8", 4, "vrmpybusv"),
}
COPIES = {hexagon.DMA_READ_128_u8: "uint8", hexagon.DMA_READ_128_i8: "int8"}


def functions(name: str) -> tuple[tir.PrimFunc, tir.PrimFunc]:
    intrin = TensorIntrin.get(name)
    assert intrin is not None
    for func in (intrin.desc, intrin.impl):
        assert_structural_equal(from_source(func.script()), func)
    return intrin.desc, intrin.impl


@pytest.mark.parametrize("name", DOTS)
def test_dot_products(name: str) -> None:
    desc, impl = functions(name)
    low, high, length, instruction = DOTS[name]
    rng = np.random.default_rng(0)
    a, b = (rng.integers(0, 100, s).astype(t) for s, t in ((length, low), ((32, length), high)))
    c = rng.integers(0, 9, 32).astype("int32")
    wanted = c + b.astype("int32") @ a.astype("int32")
    tir.interp.run(desc, a, b, c)
    np.testing.assert_array_equal(c, wanted)
    assert f'"llvm.hexagon.V6.{instruction}.acc.128B"' in impl.script()
    assert ('scope="global.vtcm"' in impl.script()) is ("vtcm" in name)


@pytest.mark.parametrize("name", COPIES)
def test_copies(name: str) -> None:
    desc, impl = functions(name)
    a = np.arange(128).astype(COPIES[name])
    c = np.zeros_like(a)
    tir.interp.run(desc, a, c)
    np.testing.assert_array_equal(c, a)
    assert '"device_api.hexagon.dma_copy_dltensor"' in impl.script()


@pytest.mark.parametrize(("name", "last"), [
    (hexagon.VRMPY_u8u8i32_INTRIN, "B_i32x32, A_i32)"),
    (hexagon.VRMPY_u8i8i32_INTRIN, "T.Broadcast(A_i32, 32), B_i32x32)"),
])  # fmt: skip
def test_unsigned_products_take_a_word_that_is_no_vector(name: str, last: str) -> None:
    assert functions(name)[1].script().rstrip().endswith(last)
