"""Wheels with the compiled core: for which Pythons, and (long) one that is built and installed."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tools import wheels

pytestmark = pytest.mark.pure


def python(folder: Path, says: str) -> str:
    """A program that answers as a Python of some kind does."""
    made = folder / "python"
    (folder / "Python.h").touch()
    told = says.replace("FOLDER", str(folder))
    made.write_text(f"#!/bin/sh\necho '{told}'\n")
    made.chmod(0o755)
    return str(made)


def told(**other: object) -> str:
    import json

    return json.dumps({
        "name": "cpython", "version": "3.12", "suffix": ".cpython-312-x86_64-linux-gnu.so",
        "platform": "linux-x86_64", "headers": "FOLDER",
        "free_threaded": False, **other,
    })  # fmt: skip


def test_a_python_with_headers_gets_a_wheel(tmp_path: Path) -> None:
    one = wheels.asked(python(tmp_path, told()))
    assert isinstance(one, wheels.Interpreter)
    assert (one.version, one.tag, one.platform) == ("3.12", "cp312", "linux-x86_64")
    assert one.headers == tmp_path


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ({"name": "pypy"}, "is pypy 3.12; legal: CPython 3.10, 3.11"),
        ({"version": "3.9"}, "is cpython 3.9; legal: CPython 3.10"),
        ({"free_threaded": True}, "legal: CPython"),
        ({"headers": "/nowhere"}, "is without its headers (Debian: python3.12-dev)"),
    ],
)
def test_other_pythons_are_told_why_not(
    tmp_path: Path, other: dict[str, object], words: str
) -> None:
    said = wheels.asked(python(tmp_path, told(**other)))
    assert isinstance(said, str)
    assert words in said


def test_a_python_that_does_not_run(tmp_path: Path) -> None:
    path = python(tmp_path, "")
    Path(path).write_text("#!/bin/sh\nexit 3\n")
    assert wheels.asked(path) == f"{path} does not run"


@pytest.mark.parametrize("of_machine", [False, True], ids=["one folder", "Debian"])
def test_a_core_for_another_machine(
    of_machine: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wheels, "WORK", tmp_path / "work")
    headers = tmp_path / "include" / "python3.12"
    configured = tmp_path / "include" / "x86_64-linux-gnu" if of_machine else headers.parent
    (configured / "python3.12").mkdir(parents=True)
    (configured / "python3.12" / "pyconfig.h").write_text("#define SIZEOF_LONG 8\n")
    here = wheels.Interpreter(sys.executable, "3.12", ".so", "linux-x86_64", headers)
    one, options = wheels.for_aarch64(here)
    assert (one.suffix, one.platform) == (".cpython-312-aarch64-linux-gnu.so", "linux-aarch64")
    beside = tmp_path / "work" / "cp312" / "include"
    folders = [beside, headers] if of_machine else [headers]
    asked = [word for folder in folders for word in ("--include", str(folder))]
    assert options == ["--cc", "aarch64-linux-gnu-gcc", *asked]
    copied = beside / "aarch64-linux-gnu" / "python3.12" / "pyconfig.h"
    assert copied.exists() is of_machine


@pytest.mark.long
@pytest.mark.skipif(
    isinstance(wheels.asked(sys.executable), str),
    reason="needs CPython 3.10 to 3.14 with its headers (Debian: python3-dev)",
)
@pytest.mark.skipif(
    any(find_spec(name) is None for name in ("build", "wheel", "auditwheel")),
    reason="needs the packages build, wheel and auditwheel (make wheel installs them)",
)
def test_a_wheel_with_a_small_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "DIST", tmp_path / "dist")
    monkeypatch.setattr(wheels, "WORK", tmp_path / "work")
    one = wheels.asked(sys.executable)
    assert isinstance(one, wheels.Interpreter), one
    pure = wheels.pure()
    builder = wheels.environment_of(one, pure)
    made = wheels.compiled(one, builder, pure, ["tvm/support/suggest.py"])
    assert f"-{one.tag}-{one.tag}-" in made.name
    home = tmp_path / "installed"
    subprocess.run([sys.executable, "-m", "venv", home], check=True)
    environment = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    pip = [home / "bin" / "python", "-m", "pip", "install", "--quiet"]
    subprocess.run([*pip, made], check=True, env=environment)
    for name, words in (("1", "compiled, 1 modules"), ("0", "plain Python (TVM_CORE=0)")):
        done = subprocess.run(
            [home / "bin" / "tvm", "info"], cwd=tmp_path, capture_output=True, text=True,
            env={"TVM_CORE": name, "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}, check=True,
        )  # fmt: skip
        assert words in done.stdout
