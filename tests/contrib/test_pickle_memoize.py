"""Results that are kept: within a program, and from one program to the next."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tvm.contrib.pickle_memoize import Cache, memoize

pytestmark = pytest.mark.cpu
SCRIPT = """
import sys
from tvm.contrib.pickle_memoize import memoize
import numpy as np

@memoize("test_memoize_saved", save_at_exit=True)
def saved(n):
    print("computed")
    return np.arange(n), (n, "text", {"k": [1.5, np.float32(2)]})

@memoize("test_memoize_transient")
def transient():
    return 42

if len(sys.argv) > 1:
    values, rest = saved(3)
    assert saved(3)[0] is values
    assert values.tolist() == [0, 1, 2] and rest == (3, "text", {"k": [1.5, 2.0]})
assert transient() == 42
"""


def run(folder: Path, *args: str, **env: str) -> str:
    home = str(Path(__file__).resolve().parents[2])
    kept = {k: v for k, v in os.environ.items() if k != "XDG_CACHE_HOME"}
    return subprocess.run(
        [sys.executable, "-c", SCRIPT, *args],
        cwd=folder,
        env={**kept, "HOME": str(folder), "PYTHONPATH": home, **env},
        capture_output=True,
        text=True,
        check=True,
    ).stdout


def files(folder: Path) -> list[str]:
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]


def test_a_file_that_the_next_program_reads(tmp_path: Path) -> None:
    assert run(tmp_path) == ""
    assert not list(tmp_path.iterdir())
    assert run(tmp_path, "saved") == "computed\n"
    place = ".cache/tvm/pickle_memoize_py3/test_memoize_saved.saved.pkl"
    assert files(tmp_path) == [place]
    assert run(tmp_path, "saved") == ""
    (tmp_path / place).write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    assert run(tmp_path, "saved") == "computed\n"


def test_the_place_of_the_files(tmp_path: Path) -> None:
    run(tmp_path, "saved", XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert files(tmp_path) == ["cache/tvm/pickle_memoize_py3/test_memoize_saved.saved.pkl"]


def test_values_closed_over_count() -> None:
    calls = []

    def maker(scale: int) -> object:
        @memoize("testing.memoize.closed")
        def data(n: int) -> np.ndarray:
            return np.full(n, scale)

        return data

    calls.append(maker(2)(3).tolist())  # type: ignore[operator]
    calls.append(maker(5)(3).tolist())  # type: ignore[operator]
    assert calls == [[2, 2, 2], [5, 5, 5]]
    assert len(Cache.cache_by_key["testing.memoize.closed.data.pkl"].cache) == 2


def test_arguments_that_are_no_keys() -> None:
    @memoize("testing.memoize.keys")
    def data(value: object) -> object:
        return value

    assert data((1, "a", 2.5)) == (1, "a", 2.5)
    with pytest.raises(AssertionError, match="of type list"):
        data([1])
