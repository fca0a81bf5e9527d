"""Tar archives of files, as `export_library(fcompile=tar)` makes them."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Sequence
from pathlib import Path

from tvm.error import TVMError, message

from .utils import TempDirectory


def tar(output: str, files: str | Sequence[str]) -> None:
    """Put files into a tar archive, side by side."""
    given = [files] if isinstance(files, str) else list(files)
    names = [Path(name).name for name in given]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TVMError(
            message(
                f"tar {output!r}",
                found=f"several files named {', '.join(twice)}",
                legal="files of different names, as they lie side by side in the archive",
            )
        )
    with tarfile.open(output, "w", format=tarfile.USTAR_FORMAT) as archive:
        for name, path in zip(names, given):
            archive.add(path, arcname=name)


tar.output_format = "tar"  # type: ignore[attr-defined]


def untar(tar_file: str, directory: str) -> None:
    """Unpack an archive into a folder; members that point out of it are refused."""
    try:
        with tarfile.open(tar_file) as archive:
            archive.extractall(directory, filter="data")
    except tarfile.TarError as err:
        raise TVMError(
            message(f"untar {tar_file!r}", found=str(err), legal="an archive made by `tar`")
        ) from err


def normalize_file_list_by_unpacking_tars(
    temp: TempDirectory, file_list: Sequence[str]
) -> list[str]:
    """The files, with what archives among them hold, under distinct names in `temp`."""
    found: list[str] = []
    for n, name in enumerate(file_list):
        if not name.endswith(".tar"):
            found.append(name)
            continue
        folder = Path(temp.relpath(f"tar{n}"))
        folder.mkdir(exist_ok=True)
        untar(name, str(folder))
        for path in sorted(p for p in folder.rglob("*") if p.is_file()):
            target = folder / f"tar{n}_{path.name}"
            shutil.move(path, target)
            found.append(str(target))
    return found
