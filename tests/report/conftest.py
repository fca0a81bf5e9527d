"""One report for all tests of this folder: a small program of two kernels, measured."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.ir.span import Span
from tvm.report import Report, collect


def program() -> tvm.IRModule:
    """relu(x @ w + b) and a sum of its rows."""
    rng = np.random.default_rng(0)
    x = relax.Var("x", relax.TensorStructInfo((8, 32), "float32"))
    w = relax.const(rng.standard_normal((32, 64)).astype("float32"))
    b = relax.const(rng.standard_normal((64,)).astype("float32"))
    bb = relax.BlockBuilder()
    with bb.function("main", [x]):
        with bb.dataflow():
            made = bb.emit(_from("dense", relax.op.matmul(x, w)))
            made = bb.emit(_from("bias", relax.op.add(made, b)))
            made = bb.emit(_from("relu", relax.op.nn.relu(made)))
            out = bb.emit_output(_from("total", relax.op.sum(made, axis=1)))
        bb.emit_func_output(out)
    return bb.finalize()


def _from(name: str, call: relax.Call) -> relax.Call:
    span = Span(f"net.onnx:{name}", 1, 1, 1, 1)
    return relax.Call(call.op, call.args, call.attrs, call.sinfo_args, span)


@pytest.fixture(scope="session")
def report() -> Report:
    with tvm.target.Target("llvm -mcpu=x86-64-v3"):
        return collect(program(), "llvm -mcpu=x86-64-v3", title="net", times=False)
