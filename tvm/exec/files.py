"""Files that commands read and write."""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from tvm.error import message
from tvm.exec.command import Mistake
from tvm.runtime.files import draft_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def check_input(path: Path, what: str) -> None:
    """Refuse a file that cannot be read."""
    asked = f"cannot read {what} {str(path)!r}"
    if not path.exists():
        raise Mistake(message(asked, found=_nearest(path), legal="the path of an existing file"))
    if not path.is_file():
        raise Mistake(message(asked, found="it is not a regular file", legal="a file"))
    if not os.access(path, os.R_OK):
        raise Mistake(message(asked, found="no permission to read it", legal="a readable file"))


def check_output(path: Path, what: str) -> None:
    """Refuse, before any work is done, a path that cannot be written."""
    asked = f"cannot write {what} {str(path)!r}"
    legal = "a file name in an existing directory that you may write to"
    folder = path.parent
    if path.is_dir():
        raise Mistake(message(asked, found="it is a directory", legal=legal))
    if not folder.is_dir():
        raise Mistake(message(asked, found=f"{str(folder)!r} is not a directory", legal=legal))
    if path.exists() and not path.is_file() and os.access(path, os.W_OK):
        return  # a pipe or a device is written to, and stays
    try:
        tempfile.TemporaryFile(dir=folder).close()      # the only sure answer, also for root
    except OSError as error:
        found = f"directory {str(folder)!r}: {error.strerror or error}"
        raise Mistake(message(asked, found=found, legal=legal)) from error


def load_arrays(path: Path) -> dict[str, NDArray[np.generic]]:
    """The named arrays of an `.npz` file."""
    import numpy as np

    check_input(path, "the inputs")
    try:
        stored = np.load(path, allow_pickle=False)
        if isinstance(stored, np.ndarray):
            raise ValueError("it holds one array without a name (.npy)")
        with stored:
            return {name: stored[name] for name in stored.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        asked = f"cannot read the inputs {str(path)!r}"
        legal = "an .npz file of plain arrays: numpy.savez(path, x=...)"
        raise Mistake(message(asked, found=str(error), legal=legal)) from error


def save_arrays(path: Path, arrays: Mapping[str, NDArray[np.generic]]) -> None:
    """Write an `.npz` file of the arrays."""
    import numpy as np

    # A zip of .npy members is what .npz is; numpy.savez takes the names as keywords, and an
    # output may be called `file`.
    with draft_of(path) as draft, zipfile.ZipFile(draft, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{_inside(name)}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asanyarray(array), allow_pickle=False)


def _inside(name: str) -> str:
    """The name of a member that stays below the folder where an archive is taken apart."""
    parts = name.replace("\\", "/").split("/")
    return "/".join("_" * max(len(part), 1) if part in ("", ".", "..") else part for part in parts)


def _nearest(path: Path) -> str:
    for folder in path.parents:
        if folder.is_dir():
            missing = path.relative_to(folder).parts[0]
            return f"no {missing!r} in directory {str(folder)!r}"
    return "no such file"
