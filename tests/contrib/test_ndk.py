"""Linking for Android, with a compiler of this machine in the place of the NDK's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm.contrib import ndk
from tvm.runtime import linker
from tvm.script import tir as T

pytestmark = pytest.mark.cpu
needs_cc = pytest.mark.skipif(linker.get_cc() is None, reason="no C compiler to call")


@T.prim_func
def double(A: T.Buffer((4,), "float32")):
    for i in range(4):
        A[i] = A[i] * 2.0


@needs_cc
def test_an_exported_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_NDK_CC", str(linker.get_cc()))
    path = str(tmp_path / "double.so")
    tvm.compile(double, "llvm").export_library(path, fcompile=ndk.create_shared)
    x = tvm.runtime.tensor(np.array([1, 2, 3, 4], "float32"))
    tvm.runtime.load_module(path)["double"](x)
    assert list(x.numpy()) == [2, 4, 6, 8]
    assert ndk.create_shared.get_target_triple()


@needs_cc
def test_archives_and_symbols(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TVM_NDK_CC", str(linker.get_cc()))
    source, part = tmp_path / "f.c", str(tmp_path / "f.o")
    source.write_text("int answer(void) { return 42; }\n")
    linker.create_executable(part, str(source), ["-c"])
    archive = str(tmp_path / "f.a")
    ndk.create_staticlib(archive, [part])
    assert ndk.get_global_symbol_section_map(archive)["answer"] == "T"


def test_without_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TVM_NDK_CC", raising=False)
    with pytest.raises(RuntimeError, match="no environment variable TVM_NDK_CC"):
        ndk.create_shared("x.so", ["x.o"])
    assert ndk.create_shared.get_target_triple() is None
