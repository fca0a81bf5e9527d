"""Loading objects and archives: damaged ones are refused."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

import tvm
from tests.runtime.test_export import program
from tests.tir.transform import programs
from tvm.error import TVMError
from tvm.runtime import load_module, load_static_library
from tvm.script import tir as T
from tvm.testing.random_inputs import random_inputs

pytestmark = pytest.mark.cpu


def test_archives_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.tar"
    path.write_bytes(b"not an archive")
    with pytest.raises(TVMError, match="a damaged archive"):
        load_module(path)


def test_archives_without_a_description_and_objects_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.tar"
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("notes.txt"), io.BytesIO())
    with pytest.raises(TVMError, match=r"a damaged archive: 'artefact\.json'"):
        load_module(path)


def test_truncated_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.tar"
    program().export_library(path)
    path.write_bytes(path.read_bytes()[:3000])
    with pytest.raises(TVMError, match="load_module"):
        load_module(path)


def test_objects_that_are_none_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.o"
    path.write_bytes(b"not an object")
    with pytest.raises(TVMError, match="legal: an object for this machine"):
        load_module(path)


def test_static_libraries_name_their_functions(tmp_path: Path) -> None:
    path = tmp_path / "program.tar"
    program().export_library(path)
    assert load_static_library(str(path), ["f"]).implements_function("f")
    with pytest.raises(ValueError, match="found: no function g"):
        load_static_library(str(path), ["f", "g"])


def test_objects_without_a_description(tmp_path: Path) -> None:
    mod = tvm.compile(programs.tail(), target="llvm").mod
    mod.write_to_file(str(tmp_path / "plain.o"))
    loaded = load_module(tmp_path / "plain.o")
    assert loaded.function_names() == ["main"]
    given = [tvm.runtime.tensor(a) for a in random_inputs(programs.tail(), 0)]
    wanted = [tvm.runtime.tensor(a) for a in given]
    loaded(*given)
    mod["main"](*wanted)
    for a, b in zip(given, wanted):
        np.testing.assert_array_equal(a.numpy(), b.numpy())


def test_objects_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "bad.o").write_bytes(b"not an object")
    with pytest.raises(TVMError, match=r"load_module '.*bad\.o'\n  found: (?!link compiled)"):
        load_module(tmp_path / "bad.o")


@pytest.mark.parametrize("form", ["ll", "bc", "o"])
def test_files_carry_their_constants(tmp_path: Path, form: str) -> None:
    """Those are kept outside of the text while it is compiled, as they may be large."""
    added = np.random.default_rng(0).random(2000, "float32")

    @T.prim_func
    def func(a: T.Buffer((2000,), "float32"), b: T.Buffer((2000,), "float32")):
        data = T.allocate_const(added, "float32", [2000])
        table = T.decl_buffer((2000,), data=data)
        for i in range(2000):
            b[i] = a[i] + table[i]

    path = tmp_path / f"program.{form}"
    tvm.tir.build(func, "llvm").write_to_file(str(path))
    given, out = np.ones(2000, "float32"), np.zeros(2000, "float32")
    load_module(path)["func"](given, out)
    np.testing.assert_array_equal(out, given + added)


def test_text_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "program.ll"
    path.write_bytes(b"define \xff")
    with pytest.raises(TVMError, match="found: no text: invalid start byte"):
        load_module(path)
