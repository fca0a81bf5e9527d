"""Operators that broadcast read what a broadcast copies."""

from __future__ import annotations

import pytest

import tvm.testing
from tvm.ir import structural_equal
from tvm.relax.transform.implicit_broadcast import ImplicitBroadcast
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.pure


def test_bias_and_bound() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor(("n", 4, 3)), b: R.Tensor((3,), "float32")) -> R.Tensor(("n", 4, 3)):
            n = tvm.tir.Var("n", "int64")
            x1: R.Tensor((n, 4, 3), "float32") = R.match_cast(x, R.Tensor((n, 4, 3), "float32"))
            with R.dataflow():
                lv = R.broadcast_to(b, R.shape([n, 4, 3]))
                lv1 = R.add(lv, x1)
                lv2 = R.broadcast_to(R.const(0.0, "float32"), R.shape([n, 4, 3]))
                gv = R.maximum(lv1, lv2)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(x: R.Tensor(("n", 4, 3)), b: R.Tensor((3,), "float32")) -> R.Tensor(("n", 4, 3)):
            n = tvm.tir.Var("n", "int64")
            x1: R.Tensor((n, 4, 3), "float32") = R.match_cast(x, R.Tensor((n, 4, 3), "float32"))
            with R.dataflow():
                lv1 = R.add(b, x1)
                gv = R.maximum(lv1, R.const(0.0, "float32"))
                R.output(gv)
            return gv

    assert structural_equal(ImplicitBroadcast()(Before), Expected)


def test_shape_of_the_result_stays() -> None:
    """Where both operands are broadcasts, one stays: it makes the shape."""

    @I.ir_module
    class Before:
        @R.function
        def main(a: R.Tensor((3,), "float32"), b: R.Tensor((4, 1), "float32")):
            with R.dataflow():
                lv = R.broadcast_to(a, R.shape([2, 4, 3]))
                lv1 = R.broadcast_to(b, R.shape([2, 4, 3]))
                gv = R.multiply(lv, lv1)
                R.output(gv)
            return gv

    @I.ir_module
    class Expected:
        @R.function
        def main(a: R.Tensor((3,), "float32"), b: R.Tensor((4, 1), "float32")):
            with R.dataflow():
                lv = R.broadcast_to(a, R.shape([2, 4, 3]))
                gv = R.multiply(lv, b)
                R.output(gv)
            return gv

    assert structural_equal(ImplicitBroadcast()(Before), Expected)


def test_what_is_read_elsewhere_stays() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, 3), "float32"), b: R.Tensor((3,), "float32")):
            with R.dataflow():
                lv = R.broadcast_to(b, R.shape([2, 3]))
                lv1 = R.add(x, lv)
                gv = R.concat([lv1, lv], axis=0)
                R.output(gv)
            return gv

    after = ImplicitBroadcast()(Before)
    text = after["main"].script()
    assert "R.add(x, b)" in text
    assert "R.broadcast_to(b" in text


def test_nothing_to_do() -> None:
    @I.ir_module
    class Before:
        @R.function
        def main(x: R.Tensor((2, 3), "float32")):
            with R.dataflow():
                gv = R.add(x, x)
                R.output(gv)
            return gv

    assert ImplicitBroadcast()(Before)["main"] is Before["main"]
