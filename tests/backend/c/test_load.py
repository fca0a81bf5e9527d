"""C files of others."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.backend.c.load import loaded
from tvm.runtime import load_module
from tvm.runtime.linker import LinkError

pytestmark = pytest.mark.cpu
SEVEN = b"""
#include <stdint.h>
int32_t __tvm_ffi_seven(void* self, void* args, int32_t n, int64_t* result) {
  (void)self; (void)args; (void)n;
  result[0] = 1; /* an int */
  result[1] = 7;
  return 0;
}
"""


def test_functions_are_found_by_their_symbol(tmp_path: Path) -> None:
    assert loaded({"seven.c": SEVEN})["seven"]() == 7
    (tmp_path / "seven.c").write_bytes(SEVEN)
    assert load_module(tmp_path / "seven.c")["seven"]() == 7


def test_what_the_compiler_says_is_passed_on() -> None:
    with pytest.raises(LinkError, match="error"):
        loaded({"bad.c": b"int f( {"})
