"""LLVM code that programs bring along."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import te
from tvm.error import TVMError

pytestmark = pytest.mark.cpu

CODE = """
define float @add_two(float %x) {
  %sum = fadd float %x, 2.0
  ret float %sum
}
"""


def library(code: str) -> tvm.runtime.Executable:
    """b[i] = add_two(a[i]), with the code of add_two given by a pragma."""
    a = te.placeholder((8,), "float32", "a")
    b = te.compute((8,), lambda i: tvm.tir.call_pure_extern("float32", "add_two", a[i]), "b")
    sch = tvm.tir.Schedule(te.create_prim_func([a, b]))
    sch.annotate(sch.get_loops("b")[0], "pragma_import_llvm", code)
    return tvm.compile(sch.mod, target="llvm")


def check(compiled: tvm.runtime.Executable) -> None:
    a, b = np.arange(8, dtype="float32"), np.zeros(8, "float32")
    compiled(a, b)
    np.testing.assert_array_equal(b, a + 2)


def test_text_is_linked_in() -> None:
    check(library(CODE))


@pytest.mark.parametrize("form", ["ll", "bc"])
def test_files_are_linked_in(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"code.{form}"
    if form == "ll":
        path.write_text(CODE)
    else:
        binding = pytest.importorskip("llvmlite.binding")
        path.write_bytes(binding.parse_assembly(CODE).as_bitcode())
    check(library(str(path)))


@pytest.mark.parametrize("code", ["define float @add_two(", "no/such/file.ll"])
def test_rejects_other_text(code: str) -> None:
    with pytest.raises(TVMError, match="pragma_import_llvm"):
        library(code)
