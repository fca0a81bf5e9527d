"""Archives that are damaged, or hold what nobody can load."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tvm.error import TVMError
from tvm.runtime.archive import ARTEFACT_FILE, load_archive
from tvm.runtime.artefact import Artefact

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
        load_archive(archive(tmp_path / "a.tar", **{"kernels.o": b""}))
    (tmp_path / "b.tar").write_bytes(b"no archive")
    with pytest.raises(TVMError, match="a damaged archive"):
        load_archive(str(tmp_path / "b.tar"))


def test_code_is_of_one_kind(tmp_path: Path) -> None:
    about = Artefact().to_json().encode()
    path = archive(tmp_path / "a.tar", **{ARTEFACT_FILE: about, "a.o": b"", "b.c": b""})
    with pytest.raises(TVMError, match=r"code in files a\.o, b\.c"):
        load_archive(path)
    with pytest.raises(TVMError, match="code in files none"):
        load_archive(archive(tmp_path / "b.tar", **{ARTEFACT_FILE: about}))
