"""Functions lowered once for a target, and run."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.relay.backend import te_compiler

pytestmark = pytest.mark.cpu


def add(extent: int) -> Any:
    x, y = relay.var("x", shape=(extent,)), relay.var("y", shape=(extent,))
    mod = tvm.IRModule.from_expr(relay.Function([x, y], relay.add(x, y)))
    return relay.transform.InferType()(mod)["main"]


def test_equal_functions_are_lowered_once() -> None:
    compiler = te_compiler.get()
    compiler.clear()
    first = compiler.lower(add(10), "llvm")
    assert compiler.lower(add(10), "llvm") is first
    assert compiler.lower(add(1), "llvm") is not first
    assert compiler.lower(add(10), "c") is not first
    assert first.use_count == 2
    assert len(compiler.items()) == 3
    assert "tvmgen_default_fused_add" in [v.name_hint for v in first.funcs.functions]


def test_run() -> None:
    run = te_compiler.get().jit(add(10), "llvm")
    x, out = (tvm.nd.array(np.full(10, v, "float32")) for v in (1, 0))
    run(x, x, out)
    np.testing.assert_array_equal(out.numpy(), np.full(10, 2, "float32"))
    assert isinstance(te_compiler.lower_to_primfunc(add(3), "llvm"), tvm.tir.PrimFunc)


def test_tensors_of_what_was_lowered() -> None:
    x, y = relay.var("x", shape=(4, 2)), relay.var("y", shape=(4, 2))
    body = relay.Tuple([relay.add(x, y), relay.cast(x, "int8")])
    mod = relay.transform.InferType()(tvm.IRModule.from_expr(relay.Function([x, y], body)))
    found = te_compiler.TECompiler().lower(mod["main"], "llvm")
    assert [t.dtype for t in found.inputs] == ["float32", "float32"]
    assert [(list(map(int, t.shape)), t.dtype) for t in found.outputs] == [
        ([4, 2], "float32"), ([4, 2], "int8"),
    ]  # fmt: skip
    assert found.cached_func.same_as(found)
