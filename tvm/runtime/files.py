"""Files that appear whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tvm.error import TVMError, message
from tvm.support.scratch import scratch

_FULL: Final = (errno.ENOSPC, errno.EFBIG, errno.EDQUOT)


class FileError(TVMError, OSError):
    """A file that cannot be read or written."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


def read_regular(path: str | os.PathLike[str], *, follow_links: bool = True) -> bytes:
    """The content of a file that is one: pipes and devices, which may have no end, are refused."""
    how = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)
    if not follow_links:
        how |= getattr(os, "O_NOFOLLOW", 0)
    number = os.open(path, how)
    with os.fdopen(number, "rb") as file:
        facts = os.fstat(number)
        if not stat.S_ISREG(facts.st_mode):
            asked = f"read {os.fspath(path)!r}"
            raise FileError(message(asked, found="no regular file", legal="a file"))
        return file.read(facts.st_size)  # what is added meanwhile is not waited for


def write_beside(path: str | os.PathLike[str], content: bytes | bytearray) -> None:
    """Write `content` to `path`; on any failure the old file stays as it is."""
    with draft_of(path) as draft:
        draft.write_bytes(content)


@contextlib.contextmanager
def draft_of(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A name in a new folder beside `path`; what is there at the end is renamed to `path`.

    A link stays one, and the file that it names is replaced. A pipe or a device stays, too: it is
    given the content once that is whole.
    """
    target = Path(os.path.realpath(path))
    asked = f"write {os.fspath(path)!r}"
    legal = "a file name in a folder that exists and may be written to"
    special = target.exists() and not target.is_file() and not target.is_dir()
    try:
        beside = None if special else target.parent
        folder = scratch(".tvm-draft-", beside)
    except OSError as err:
        found = err.strerror or str(err)
        raise FileError(message(asked, found=found, where=str(target.parent), legal=legal)) from err
    with folder as name:
        draft = Path(name) / target.name
        with room_for(target):
            yield draft
        try:
            if special:
                with draft.open("rb") as source, target.open("wb") as sink:
                    shutil.copyfileobj(source, sink)
            else:
                os.replace(draft, target)
        except OSError as err:
            found = err.strerror or str(err)
            raise FileError(message(asked, found=found, legal=legal)) from err


@contextlib.contextmanager
def room_for(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors of a full disk, also of the one for temporary files, name the file that is written."""
    try:
        yield
    except OSError as err:
        if err.errno not in _FULL or isinstance(err, FileError):
            raise
        raise FileError(
            message(
                f"write {os.fspath(path)!r}",
                found=err.strerror or str(err),
                where=err.filename and os.fspath(err.filename),
                legal="room on the disk, within the user's quota and the process's largest file",
            )
        ) from err
