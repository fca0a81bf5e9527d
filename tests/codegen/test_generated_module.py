"""Modules of C from a generator, with functions of ours around its functions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.codegen.generated_module import LANGUAGES, GeneratedModule
from tvm.ir.module import IRModule

pytestmark = pytest.mark.cpu
PACKED = """
#include <tvm/ffi/c_api.h>
int __tvm_ffi_seven(void* self, TVMFFIAny* args, int count, TVMFFIAny* result) {
  result->type_index = 1; result->v_int64 = 7; return 0;
}
"""


def test_the_text_is_kept_as_it_is(tmp_path: Path) -> None:
    made = GeneratedModule(PACKED, "c", ["seven"], IRModule({}))
    assert made["seven"]() == 7
    assert made.inspect_source() == PACKED
    assert list(made.get_write_formats()) == ["c"]
    made.write_to_file(str(tmp_path / "x.c"))
    assert (tmp_path / "x.c").read_text() == PACKED


def test_names_of_languages() -> None:
    assert {LANGUAGES[name] for name in ("cc", "cpp", "cxx", "c++")} == {"cc"}
    made = GeneratedModule(f'extern "C" {{{PACKED}}}', "c++", ["seven"], IRModule({}))
    assert made["seven"]() == 7
