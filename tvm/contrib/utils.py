"""Temporary folders and locks, as scripts use them."""

from __future__ import annotations

import atexit
import datetime
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

from typing_extensions import Self

from tvm.error import TVMError, message


class DirectoryCreatedPastAtExit(Exception):
    """A temporary folder was asked for while Python is ending, when nobody would remove it."""


class TempDirectory:
    """A temporary folder; it goes when the object does, at the latest at the end of Python.

    With `set_keep_for_debug`, folders made inside the context stay, under one numbered parent.
    """

    _KEEP_FOR_DEBUG = False
    _NUM_TEMPDIR_CREATED = 0
    _NUM_TEMPDIR_CREATED_LOCK: ClassVar[threading.Lock] = threading.Lock()
    _DEBUG_PARENT_DIR: ClassVar[str | None] = None
    TEMPDIRS: ClassVar[set[str] | None] = set()

    @classmethod
    def remove_tempdirs(cls) -> None:
        """Remove all folders that are left; no more can be made."""
        left, cls.TEMPDIRS = cls.TEMPDIRS, None
        for path in left or ():
            shutil.rmtree(path, ignore_errors=True)

    @classmethod
    @contextmanager
    def set_keep_for_debug(cls, set_to: bool = True) -> Iterator[None]:
        """Folders made inside the context are kept."""
        before, cls._KEEP_FOR_DEBUG = cls._KEEP_FOR_DEBUG, set_to
        try:
            yield
        finally:
            cls._KEEP_FOR_DEBUG = before

    @classmethod
    def _kept_folder(cls) -> str:
        """A folder under the one parent of all kept folders of this process."""
        with cls._NUM_TEMPDIR_CREATED_LOCK:
            if cls._DEBUG_PARENT_DIR is None:
                parent = Path(tempfile.gettempdir()) / "tvm-debug-mode-tempdirs"
                moment = datetime.datetime.now().strftime("%Y-%m-%dT%H-%M-%S")
                parent.mkdir(exist_ok=True)
                cls._DEBUG_PARENT_DIR = tempfile.mkdtemp(prefix=f"{moment}___", dir=parent)
            folder = os.path.join(cls._DEBUG_PARENT_DIR, f"{cls._NUM_TEMPDIR_CREATED:05}")
            cls._NUM_TEMPDIR_CREATED += 1
        os.mkdir(folder)
        return folder

    def __init__(
        self, custom_path: str | None = None, keep_for_debug: bool | None = None
    ) -> None:
        if self.TEMPDIRS is None:
            raise DirectoryCreatedPastAtExit
        keep = self._KEEP_FOR_DEBUG if keep_for_debug is None else keep_for_debug
        self._keep = keep
        if custom_path:
            os.mkdir(custom_path)
            self.temp_dir = custom_path
        else:
            self.temp_dir = self._kept_folder() if keep else tempfile.mkdtemp()
        if not keep:
            self.TEMPDIRS.add(self.temp_dir)

    def remove(self) -> None:
        """Remove the folder with all that is in it."""
        if self.temp_dir and not self._keep:
            shutil.rmtree(self.temp_dir, ignore_errors=True)
            if self.TEMPDIRS is not None:
                self.TEMPDIRS.discard(self.temp_dir)
        self.temp_dir = ""

    @property
    def path(self) -> str:
        """Where the folder is."""
        return self.temp_dir

    def __truediv__(self, other: str | os.PathLike[str]) -> Path:
        return Path(self.temp_dir) / other

    def relpath(self, name: str) -> str:
        """The path of a file in the folder."""
        return os.path.join(self.temp_dir, name)

    def listdir(self) -> list[str]:
        """The names of what is in the folder."""
        return os.listdir(self.temp_dir)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()

    def __del__(self) -> None:
        if getattr(self, "temp_dir", "") and self.TEMPDIRS is not None:
            self.remove()


atexit.register(TempDirectory.remove_tempdirs)


def tempdir(custom_path: str | None = None, keep_for_debug: bool | None = None) -> TempDirectory:
    """A temporary folder, by default under the system's."""
    return TempDirectory(custom_path=custom_path, keep_for_debug=keep_for_debug)


class FileLock:
    """A lock between processes: held while the file at `path` is locked."""

    def __init__(self, path: str) -> None:
        try:
            import fcntl  # not on every system
        except ImportError:
            raise TVMError(
                message(f"lock {path!r}", found="a system without file locks", legal="POSIX")
            ) from None
        self.lock_file = open(path, "w")  # noqa: SIM115 - open as long as the lock is held
        fcntl.lockf(self.lock_file, fcntl.LOCK_EX)

    def release(self) -> None:
        """Let the next one in."""
        if not self.lock_file.closed:
            self.lock_file.close()


def filelock(path: str) -> FileLock:
    """Wait for the lock on a file, and hold it until `release`."""
    return FileLock(path)


def is_source_path(path: str) -> bool:
    """Whether the name ends like that of a C or C++ source."""
    return Path(path).suffix in (".c", ".cc", ".cpp", ".cxx")


def which(exec_name: str) -> str | None:
    """The path of a program, or None."""
    return shutil.which(exec_name)
