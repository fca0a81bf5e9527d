"""Named arrays in a file: whole or not there, and read without running anything."""

from __future__ import annotations

import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tvm.error import TVMError, message
from tvm.runtime.files import draft_of


def save_arrays(path: str, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
    """Write arrays; a file of the name stays as it was until the new one is whole."""
    with draft_of(path) as draft, draft.open("wb") as sink:
        np.savez(sink, allow_pickle=False, **arrays)


def load_arrays(path: str, what: str, names: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file that has all of `names`; a ValueError for any other file."""
    legal = f"a file that {what} saved"
    if not Path(path).is_file():
        raise ModelFileError(message(f"load {path!r}", found="no such file", legal=legal))
    try:
        with np.load(path, allow_pickle=False) as stored:
            found = {name: stored[name] for name in stored.files}
    except (ValueError, OSError, EOFError, AttributeError, zipfile.BadZipFile) as err:
        raise ModelFileError(message(f"load {path!r}", found=str(err), legal=legal)) from err
    missing = [name for name in names if name not in found]
    if missing:
        lacks = f"a file without {', '.join(missing)}"
        raise ModelFileError(message(f"load {path!r}", found=lacks, legal=legal))
    return found


class ModelFileError(TVMError, ValueError):
    """A file that holds no saved model."""
