from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import tir
from tvm.error import TVMError
from tvm.tir import interp

pytestmark = pytest.mark.pure


def copying(shape: tuple[object, ...], strides: tuple[object, ...] = ()) -> tir.PrimFunc:
    x = tir.decl_buffer(shape, "float32", name="x", strides=strides)
    y = tir.decl_buffer(shape, "float32", name="y")
    loops = [tir.Var(f"i{d}", "int32") for d in range(len(shape))]
    body: tir.Stmt = tir.BufferStore(y, tir.BufferLoad(x, loops), loops)
    for var, extent in reversed(list(zip(loops, shape))):
        body = tir.For(var, 0, extent, 0, body)
    return tir.PrimFunc([x, y], body)


def test_arguments_are_checked() -> None:
    n = tir.Var("n", "int32")
    func = copying((n, 4))
    good = np.zeros((3, 4), "float32")
    for wrong, text in (
        ([good], "1 arguments"),
        ([good, good[:2]], "extent 2 in dimension 0"),
        ([good.astype("int32"), good], "an array of int32"),
        ([good[0], good], "1 dimensions"),
        ([good.T, good], "extent 3 in dimension 1"),
        ([3, good], "found: a int"),
        ([np.zeros((3, 8), "float32")[:, ::2], good], "expected to be compact array"),
    ):
        with pytest.raises((TVMError, TypeError), match=text):
            interp.run(func, *wrong)


def test_strides_are_bound() -> None:
    s0, s1 = tir.Var("s0", "int32"), tir.Var("s1", "int32")
    x = np.arange(12, dtype="float32").reshape(4, 3).T
    y = np.zeros((3, 4), "float32")
    interp.run(copying((3, 4), (s0, s1)), x, y)
    np.testing.assert_array_equal(x, y)


def test_functions_call_each_other() -> None:
    callee = copying((4,)).with_attr("global_symbol", "copy")
    gvar = tvm.ir.GlobalVar("copy")
    a, b = tir.decl_buffer((8,), name="a"), tir.decl_buffer((8,), name="b")
    call = tir.call_tir(gvar, a.access_ptr("r", offset=4), tir.address_of(b[2]))
    mod = tvm.IRModule({gvar: callee, "main": tir.PrimFunc([a, b], tir.Evaluate(call))})
    x, y = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    interp.run(mod, x, y)
    np.testing.assert_array_equal(y, [0, 0, 4, 5, 6, 7, 0, 0])


def test_packed_function() -> None:
    seen = []

    @tvm.register_global_func("tests.interp.double", override=True)
    def double(x: object, y: object, n: int) -> None:
        values = np.from_dlpack(x)
        seen.append(n)
        np.from_dlpack(y)[...] = values * 2

    a, b = tir.decl_buffer((4,), name="a"), tir.decl_buffer((4,), name="b")
    call = tir.call_packed("tests.interp.double", a, b, 7)
    x, y = np.arange(4, dtype="float32"), np.zeros(4, "float32")
    interp.run(tir.PrimFunc([a, b], tir.Evaluate(call)), x, y)
    np.testing.assert_array_equal(y, x * 2)
    assert seen == [7]


def test_unknown_calls_are_refused() -> None:
    a = tir.decl_buffer((4,), name="a")
    call = tir.call_extern("int32", "launch_rocket", 1)
    with pytest.raises(TVMError, match=r"C function 'launch_rocket'"):
        interp.run(tir.PrimFunc([a], tir.Evaluate(call)), np.zeros(4, "float32"))
    call = tir.create_barriers(1)
    with pytest.raises(TVMError, match=r"tir.create_barriers"):
        interp.run(tir.PrimFunc([a], tir.Evaluate(call)), np.zeros(4, "float32"))


def test_constants() -> None:
    data = np.arange(4, dtype="float32")
    a, b = tir.decl_buffer((4,), name="a"), tir.decl_buffer((4,), name="b")
    i = tir.Var("i", "int32")
    body = tir.For(i, 0, 4, 0, tir.BufferStore(b, tir.BufferLoad(a, [i]), [i]))
    func = tir.PrimFunc([b], tir.AllocateConst(a.data, "float32", [4], data, body))
    out = np.zeros(4, "float32")
    interp.run(func, out)
    np.testing.assert_array_equal(out, data)


def test_an_extent_may_be_told_by_a_later_parameter() -> None:
    n = tir.Var("n", "int64")
    x, y = tir.decl_buffer((n * 6,), "float32", "x"), tir.decl_buffer((n, 6), "float32", "y")
    func = tir.PrimFunc([x, y], tir.BufferStore(y, tir.BufferLoad(x, [n + 5]), [n - 1, 0]))
    given, made = np.arange(12, dtype="float32"), np.zeros((2, 6), "float32")
    interp.run(func, given, made)
    assert made[1, 0] == 7
    with pytest.raises(TVMError, match="extent 11 in dimension 0"):
        interp.run(func, given[:11], made)
