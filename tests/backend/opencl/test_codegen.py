"""What OpenCL C says in words of its own."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backend.cuda.test_codegen import elementwise
from tests.backend.device import harness
from tests.backend.device.harness import source_of
from tvm import tir

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize(
    ("dtype", "lanes", "words"),
    [
        ("float32", 4, ["vstore4((vload4(0, A + ", "((float4)(1.000000e+00f))"]),
        ("float32", 1, ["get_group_id(0)", "get_local_id(0)"]),
        ("float16", 8, ["#pragma OPENCL EXTENSION cl_khr_fp16 : enable", "vload8(0, A + "]),
        ("float64", 2, ["cl_khr_fp64", "((double2)("]),
        ("int64", 2, ["((long2)(1l))"]),
        ("uint8", 16, ["((uchar16)(((uchar)1)))"]),
    ],
)
def test_words(dtype: str, lanes: int, words: list[str]) -> None:
    one = tir.const(1, dtype)
    text = source_of(elementwise(dtype, dtype, lanes, lambda x: x + one), "opencl")
    for word in words:
        assert word in text, text


@pytest.mark.parametrize("kind", ["opencl", "metal", "rocm"])
def test_bfloat16_is_carried_in_integers(kind: str) -> None:
    import ml_dtypes

    mod = elementwise("bfloat16", "bfloat16", 2, lambda x: x * tir.const(3, "bfloat16"))
    a = np.linspace(-3, 3, 256).astype(ml_dtypes.bfloat16)
    made = np.zeros(256, "uint16")
    library = harness.built(mod, kind)
    device = harness.target_of(kind).get_target_device_type()
    with harness.launches_here():
        library["main"](harness.on_device(a.view("uint16"), device, "bfloat16"),
                        harness.on_device(made, device, "bfloat16"))  # fmt: skip
    wanted = (a.astype("float32") * 3).astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(made, wanted.view("uint16"))
