from __future__ import annotations

import numpy as np
import pytest

from tvm.relax.interp import Interpreter
from tvm.relax.transform import FastMathTransform
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


@I.ir_module
class Before:
    @R.function
    def main(x: R.Tensor((3, 8), "float32")):
        with R.dataflow():
            a = R.nn.softmax(x, axis=1)
            b = R.exp(x)
            c = R.erf(x)
            d = R.tanh(x)
            e = R.sqrt(a)
            gv = (b, c, d, e)
            R.output(gv)
        return gv


def test_quick_forms_take_the_place() -> None:
    after = FastMathTransform()(Before)
    names = {var.name_hint for var in after.get_global_vars()}
    assert names == {"main", "fast_softmax", "fast_exp", "fast_erf", "fast_tanh"}
    text = after["main"].script()
    assert "R.sqrt" in text
    for gone in ("R.nn.softmax", "R.exp", "R.erf", "R.tanh"):
        assert gone not in text


def test_nearly_the_same_numbers() -> None:
    x = np.random.default_rng(0).normal(size=(3, 8)).astype("float32")
    wanted = Interpreter(Before).run("main", x)
    found = Interpreter(FastMathTransform()(Before)).run("main", x)
    for a, b in zip(found, wanted):
        np.testing.assert_allclose(a, b, rtol=2e-2, atol=1e-4)


def test_other_functions_stay() -> None:
    @I.ir_module
    class Module:
        @R.function
        def main(x: R.Tensor((3, 8), "float32")):
            return R.sqrt(x)

    assert FastMathTransform()(Module)["main"] is Module["main"]
