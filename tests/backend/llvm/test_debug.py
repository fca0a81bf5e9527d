"""Debug locations."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tests.backend.llvm.kernel import call, i32, kernel
from tvm.backend.llvm.codegen import emit_module
from tvm.backend.llvm.jit import host_machine
from tvm.backend.llvm.module import LLVMModule, build
from tvm.ir.module import IRModule
from tvm.ir.span import SequentialSpan, SourceName, Span
from tvm.ir.transform import PassContext
from tvm.tir import expr as e
from tvm.tir import stmt as s
from tvm.tir.buffer import Buffer, decl_buffer
from tvm.tir.function import PrimFunc

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


def test_lines_are_told_only_when_asked_for() -> None:
    assert "model.py" not in build(program(), "llvm").inspect_source()
    with PassContext(config={"tir.enable_debug": True}):
        assert "model.py" in build(program(), "llvm").inspect_source()


def test_functions_and_parameters_are_always_told() -> None:
    module = build(program(), "llvm")
    text = module.inspect_source()
    assert 'distinct !DISubprogram(name: "kernel"' in text
    assert "call void @llvm.dbg.value(metadata ptr %b" in text
    assert '!DILocalVariable(name: "b", arg: 1' in text
    stores = [line for line in text.splitlines() if "store i32" in line]
    assert not any("!dbg" in line for line in stores), "places of single instructions cost time"
    assert b"kernel" in module.object


def test_the_form_follows_the_system() -> None:
    linux = build(program(), "llvm -mtriple=aarch64-linux-gnu").inspect_source()
    assert "Dwarf Version" not in linux
    mac = build(program(), "llvm -mtriple=x86_64-apple-darwin-macho").inspect_source()
    assert '!{i32 4, !"Dwarf Version", i32 2}' in mac


def test_callable_functions_are_told_by_their_names() -> None:
    b = decl_buffer((8,), "int32", "b")
    body = s.BufferStore(b, i32(1), [i32(0)])
    library = tvm.compile(IRModule({"first": packed(b, body)}), target="llvm")
    assert 'distinct !DISubprogram(name: "first"' in library.inspect_source()


def packed(b: Buffer, body: s.Stmt) -> PrimFunc:
    return PrimFunc([b], body).with_attr("global_symbol", "first")
