"""Files from the net, such as pictures to try models on."""

from __future__ import annotations

import os
import shutil
import urllib.error
import urllib.request
from pathlib import Path

from tvm.error import message


def __getattr__(name: str) -> Path:
    if name == "TEST_DATA_ROOT_PATH":  # read anew each time: programs set the variable
        return _root()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _root() -> Path:
    chosen = os.environ.get("TVM_TEST_DATA_ROOT_PATH")
    return Path(chosen) if chosen else Path.home() / ".tvm_test_data"


def download(
    url: str,
    path: str | Path,
    overwrite: bool = False,
    size_compare: bool = False,
    retries: int = 3,
) -> None:
    """Fetch `url` into the file `path`.

    A file that is there stays as it is, unless `overwrite`, or `size_compare` finds that its size
    in bytes is not the one that the server tells. OSError after `retries` failures; the file is
    whole or not written.
    """
    target = Path(path)
    if target.exists() and not overwrite and not (size_compare and _differs(url, target)):
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    for left in range(max(retries, 1) - 1, -1, -1):
        try:
            with urllib.request.urlopen(url) as source, part.open("wb") as sink:
                shutil.copyfileobj(source, sink)
            part.replace(target)
            return
        except (OSError, ValueError) as err:
            part.unlink(missing_ok=True)
            if not left:
                raise OSError(
                    message(f"download {url}", found=str(err), legal="an address that answers")
                ) from err


def _differs(url: str, target: Path) -> bool:
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD")) as answer:
        size = answer.headers.get("Content-Length")
    return size is not None and int(size) != target.stat().st_size


def download_testdata(
    url: str, relpath: str, module: str | list[str] | None = None, overwrite: bool = False
) -> str:
    """The path of a file that is fetched once, below `TEST_DATA_ROOT_PATH` and `module`."""
    parts = [] if module is None else [module] if isinstance(module, str) else list(module)
    target = _root().joinpath(*parts, relpath)
    download(url, target, overwrite)
    return str(target)
