"""Relax's operators in torch agree with their meaning in numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tvm import relax
from tvm.ir.op import Op
from tvm.relax import op
from tvm.relax.py_tensors import to_numpy
from tvm.relax.relax_to_pyfunc_converter import RelaxExpressionConverter
from tvm.relax.torch_operators import OPERATOR_MAP

pytestmark = pytest.mark.cpu
X = np.random.default_rng(0).uniform(-2, 2, (2, 4, 6)).astype("float32")

CASES: dict[str, Callable[[Any], Any]] = {
    "sum": lambda x: op.sum(x, [1]),
    "mean": lambda x: op.mean(x, [0, 2], keepdims=True),
    "max": lambda x: op.max(x),
    "min": lambda x: op.min(x, -1),
    "softmax": lambda x: op.nn.softmax(x, 1),
    "log_softmax": lambda x: op.nn.log_softmax(x),
    "leakyrelu": lambda x: op.nn.leakyrelu(x, 0.1),
    "divide": lambda x: op.divide(x, op.add(op.abs(x), relax.const(1.0, "float32"))),
    "permute_dims": lambda x: op.permute_dims(x, [2, 0, 1]),
    "transpose": lambda x: op.permute_dims(x),
    "reshape": lambda x: op.reshape(x, (8, -1)),
    "astype": lambda x: op.astype(x, "int32"),
    "concat": lambda x: op.concat([x, x], 1),
    "concat flat": lambda x: op.concat([op.flatten(x), op.flatten(x)], None),
    "split": lambda x: op.split(x, 3, -1)[1],
    "split at": lambda x: op.split(x, [1, 4], -1)[1],
    "expand_dims": lambda x: op.expand_dims(x, [0, 2]),
    "squeeze": lambda x: op.squeeze(op.expand_dims(x, [0, 2]), [2]),
    "squeeze all": lambda x: op.squeeze(op.expand_dims(x, [0, 2])),
    "clip": lambda x: op.clip(x, -1, 1),
    "broadcast_to": lambda x: op.broadcast_to(x, (3, 2, 4, 6)),
    "tril": lambda x: op.tril(x, 1),
    "triu": lambda x: op.triu(x, -1),
    "gelu": lambda x: op.nn.gelu(x),
    "erf": lambda x: op.erf(x),
    "where": lambda x: op.where(op.greater(x, op.negative(x)), x, op.square(x)),
    "cumsum": lambda x: op.cumsum(x, 1),
}


def test_names_are_those_of_operators() -> None:
    assert all(Op.get(name) is not None for name in OPERATOR_MAP)


@pytest.mark.parametrize("name", CASES)
def test_same_as_numpy(name: str) -> None:
    torch = pytest.importorskip("torch")
    x = relax.Var("x", relax.TensorStructInfo(X.shape, "float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        bb.emit_func_output(bb.emit(CASES[name](x)))
    func = bb.get()["main"]
    with_numpy = RelaxExpressionConverter(OPERATOR_MAP).convert_expr(func, [X])
    with_torch = RelaxExpressionConverter(OPERATOR_MAP).convert_expr(func, [torch.from_numpy(X)])
    assert isinstance(with_torch, torch.Tensor)
    found = to_numpy(with_torch)
    assert (found.shape, found.dtype) == (with_numpy.shape, with_numpy.dtype)
    np.testing.assert_allclose(found, with_numpy, rtol=1e-5, atol=1e-5)
