"""Compiling in a process of its own."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tvm.backend.llvm import jit

pytestmark = pytest.mark.cpu


def compile_text(text: str) -> subprocess.CompletedProcess[bytes]:
    machine = jit.host_machine()
    fields = [machine.triple, machine.cpu, machine.features, "2", ""]
    return subprocess.run(
        [sys.executable, "-m", "tvm.backend.llvm.compile_worker", *fields],
        input=text.encode(), capture_output=True, check=False,
    )  # fmt: skip


def test_it_makes_the_same_object_as_here() -> None:
    text = "define i32 @f() {\n  ret i32 42\n}\n"
    done = compile_text(text)
    assert done.returncode == 0
    assert done.stdout == jit.emit_here(text, jit.host_machine())


def test_bad_text_is_one_line_on_standard_error() -> None:
    done = compile_text("define nonsense")
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr.startswith(b"compile LLVM text")
    assert done.stderr.count(b"\n") == 1
