"""What can be computed before a function gets its inputs."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.relax import op
from tvm.relax.analysis import computable_at_compile_time
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.pure


def function(num_input: int | None) -> relax.Function:
    x, w, v = (relax.Var(n, relax.TensorStructInfo((2, 2), "float32")) for n in "xwv")
    bb = relax.BlockBuilder()
    attrs = {} if num_input is None else {"num_input": num_input}
    with bb.function("main", [x, w, v], attrs=attrs):
        with bb.dataflow():
            wv = bb.emit(op.matmul(w, v), "wv")
            t = bb.emit(op.permute_dims(wv), "t")
            out = bb.emit_output(op.matmul(x, t), "out")
        bb.emit_func_output(out)
    return bb.get()["main"]


def test_what_depends_on_weights_only() -> None:
    found = computable_at_compile_time(function(1))
    assert [var.name_hint for var in found] == ["w", "v", "wv", "t"]


def test_without_the_attribute_all_are_inputs() -> None:
    assert computable_at_compile_time(function(None)) == []


def test_casts_define_symbols() -> None:
    @R.function
    def func(x: R.Tensor(["j"]), w: R.Tensor(ndim=1)):
        R.func_attr({"num_input": 1})
        j = T.int64()
        k = T.int64()
        w2 = R.match_cast(w, R.Tensor([k]))
        y = R.zeros([k], "float32")
        z = R.zeros([j], "float32")
        return (w2, y, z)

    assert [var.name_hint for var in computable_at_compile_time(func)] == ["w", "w2", "y"]


def test_what_needs_no_parameter_is_known() -> None:
    @R.function
    def func(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        ones = R.ones((2,), "float32")
        return R.add(x, ones)

    assert [var.name_hint for var in computable_at_compile_time(func)] == ["ones"]
