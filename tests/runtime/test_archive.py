"""Archives that are damaged, or hold what nobody can load."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm.contrib.tar import tar
from tvm.error import TVMError
from tvm.runtime.archive import ARTEFACT_FILE, load_archive
from tvm.runtime.artefact import Artefact
from tvm.runtime.linker import LinkError
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


def archive(path: Path, **parts: bytes) -> str:
    with tarfile.open(path, "w") as file:
        for name, content in parts.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            file.addfile(member, io.BytesIO(content))
    return str(path)


def test_damaged_archives_are_refused(tmp_path: Path) -> None:
    with pytest.raises(TVMError, match="a damaged archive"):
        load_archive(archive(tmp_path / "a.tar", **{"kernels.txt": b""}))
    (tmp_path / "b.tar").write_bytes(b"no archive")
    with pytest.raises(TVMError, match="a damaged archive"):
        load_archive(str(tmp_path / "b.tar"))


def test_archives_of_objects_are_linked(tmp_path: Path) -> None:
    @T.prim_func
    def double(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            B[i] = A[i] * 2.0

    path = str(tmp_path / "double.tar")
    tvm.compile(double, target="llvm").export_library(path, fcompile=tar)
    result = tvm.runtime.tensor(np.zeros(4, "float32"))
    tvm.runtime.load_module(path)["double"](tvm.runtime.tensor(np.ones(4, "float32")), result)
    np.testing.assert_array_equal(result.numpy(), np.full(4, 2, "float32"))
    with pytest.raises(LinkError):
        load_archive(archive(tmp_path / "a.tar", **{"kernels.o": b"no object"}))


def test_code_is_of_one_kind(tmp_path: Path) -> None:
    about = Artefact().to_json().encode()
    path = archive(tmp_path / "a.tar", **{ARTEFACT_FILE: about, "a.o": b"", "b.c": b""})
    with pytest.raises(TVMError, match=r"code in files a\.o, b\.c"):
        load_archive(path)
    with pytest.raises(TVMError, match="code in files none"):
        load_archive(archive(tmp_path / "b.tar", **{ARTEFACT_FILE: about}))
