"""Sizes beyond the largest that a function was made for are refused, however it runs."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.error import ShapeError
from tvm.relax.analysis.size_limits import size_limits
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Mod:
    @R.function
    def main(x: R.Tensor((3, "n"), "float32"), y: R.Tensor(("n", "m"), "float32")):
        R.func_attr({"tir_var_upper_bound": {"n": 8, "k": 3}})
        n, m = T.int64(), T.int64()
        gv = R.matmul(x, y)
        return gv


def test_the_first_extent_that_a_symbol_is() -> None:
    (limit,) = size_limits(Mod["main"])
    assert (limit.symbol.name, limit.most, limit.param, limit.axis) == ("n", 8, "x", 1)
    assert size_limits(Mod["main"].without_attr("tir_var_upper_bound")) == []


@pytest.mark.cpu
@pytest.mark.parametrize("mode", relax.vm_build.MODES)
def test_larger_sizes_are_refused(mode: str) -> None:
    machine = relax.VirtualMachine(relax.build(Mod, "llvm", exec_mode=mode), tvm.cpu())

    def run(n: int) -> np.ndarray:
        return machine["main"](np.ones((3, n), "float32"), np.ones((n, 2), "float32")).numpy()

    for n in (0, 1, 8):
        np.testing.assert_array_equal(run(n), np.full((3, 2), n))
    with pytest.raises(ShapeError) as caught:
        run(9)
    text = str(caught.value)
    assert "main: dimension 1 of 'x'" in text
    assert "found: 9" in text
    assert "legal: at most 8" in text
