"""Moved taps: without offsets they are those of a convolution."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax import op
from tvm.relax.frontend.deformed import Windows, deformed

pytestmark = pytest.mark.cpu


@pytest.mark.parametrize("groups", [1, 2])
def test_offsets_of_nothing_are_a_convolution(groups: int) -> None:
    rng = np.random.default_rng(0)
    n, h, w = (tvm.tir.SizeVar(name, "int64") for name in "nhw")
    bb = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorStructInfo([n, 4, h, w], "float32"))
    weight = relax.const(rng.standard_normal((6, 4 // groups, 3, 3)).astype("float32"))
    windows = Windows((3, 3), (1, 1), (1, 1), (1, 1))
    with bb.function("main", [x]):
        with bb.dataflow():
            still = bb.emit(op.zeros((n, 2 * 18, h, w), "float32"))
            made = deformed(bb, x, weight, still, None, windows, groups, 2)
            plain = bb.emit(op.nn.conv2d(x, weight, padding=1, groups=groups))
            result = bb.emit_output(relax.Tuple([made, plain]))
        bb.emit_func_output(result)
    vm = relax.VirtualMachine(tvm.compile(bb.get(), "llvm"), tvm.cpu())
    for shape in ((2, 4, 5, 7), (1, 4, 8, 3)):
        found, wanted = vm["main"](tvm.runtime.tensor(rng.random(shape, "float32")))
        np.testing.assert_allclose(found.numpy(), wanted.numpy(), rtol=1e-4, atol=1e-5)
