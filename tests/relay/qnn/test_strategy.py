"""Strategies of quantized operators."""

from __future__ import annotations

import importlib

import pytest

import tvm
from tvm import relay, te
from tvm.relay.backend.te_compiler import select_implementation
from tvm.relay.qnn.strategy import generic

pytestmark = pytest.mark.pure


@pytest.mark.parametrize("target", ["arm_cpu", "hexagon"])
def test_names_by_target(target: str) -> None:
    module = importlib.import_module(f"tvm.relay.qnn.strategy.{target}")
    for name in module._NAMES:
        assert getattr(module, f"{name}_{target}") is getattr(generic, name)


def test_the_own_way() -> None:
    x = relay.var("x", shape=(2, 3), dtype="float32")
    call = relay.qnn.op.quantize(x, relay.const(0.5), relay.const(1), out_dtype="int8")
    call = relay.testing.run_infer_type(call)
    inputs = [te.placeholder((2, 3)), te.placeholder(()), te.placeholder((), "int32")]
    llvm = tvm.target.Target("llvm")
    way, outs = select_implementation(call.op, call.attrs, inputs, call.checked_type, llvm)
    assert (way.name, [str(out.dtype) for out in outs]) == ("injective.cpu", ["int8"])
    made = generic.qnn_quantize_strategy(call.attrs, inputs, call.checked_type, llvm)
    assert made.specializations[0].implementations[0].name == way.name
