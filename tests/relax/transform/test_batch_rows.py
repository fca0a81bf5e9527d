"""Which calls treat each row of a batch alone."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.transform.batch_rows import Rows
from tvm.script import relax as R

CALLS = {
    "exp(x)": True,
    "add(x, y)": True,
    "add(x, last)": True,
    "add(permute_dims(x, [1, 2, 3, 0]), line)": False,  # along another axis
    "multiply(x, relax.const(np.ones((8, 1, 1, 1), 'float32')))": False,
    "nn.conv2d(x, weight)": True,
    "nn.conv2d(x, relax.const(np.ones((3, 8, 1, 1), 'float32')), data_layout='CHWN', "
    "out_layout='CHWN')": False,
    "nn.conv2d(x, y)": False,  # images as weights
    "nn.softmax(x, axis=1)": True,
    "nn.softmax(x, axis=0)": False,
    "nn.softmax(x, axis=-4)": False,
    "nn.layer_norm(x, last, last, axes=[-1])": True,
    "nn.group_norm(x, bias, bias, 4, 1, [2, 3])": True,
    "mean(x, [2, 3])": True,
    "mean(x, [0])": False,
    "mean(x)": False,
    "sum(x, [1], keepdims=True)": True,
    "concat([x, y], 1)": True,
    "concat([x, y], 0)": False,
    "permute_dims(x, [0, 2, 3, 1])": True,
    "permute_dims(x, [1, 0, 2, 3])": False,
    "permute_dims(x)": False,
    "reshape(x, (8, 144))": True,
    "reshape(x, (16, 72))": False,
    "reshape(permute_dims(x, [1, 0, 2, 3]), (8, 144))": False,
    "expand_dims(x, 1)": True,
    "expand_dims(x, 0)": False,
    "split(x, 2, 1)": True,
    "split(x, 2, 0)": False,
    "strided_slice(x, [2], [1], [3])": True,
    "strided_slice(x, [0], [0], [8])": False,
    "nn.pad(x, [0, 0, 1, 1, 0, 0, 0, 0])": True,
    "nn.pad(x, [1, 1, 0, 0, 0, 0, 0, 0])": False,
    "flip(x, 2)": True,
    "flip(x, 0)": False,
    "cumsum(x, 0)": False,
    "matmul(x, y)": True,
    "matmul(x, relax.const(np.ones((6, 5), 'float32')))": True,
    "matmul(relax.const(np.ones((6, 6), 'float32')), x)": False,
    "broadcast_to(x, (8, 4, 6, 6))": True,
    "broadcast_to(y1, (8, 4, 6, 6))": False,
    "take(x, index, 0)": False,
    "nn.prelu(x, bias, 1)": True,
    "where(greater(x, y), x, y)": True,
}


@pytest.mark.parametrize("text", CALLS)
def test_calls_that_go_row_by_row(text):
    bb = relax.BlockBuilder()
    given = {
        "x": R.Tensor((8, 4, 6, 6), "float32"), "y": R.Tensor((8, 4, 6, 6), "float32"),
        "y1": R.Tensor((1, 4, 6, 6), "float32"), "bias": R.Tensor((4,), "float32"),
        "last": R.Tensor((6,), "float32"), "each": R.Tensor((8, 1), "float32"),
        "line": R.Tensor((8,), "float32"),
        "weight": R.Tensor((5, 4, 3, 3), "float32"),
        "index": R.Tensor((8,), "int64"),
    }  # fmt: skip
    names = {name: relax.Var(name, info) for name, info in given.items()}
    scope = {**vars(relax.op), "relax": relax, "np": np, **names}
    with bb.function("main", list(names.values())):
        with bb.dataflow():
            value = eval(text, scope)
            made = bb.emit(value)
            bound = bb.lookup_binding(made)
            bb.emit_output(made)
        bb.emit_func_output(made)
    assert Rows(tvm.tir.IntImm("int64", 8)).apart(bound) is CALLS[text]
