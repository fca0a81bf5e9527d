"""Calls out of a network."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.relax.frontend.nn.running import apply
from tvm import te
from tvm.ffi import register_global_func
from tvm.relax import interp
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import Tensor, op, spec
from tvm.script import tir as T

pytestmark = pytest.mark.pure

X = np.arange(6, dtype="float32")


@T.prim_func
def add_offset(x: T.Buffer((6,), "float32"), y: T.Buffer((6,), "float32"), offset: T.int64):
    for i in range(6):
        with T.block("y"):
            v = T.axis.spatial(6, i)
            y[v] = x[v] + T.Cast("float32", offset)


@T.prim_func
def two(x: T.Buffer((6,), "float32"), y: T.Buffer((6,), "float32"), z: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("y"):
            v = T.axis.spatial(6, i)
            y[v] = x[v] + T.float32(1)
            z[v] = x[v] * T.float32(2)


@T.prim_func
def grow(x: T.Buffer((6,), "float32")):
    for i in range(6):
        with T.block("x"):
            v = T.axis.spatial(6, i)
            x[v] = x[v] + T.float32(1)


FORM = Tensor.placeholder([6], "float32")


def test_tensor_expressions() -> None:
    def plus(x: te.Tensor, amount: int) -> te.Tensor:
        return te.compute(x.shape, lambda i: x[i] + amount, name="plus")

    found = apply(lambda x: op.tensor_expr_op(plus, "plus", [x, 3]), X)
    np.testing.assert_array_equal(found, X + 3)


def test_functions_of_tir() -> None:
    found = apply(lambda x: op.tensor_ir_op(add_offset, "add_offset", [x, 5], out=FORM), X)
    np.testing.assert_array_equal(found, X + 5)
    pair = apply(lambda x: op.tensor_ir_op(two, "two", x, out=[FORM, FORM]), X)
    np.testing.assert_array_equal(pair[0], X + 1)
    np.testing.assert_array_equal(pair[1], X * 2)
    found = apply(lambda x: op.tensor_ir_inplace_op(grow, "grow", [x + 0], 0, out=FORM), X)
    np.testing.assert_array_equal(found, X + 1)


@pytest.mark.parametrize("name", ["grow", "larger"])
def test_public_functions_keep_their_names(name: str) -> None:
    class Writes(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = op.tensor_ir_inplace_op(grow, name, [x + 0], 0, out=FORM)
            result: Tensor = op.tensor_ir_op(add_offset, "add_offset", [y, 6], out=FORM)
            return result

    mod, _ = Writes().export_tvm({"forward": {"x": spec.Tensor([6], "float32")}})
    assert mod["grow"].attrs["global_symbol"] == "grow"
    assert mod["add_offset"].attrs["global_symbol"] == "add_offset"


def test_one_function_is_added_once() -> None:
    class Twice(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            y = op.tensor_ir_op(add_offset, "add_offset", [x, 5], out=FORM)
            result: Tensor = op.tensor_ir_op(add_offset, "add_offset", [y, 6], out=FORM)
            return result

    mod, _ = Twice().export_tvm({"forward": {"x": spec.Tensor([6], "float32")}})
    assert sorted(var.name_hint for var in mod.functions) == ["add_offset", "forward"]


def test_functions_outside() -> None:
    @register_global_func("test.nn.scaled", override=True)
    def scaled(x: Any, factor: float, whole: int, word: str, out: Any) -> None:
        out.copyfrom(x.numpy() * factor + whole + len(word))

    found = apply(lambda x: op.extern("test.nn.scaled", [x, 2.0, 3, "four"], out=FORM), X)
    np.testing.assert_array_equal(found, X * 2 + 7)


def test_values_are_seen_while_a_network_runs(capsys: pytest.CaptureFixture[str]) -> None:
    seen: list[Any] = []

    @register_global_func("test.nn.look", override=True)
    def look(where: str, x: Any, amount: int, share: float) -> None:
        seen.append((where, x.numpy().sum(), amount, share))

    class Looks(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            op.debug_func("test.nn.look", x, 4, 0.5)
            op.print_(x + 1)
            return x

    forms = {"forward": {"x": spec.Tensor([6], "float32")}}
    mod, _ = Looks().export_tvm(forms, debug=True)
    effects = interp.run(mod, name="_initialize_effect")
    interp.run(mod, X, *effects, name="forward")
    ((where, total, amount, share),) = seen
    assert (total, amount, share) == (15, 4, 0.5)
    assert "R.prim_value(T.float32(0.5))" in mod.script()
    assert "test_call.py:" in where
    printed = capsys.readouterr().out
    assert "test_call.py:" in printed
    assert "shape = (6), dtype = float32" in printed
    with pytest.raises(RuntimeError, match="debug=True"):
        Looks().export_tvm(forms)


def test_what_is_refused() -> None:
    for case, told in (
        (lambda x: op.extern("f", [object()], out=FORM), "found: object"),
        (lambda x: op.extern("f", [x], out=3), "Tensor.placeholder"),
        (lambda x: op.tensor_ir_op(add_offset, "f", [5, x], out=FORM), "tensors first"),
        (lambda x: op.tensor_ir_op(add_offset, "f", [x, "a"], out=FORM), "found: str"),
    ):
        with pytest.raises(TypeError, match=told):
            apply(case, X)
