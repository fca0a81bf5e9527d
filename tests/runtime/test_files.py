"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tvm.error import TVMError
from tvm.runtime.files import FileError, draft_of, read_regular, room_for, write_beside

pytestmark = pytest.mark.pure


def test_a_file_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "f"
    write_beside(path, b"one")
    write_beside(path, b"two")
    assert path.read_bytes() == b"two"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="links and pipes of Unix")
def test_links_and_pipes_stay_what_they_are(tmp_path: Path) -> None:
    path, link, pipe = tmp_path / "f", tmp_path / "link", tmp_path / "pipe"
    path.write_bytes(b"old")
    link.symlink_to(path)
    write_beside(link, b"new")
    assert link.is_symlink()
    assert path.read_bytes() == b"new"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_beside(pipe, b"whole")
    assert os.read(reader, 100) == b"whole"
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="has no such device")
def test_devices_stay(tmp_path: Path) -> None:
    place = tmp_path / "null"
    place.symlink_to("/dev/null")
    write_beside(place, b"nothing")
    assert Path("/dev/null").is_char_device()


def test_a_failure_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(b"old")


    def fail() -> None:
        with draft_of(path) as draft:
            draft.write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.skipif(sys.platform == "win32", reason="has no such limit")
def test_a_limit_of_files_is_told_and_leaves_the_old_file(tmp_path: Path) -> None:
    """Python hears of the limit as an error, not as a signal; so it does of a full disk."""
    path = tmp_path / "f"
    path.write_bytes(b"old")
    program = (
        "import resource, sys\n"
        "from tvm.runtime.files import write_beside\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    write_beside(sys.argv[1], bytes(5000))\n"
        "except OSError as err:\n"
        "    print(err)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, path], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (
        f"write {str(path)!r}\n  found: File too large\n"
        "  legal: room on the disk, within the user's quota and the process's largest file"
    )
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_other_disks_that_are_full_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"(?s)write 'a.so'.*where: /scratch/x"), room_for("a.so"):
        raise OSError(errno.ENOSPC, "No space left on device", "/scratch/x")
    with pytest.raises(IsADirectoryError), room_for("a.so"):
        raise IsADirectoryError(errno.EISDIR, "Is a directory", "/scratch/x")


def test_folders_that_are_missing_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "missing" / "f"
    with pytest.raises(FileError) as caught:
        write_beside(path, b"")
    assert str(caught.value) == (
        f"write {str(path)!r}\n  found: No such file or directory\n  where: {path.parent}\n"
        "  legal: a file name in a folder that exists and may be written to"
    )
    assert isinstance(caught.value, (TVMError, OSError))


def test_a_folder_in_the_way_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").mkdir()
    with pytest.raises(FileError, match="directory"):
        write_beside(tmp_path / "f", b"")


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    assert read_regular(tmp_path / "file") == read_regular(tmp_path / "link") == b"content"
    with pytest.raises(OSError, match="link"):
        read_regular(tmp_path / "link", follow_links=False)
    os.mkfifo(tmp_path / "pipe")
    for name in (tmp_path / "pipe", Path("/dev/zero")):
        with pytest.raises(FileError, match="no regular file"):
            read_regular(name)


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs to know who is gone")
def test_what_a_killed_process_left_beside_a_file_goes(tmp_path: Path) -> None:
    program = (
        "import os, signal, sys\n"
        "from tvm.runtime.files import draft_of\n"
        "with draft_of(sys.argv[1]) as draft:\n"
        "    draft.write_bytes(b'half')\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    subprocess.run([sys.executable, "-c", program, tmp_path / "f"], check=False)
    assert len(list(tmp_path.iterdir())) == 1
    write_beside(tmp_path / "g", b"whole")
    assert list(tmp_path.iterdir()) == [tmp_path / "g"]
