from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te, tir
from tvm.tir import interp

pytestmark = pytest.mark.pure


def scaled(n: tir.Var) -> tir.PrimFunc:
    a = te.placeholder((n,), name="a")
    return te.create_prim_func([a, te.compute((n,), lambda i: a[i] * 2.0, name="b")])


def test_function_and_module() -> None:
    func = scaled(te.var("n"))
    x, out = np.arange(3, dtype="float32"), np.empty(3, "float32")
    interp.run(func, x, out)
    np.testing.assert_array_equal(out, x * 2)
    out[:] = 0
    interp.run(tvm.IRModule({"scale": func}), x, out, name="scale")
    np.testing.assert_array_equal(out, x * 2)


def test_host_tensors_are_inputs() -> None:
    x, out = np.arange(3, dtype="float32"), np.empty(3, "float32")
    interp.run(scaled(te.var("n")), tvm.ir.HostTensor(x), out)
    np.testing.assert_array_equal(out, x * 2)


def test_returned_value() -> None:
    x = te.var("x")
    func = tir.PrimFunc([x], tir.Evaluate(tir.ret(x * x)))
    assert interp.run(func, 7) == 49


def test_evaluate() -> None:
    x, y = te.var("x"), te.var("y", "float32")
    assert interp.evaluate(x // 3 + x % 3, {x: -7}) == -3 + 2
    assert interp.evaluate(tir.truncdiv(x, 3), {x: -7}) == -2
    assert interp.evaluate(tir.sqrt(y), {y: 9}) == 3.0
    np.testing.assert_array_equal(interp.evaluate(tir.Ramp(x, 2, 4), {x: 1}), [1, 3, 5, 7])
    assert interp.evaluate(3) == 3
