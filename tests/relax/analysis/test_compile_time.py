"""What can be computed before a function gets its inputs."""

from __future__ import annotations

import pytest

from tvm import relax
from tvm.relax import op
from tvm.relax.analysis import computable_at_compile_time

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
