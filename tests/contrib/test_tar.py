"""Archives of files."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

import tvm
from tvm.contrib import tar, utils
from tvm.error import TVMError
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


def test_files_lie_side_by_side_and_come_out_again(tmp_path: Path) -> None:
    for name in ("a.o", "b.o"):
        (tmp_path / name).write_text(name)
    archive = str(tmp_path / "both.tar")
    tar.tar(archive, [str(tmp_path / "a.o"), str(tmp_path / "b.o")])
    tar.untar(archive, str(tmp_path / "out"))
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == ["a.o", "b.o"]
    assert tar.tar.output_format == "tar"
    with pytest.raises(TVMError, match=r"several files named a\.o"):
        tar.tar(archive, [str(tmp_path / "a.o"), str(tmp_path / "x" / "a.o")])


def test_archives_among_files_are_unpacked_under_distinct_names(tmp_path: Path) -> None:
    archives = []
    for n in range(2):
        (tmp_path / "a.o").write_text(str(n))
        tar.tar(str(tmp_path / f"{n}.tar"), str(tmp_path / "a.o"))
        archives.append(str(tmp_path / f"{n}.tar"))
    with utils.tempdir() as temp:
        found = tar.normalize_file_list_by_unpacking_tars(temp, ["plain.o", *archives])
        assert [Path(p).name for p in found] == ["plain.o", "tar1_a.o", "tar2_a.o"]
        assert [Path(p).read_text() for p in found[1:]] == ["0", "1"]


def test_members_that_point_outside_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.tar"
    with tarfile.open(path, "w") as archive:
        member = tarfile.TarInfo("../outside")
        archive.addfile(member, io.BytesIO())
    with pytest.raises(TVMError, match="untar"):
        tar.untar(str(path), str(tmp_path / "out"))


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_modules_are_exported_as_archives_of_files(target: str, tmp_path: Path) -> None:
    @T.prim_func
    def main(A: T.Buffer((4,), "float32")):
        A[0] = T.float32(1)

    path = tmp_path / "program.tar"
    tvm.compile(main, target=target).export_library(path, fcompile=tar.tar)
    with tarfile.open(path) as archive:
        names = archive.getnames()
    assert names[0] == {"llvm": "kernels.o", "c": "kernels.c"}[target]
