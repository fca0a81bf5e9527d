"""The compiled core is loaded where it was made from the sources as they are, and says the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import find_spec
from pathlib import Path
from shutil import which
from typing import Any

import pytest

from tools.build_core import without_final_fields
from tools.core_classes import unfit_classes
from tvm.support import compiled_core
from tvm.support.compiled_core import MANIFEST, CoreFinder, digest

pytestmark = pytest.mark.pure
HOME = compiled_core.PACKAGE.parent
SOURCE = "tvm/support/suggest.py"


NAME = f"{compiled_core.LIBRARY}{EXTENSION_SUFFIXES[0]}"


def manifest(folder: Path, **other: object) -> dict[str, Any]:
    """What the build says of a core of one module; its library is a text."""
    if not (folder / NAME).exists():
        (folder / NAME).write_text("no library")
    return {
        "compiler": "mypyc", "python": compiled_core.VERSION, "library": digest([NAME], folder),
        "modules": {"tvm.support.suggest": SOURCE}, "sources": [SOURCE],
        "digest": digest([SOURCE]), **other,
    }  # fmt: skip


def refused(folder: Path, **other: object) -> str:
    found = CoreFinder(folder, manifest(folder, **other))
    assert found.find_spec("tvm.support.suggest") is None
    return found.refused


def test_sources_that_changed_or_are_gone_take_its_place(tmp_path: Path) -> None:
    assert "sources have changed" in refused(tmp_path, digest="of another text")
    assert "are gone" in refused(tmp_path, sources=["tvm/none.py"])


def test_a_core_of_another_python_is_not_loaded(tmp_path: Path) -> None:
    assert refused(tmp_path, python="3.9") == "the core is one for Python 3.9"


def test_a_damaged_library_is_not_loaded(tmp_path: Path) -> None:
    assert "is not as it was" in refused(tmp_path, library="of another library")
    assert "does not load" in refused(tmp_path)  # whole, but no library
    told = manifest(tmp_path)
    (tmp_path / NAME).unlink()
    assert "cannot be read" in CoreFinder(tmp_path, told).refused


@pytest.mark.parametrize(
    "text",
    [b"", b"{", b"[]", b"\xff", b"3", b"[" * 100_000, b'{"modules": 1}'],
    ids=["empty", "cut off", "a list", "no text", "a number", "deep", "too little"],
)
def test_a_damaged_manifest_is_no_core(tmp_path: Path, text: bytes) -> None:
    (tmp_path / MANIFEST).write_bytes(text)
    done = run(str(tmp_path), "import tvm")
    assert "found: plain Python (make core compiles it)" in done.stderr


def test_a_digest_tells_names_and_contents_apart(tmp_path: Path) -> None:
    for name, text in (("a", "x"), ("b", "y")):
        (tmp_path / name).write_text(text)
    one = digest(["a", "b"], tmp_path)
    assert digest(["b", "a"], tmp_path) != one
    (tmp_path / "b").write_text("z")
    assert digest(["a", "b"], tmp_path) != one


def test_classes_that_would_not_work_are_not_compiled(tmp_path: Path) -> None:
    package = tmp_path / "tvm"
    package.mkdir()
    (package / "base.py").write_text("""
class Base:
    def __call__(self): ...
@mypyc_attr(allow_interpreted_subclasses=True)
class Open: ...
class Closed: ...
class OddError(Exception): ...
""")
    (package / "made.py").write_text("""
from .base import Base, OddError
from tvm import base as b
class Plain(Base):
    def call(self): ...
class Called(b.Base):
    def __call__(self): ...
class OtherError(OddError): ...
@mypyc_attr(native_class=False)
class Interpreted(Base):
    def __call__(self): ...
""")
    (package / "user.py").write_text("""
from tvm.base import Closed, Open
class One(Open): ...
class Two(Closed): ...
""")
    (package / "above.py").write_text("from .user import One\nclass Three(One): ...\n")
    files = ["tvm/base.py", "tvm/made.py"]
    assert unfit_classes(files, tmp_path) == [
        "tvm/made.py:6: class Called, whose objects are called",
        "tvm/user.py:4: class Two, derived from Closed",
    ]
    assert unfit_classes(["tvm/above.py"], tmp_path) == []
    assert unfit_classes(["tvm/above.py", "tvm/base.py"], tmp_path)[0] == (
        "tvm/above.py:2: class Three, whose base One is not"
    )


def test_fields_are_not_final_in_what_is_compiled() -> None:
    text = """
LIMIT: Final = 3
class Box:
    def __init__(self, items):
        self.items: Final = tuple(items)  # \u00e9
        self.known: Final[dict[str, int]] = {}
        self.count: int = 0
"""
    made = without_final_fields(text)
    assert made == text.replace("items: Final =", "items =").replace("Final[dict[str, int]]",
                                                                     "dict[str, int]")  # fmt: skip


def run(core: str, program: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "TVM_CORE": core, "PYTHONPATH": str(HOME)}
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True
    )


def test_it_is_said_when_there_is_none(tmp_path: Path) -> None:
    done = run(str(tmp_path), "import tvm")
    assert f"TVM_CORE={tmp_path} asks for the compiled core" in done.stderr
    assert "legal: build it (make core)" in done.stderr


def test_it_is_said_when_it_is_older_than_its_sources(tmp_path: Path) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps(manifest(tmp_path, digest="0")))
    done = run(str(tmp_path), "import tvm")
    assert "sources have changed since it was compiled" in done.stderr


def test_zero_asks_for_plain_python() -> None:
    done = run("0", "from tvm.support.compiled_core import described; print(described())")
    assert done.stdout == "plain Python (TVM_CORE=0)\n"


# Random intervals, and what their arithmetic gives.
INTERVALS = """
import random
from tvm.arith import interval
from tvm.arith.interval import NEG_INF, POS_INF
rng = random.Random(7)
ends = [NEG_INF, POS_INF, 0, 1, -1, 7, -12, 2**31, -2**40, 2**62]
def some():
    low, high = sorted((rng.choice(ends), rng.choice(ends)))
    return low, high
for _ in range(400):
    a, b = some(), some()
    print(interval.add_bounds(a, b), interval.mul_bounds(a, b), interval.intersect_bounds(a, b))
print(type(interval.mul_bounds).__name__)
"""


CC = (sysconfig.get_config_var("CC") or "cc").split()[0]


@pytest.mark.long
@pytest.mark.skipif(
    find_spec("mypyc") is None or which(CC) is None,
    reason="needs mypyc and a C compiler",
)
def test_a_compiled_module_gives_what_its_source_gives(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tools.build_core", "--opt", "0", "--folder", str(tmp_path)]
    environment = {**os.environ, "TVM_CORE": "0", "PYTHONPATH": str(HOME)}
    made = subprocess.run(
        [*command, "tvm/arith/interval.py"], env=environment, cwd=HOME, capture_output=True,
        text=True,
    )  # fmt: skip
    assert made.returncode == 0, made.stdout + made.stderr
    plain, compiled = run("0", INTERVALS), run(str(tmp_path), INTERVALS)
    assert plain.returncode == compiled.returncode == 0, plain.stderr + compiled.stderr
    *plain_values, plain_kind = plain.stdout.splitlines()
    *values, kind = compiled.stdout.splitlines()
    assert values == plain_values
    assert (plain_kind, kind) == ("function", "builtin_function_or_method")
