"""Debug locations."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backend.llvm.kernel import call, i32, kernel
from tvm.backend.llvm.codegen import emit_module
from tvm.backend.llvm.jit import host_machine
from tvm.backend.llvm.module import LLVMModule, build
from tvm.ir.module import IRModule
from tvm.ir.span import SequentialSpan, SourceName, Span
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import decl_buffer

pytestmark = pytest.mark.cpu


def program() -> IRModule:
    b = decl_buffer((8,), "int32", "b")
    i = e.Var("i", "int32")
    place = Span(SourceName("model.py"), 12, 12, 4, 20)
    first = s.BufferStore(b, i32(1), [i], span=place)
    second = s.BufferStore(b, i32(2), [i], span=SequentialSpan([place, place]))
    loop = s.For(i, 0, 8, s.ForKind.PARALLEL, s.SeqStmt([first, second]))
    return IRModule({"kernel": kernel([b], loop)})


def test_instructions_carry_the_line_of_their_statement() -> None:
    text = emit_module(program(), host_machine(), debug=True).text
    (node,) = {line.rpartition("!dbg ")[2] for line in text.splitlines() if "store i32 1" in line}
    place = next(line for line in text.splitlines() if line.startswith(f"{node} = "))
    assert "!DILocation(line: 12, column: 4, scope: " in place
    assert '!DIFile(filename: "model.py", directory: "")' in text


def test_code_with_debug_locations_runs() -> None:
    emitted = emit_module(program(), host_machine(), debug=True)
    out = np.zeros(8, "int32")
    assert call(LLVMModule(emitted, host_machine()), out) == 0
    np.testing.assert_array_equal(out, [2] * 8)


def test_they_are_made_only_when_asked_for() -> None:
    assert "!dbg" not in build(program(), "llvm").inspect_source()
    with PassContext(config={"tir.enable_debug": True}):
        assert "!dbg" in build(program(), "llvm").inspect_source()
