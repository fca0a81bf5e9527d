"""Finding clang, and LLVM code from it; a script stands in for a compiler that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tvm.contrib import clang

pytestmark = pytest.mark.pure

SCRIPT = """#!/bin/sh
while [ $# -gt 0 ]; do
  if [ "$1" = -o ]; then out=$2; shift; fi
  last=$1; shift
done
case $(cat "$last") in *bad*) echo "no C code" >&2; exit 1;; esac
{ echo "; made of:"; cat "$last"; } > "$out"
"""


@pytest.fixture
def compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "clang"
    path.write_text(SCRIPT)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return path


def test_finds_clang(compiler: Path) -> None:
    assert str(compiler) in clang.find_clang()


def test_none_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert clang.find_clang(required=False) == []
    with pytest.raises(RuntimeError, match="find clang"):
        clang.find_clang()


def test_makes_llvm_text(compiler: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.ll"
    text = clang.create_llvm("int f();", output=str(output), cc=str(compiler))
    assert text == output.read_text() == "; made of:\nint f();"
    source = tmp_path / "file.cc"
    source.write_text("int g();")
    assert clang.create_llvm([str(source)], options=["-O2"]).endswith("int g();")


def test_shows_what_the_compiler_says(compiler: Path) -> None:
    with pytest.raises(RuntimeError, match="no C code"):
        clang.create_llvm("bad", cc=str(compiler))
