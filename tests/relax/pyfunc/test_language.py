"""Calls of the language itself in converted functions: kernels, packed functions, closures."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm.relax import BlockBuilder, TensorStructInfo, Var, const, op
from tvm.relax.expr import ExternFunc
from tvm.relax.interp import AssertionFailed
from tvm.relax.py_tensors import to_numpy
from tvm.relax.pyfunc.language import LANGUAGE
from tvm.relax.relax_to_pyfunc_converter import RelaxToPyFuncConverter
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu
X = np.arange(6, dtype="float32")


@I.ir_module(check_well_formed=False)
class Language:
    @T.prim_func(private=True)
    def add_one(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
        for i in range(6):
            with T.block("add"):
                v = T.axis.spatial(6, i)
                B[v] = A[v] + T.float32(1)

    @T.prim_func(private=True)
    def twice_and_half(A: T.Buffer((6,), "float32"), B: T.Buffer((6,), "float32")):
        for i in range(6):
            with T.block("both"):
                v = T.axis.spatial(6, i)
                B[v] = A[v] * T.float32(0.5)
                A[v] = A[v] * T.float32(2)

    @R.function
    def plus(x: R.Tensor((6,), "float32"), y: R.Tensor((6,), "float32")):
        return R.add(x, y)

    @R.function
    def call_tir(x: R.Tensor((6,), "float32")):
        cls = Language
        return R.call_tir(cls.add_one, (x,), R.Tensor((6,), "float32"))

    @R.function
    def call_tir_with_grad(x: R.Tensor((6,), "float32")):
        cls = Language
        return R.call_tir_with_grad(
            cls.add_one, (x,), R.Tensor((6,), "float32"), te_grad_name="none", te_grad_kwargs={}
        )

    @R.function
    def call_tir_inplace(x: R.Tensor((6,), "float32")):
        cls = Language
        y = R.call_tir_inplace(
            cls.twice_and_half, (x,), [0, -1],
            [R.Tensor((6,), "float32"), R.Tensor((6,), "float32")],
        )  # fmt: skip
        return R.add(R.subtract(y[0], y[1]), x)

    @R.function
    def closure(x: R.Tensor((6,), "float32")):
        cls = Language
        f = R.make_closure(cls.plus, (x,))
        return R.invoke_pure_closure(f, (x,), R.Tensor((6,), "float32"))

    @R.function(pure=False)
    def impure_closure(x: R.Tensor((6,), "float32")):
        cls = Language
        f = R.make_closure(cls.plus, (x,))
        return R.invoke_closure(f, (x,), R.Tensor((6,), "float32"))

    @R.function
    def shapes(x: R.Tensor((6,), "float32")):
        s = R.shape_of(x)
        t = R.shape_to_tensor(s)
        u = R.tensor_to_shape(t)
        return R.reshape(R.add(x, R.astype(t, "float32")), u)

    @R.function(pure=False)
    def said(x: R.Tensor((6,), "float32")):
        _ = R.print(x, format="x is {}")
        _1 = R.assert_op(R.const(True, "bool"), x, format="{} is wrong")
        return x

    @R.function(pure=False)
    def wrong(x: R.Tensor((6,), "float32")):
        _ = R.assert_op(R.const(False, "bool"), x, format="{} is wrong")
        return x


WANTED = {
    "call_tir": X + 1,
    "call_tir_with_grad": X + 1,
    "call_tir_inplace": X * 2 - X / 2 + X,
    "closure": X * 2,
    "impure_closure": X * 2,
    "shapes": X + 6,
    "said": X,
}


def run(mod: Any, name: str, value: Any) -> Any:
    return RelaxToPyFuncConverter(mod).convert(name).pyfuncs[name](value)


@pytest.mark.parametrize("name", WANTED)
def test_in_numpy_and_in_torch(name: str) -> None:
    torch = pytest.importorskip("torch")
    given = X.copy()
    found = run(Language, name, given)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, WANTED[name])
    np.testing.assert_array_equal(given, X)
    held = torch.from_numpy(given)
    found = run(Language, name, held)
    assert isinstance(found, torch.Tensor)
    np.testing.assert_allclose(found.numpy(), WANTED[name])
    np.testing.assert_array_equal(given, X)


def test_text_that_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    run(Language, "said", X)
    assert capsys.readouterr().out == f"x is {X}\n"


def test_an_assertion_that_does_not_hold() -> None:
    with pytest.raises(AssertionFailed, match="is wrong"):
        run(Language, "wrong", X)


def _main(build: Any) -> Any:
    x = Var("x", TensorStructInfo((6,), "float32"))
    bb = BlockBuilder()
    with bb.function("main", [x], pure=False):
        bb.emit_func_output(bb.emit(build(x)))
    return bb.get()


INFO = TensorStructInfo((6,), "float32")


def _write_twice(x: Any) -> None:
    array = x.numpy() * 2
    x.copyfrom(array)


CALLS: dict[str, tuple[Any, Any]] = {
    "call_pure_packed": (
        lambda x: op.call_pure_packed("test.language.thrice", x, sinfo_args=[INFO]), X * 3
    ),
    "call_inplace_packed": (
        lambda x: op.call_inplace_packed(
            "test.language.write_twice", x, inplace_indices=0, sinfo_args=INFO
        ),
        X * 2,
    ),
    "call_builtin_with_ctx": (
        lambda x: op.call_builtin_with_ctx(
            ExternFunc("test.language.thrice"), (x,), sinfo_args=[INFO]
        ),
        X * 3,
    ),
    "wrap_param": (lambda x: op.wrap_param(const(X.astype("float16")), "float32"), X),
    "hint_on_device": (lambda x: op.hint_on_device(x, tvm.cpu()), X),
}


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_functions(name: str) -> None:
    torch = pytest.importorskip("torch")
    tvm.register_global_func(
        "test.language.thrice", lambda x: tvm.runtime.tensor(x.numpy() * 3), override=True
    )
    tvm.register_global_func("test.language.write_twice", _write_twice, override=True)
    build, wanted = CALLS[name]
    given = X.copy()
    for value in (given, torch.from_numpy(given)):
        np.testing.assert_allclose(to_numpy(run(_main(build), "main", value)), wanted)
        np.testing.assert_array_equal(given, X)


def test_nothing_is_none() -> None:
    assert run(_main(lambda x: op.null_value()), "main", X) is None


def test_words_are_operators() -> None:
    assert all(tvm.ir.Op.get(name) is not None for name in LANGUAGE)
