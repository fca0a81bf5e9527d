"""Code that comes with a block."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import te
from tvm.contrib import clang
from tvm.relay.backend.contrib.uma.api.utils import add_llvm_to_block

pytestmark = pytest.mark.cpu
TWICE = """define float @uma_twice(float %x) {
  %y = fadd float %x, %x
  ret float %y
}
"""


def test_functions_of_a_block(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(clang, "create_llvm", lambda code: asked.append(code) or TWICE)
    x = te.placeholder((4,), name="x")
    y = te.compute((4,), lambda i: tvm.tir.call_extern("float32", "uma_twice", x[i]), name="y")
    sch = tvm.tir.Schedule(te.create_prim_func([x, y]))
    made = add_llvm_to_block(sch, "y", 'extern "C" float uma_twice(float x) { return x + x; }')
    assert asked[0].startswith('extern "C"')
    out = tvm.nd.empty((4,))
    tvm.compile(made.mod, "llvm")(tvm.nd.array(np.arange(4, dtype="float32")), out)
    np.testing.assert_array_equal(out.numpy(), [0, 2, 4, 6])
