"""Products with packed weights: rows of any number, inputs that are missing to a group."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.packed_product import packed_product
from tvm.tir.function import PrimFunc
from tvm.topi.nn import few_bits
from tvm.topi.nn.few_bits import Packed

OUTPUTS, INPUTS, GROUP = 20, 48, 32


@pytest.mark.parametrize(
    ("outer", "dtype"), [((), "float32"), ((2, 3), "float32"), ((5,), "float16")]
)
@pytest.mark.cpu
def test_numbers(outer: tuple[int, ...], dtype: str) -> None:
    rng = np.random.default_rng(1)
    weights = rng.standard_normal((OUTPUTS, INPUTS)).astype("float32")
    numbers, scale = few_bits.pack(weights, "int4", GROUP)
    assert scale is not None
    form = Packed(OUTPUTS, 64, "int4", GROUP)
    x = relax.Var("x", relax.TensorStructInfo((*outer, INPUTS), dtype))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        arrays = [relax.const(numbers), relax.const(scale)]
        bb.emit_func_output(bb.emit(packed_product(bb, x, form, arrays, dtype)))
    mod = bb.get()
    (kernel,) = (func for func in mod.functions.values() if isinstance(func, PrimFunc))
    assert "global_symbol" not in kernel.attrs
    vm = relax.VirtualMachine(tvm.compile(mod, target="llvm"), tvm.cpu())
    given = rng.standard_normal((*outer, INPUTS)).astype(dtype)
    made = vm["main"](tvm.runtime.tensor(given)).numpy()
    assert made.dtype == dtype
    wanted = given.astype("float32") @ few_bits.unpack(numbers, scale, "int4")[:OUTPUTS, :INPUTS].T
    np.testing.assert_allclose(made, wanted, rtol=1e-5 if dtype == "float32" else 2e-3, atol=1e-3)
