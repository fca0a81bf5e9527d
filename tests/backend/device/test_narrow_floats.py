"""Narrow floats that a GPU's language lacks: every code comes back, in vectors and alone."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import tvm
from tests.backend.cuda.test_codegen import elementwise
from tests.backend.device import harness
from tests.backend.device.harness import source_of
from tvm import tir
from tvm.target import Target

pytestmark = pytest.mark.cpu
SIZE = 256  # elements of the programs


@pytest.mark.covering(2)
@pytest.mark.parametrize("lanes", [1, 4])
@pytest.mark.parametrize("name", ["bfloat16", "float8_e4m3fn", "float8_e5m2fnuz", "float4_e2m1fn"])
@pytest.mark.parametrize("kind", ["opencl", "metal", "rocm", "cuda"])
def test_products_of_all_codes(kind: str, name: str, lanes: int) -> None:
    if (kind, name) == ("cuda", "bfloat16"):
        return  # native on sm_80, which the harness asks for
    mod = elementwise(name, name, lanes, lambda x: x * tir.const(1.5, name))
    dtype = np.dtype(getattr(ml_dtypes, name))
    carrier = f"uint{8 * dtype.itemsize}"
    count = 1 << tvm.DataType(name).bits
    codes = (np.arange(SIZE) * max(count // SIZE, 1) % count).astype(carrier)
    made = np.zeros(SIZE, carrier)
    library = harness.built(mod, kind)
    device = harness.target_of(kind).get_target_device_type()
    with harness.launches_here():
        library["main"](harness.on_device(codes, device, name),
                        harness.on_device(made, device, name))  # fmt: skip
    with np.errstate(all="ignore"):
        wanted = (codes.view(dtype).astype("float32") * 1.5).astype(dtype)
    a, b = made.view(dtype).astype("float32"), wanted.astype("float32")
    np.testing.assert_array_equal(a, b)


def test_names_of_a_vector_are_declared_once() -> None:
    mod = elementwise("float8_e5m2", "float8_e5m2", 4, lambda x: x * tir.const(3, "float8_e5m2"))
    text = source_of(mod, "opencl")
    assert text.count("uint4 body") == 2  # of what is read, and of what is written
    assert "uint4 bits = as_uint4(" in text


def test_cuda_has_eight_bits_from_sm_89() -> None:
    mod = elementwise("float8_e4m3fn", "float8_e4m3fn", 4, lambda x: x * tir.const(2, x.dtype))
    assert "cuda_fp8.h" not in source_of(mod, "cuda")  # sm_80
    target = Target({"kind": "cuda", "arch": "sm_90"}, "llvm")
    (device,) = tvm.compile(mod, target=target).mod.imports
    assert "#include <cuda_fp8.h>" in device.inspect_source()
    assert "__nv_fp8_e4m3" in device.inspect_source()
