"""Helper functions compile alone, and compute what they are named for."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest

from tvm.backend.c.compiler import compile_shared
from tvm.backend.c.helpers import _HELPERS, helper
from tvm.backend.c.source_text import SourceText

FAMILIES = [
    f"{name}_{kind}"
    for name in ("min", "max", "floordiv", "floormod", "shl", "atomic_add")
    for kind in ("i8", "i16", "i32", "i64")
] + ["min_f32", "max_f64", "floordiv_f32", "floormod_f64", "sigmoid_f32", "atomic_add_f32",
     "wrap_i4", "wrap_u2", "bits_of_f32_as_i32", "bits_of_u64_as_f64", "max_u8"]  # fmt: skip


def compiled(folder: Path, names: list[str], code: str = "") -> ctypes.CDLL:
    source = SourceText()
    for name in names:
        source.need(name)
    path = folder / "helpers.c"
    path.write_text(source.text() + "\n" + code)
    strict = ["-Wall", "-Wextra", "-Werror", "-Wno-unused-function"]
    compile_shared([str(path)], str(folder / "helpers.so"), options=strict)
    return ctypes.CDLL(str(folder / "helpers.so"))


@pytest.mark.cpu
@pytest.mark.parametrize("names", [[*_HELPERS], FAMILIES])
def test_all_compile(names: list[str], tmp_path: Path) -> None:
    compiled(tmp_path, names)


@pytest.mark.cpu
@pytest.mark.parametrize("name", [*_HELPERS])
def test_each_brings_what_it_needs(name: str, tmp_path: Path) -> None:
    source = SourceText()
    source.need(name)
    text = source.text()
    for other in _HELPERS:
        if re.search(rf"\b{other}\b", text):
            assert other in source._helpers, other


@pytest.mark.cpu
def test_rounding_of_divisions(tmp_path: Path) -> None:
    code = """
    int32_t quotient(int32_t a, int32_t b) { return floordiv_i32(a, b); }
    int32_t rest(int32_t a, int32_t b) { return floormod_i32(a, b); }
    int32_t four_bits(int32_t a) { return wrap_i4((int8_t)a); }
    """
    made = compiled(tmp_path, ["floordiv_i32", "floormod_i32", "wrap_i4"], code)
    for a in (-7, -6, 0, 5, 7):
        for b in (-3, -2, 2, 3):
            assert (made.quotient(a, b), made.rest(a, b)) == (a // b, a % b)
    assert [made.four_bits(n) for n in (7, 8, -9)] == [7, -8, 7]


@pytest.mark.pure
def test_unknown_names_are_no_helpers() -> None:
    assert helper("exp") is None
    assert helper("shl_f32") is None
