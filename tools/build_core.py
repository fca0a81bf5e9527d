"""Compiles the hot core with mypyc, so that the compiler takes less of the processor.

    python -m tools.build_core [--opt 2] [--folder FOLDER] [--clean] [FILE.py ...]
    python -m tools.build_core --folder FOLDER --cc aarch64-linux-gnu-gcc
        --suffix .cpython-311-aarch64-linux-gnu.so --include HEADERS ...

Needed are mypy (with mypyc) and a C compiler. The library goes to `tvm/_core/<kind of Python>`,
where `tvm.support.compiled_core` finds it; C and objects stay in `build/core` for the next time.
Files that are named are compiled in place of the core: whoever works on it tries a few that way.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import shutil
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tools.core_classes import unfit_classes
from tvm.support.compiled_core import FOLDER, LIBRARY, MANIFEST, PACKAGE, VERSION, digest

HOME: Final = PACKAGE.parent
GROUP: Final = LIBRARY.removesuffix("__mypyc")

# As pyproject.toml has it, but for what only readers are to see.
_MYPY_FLAGS: Final = (
    "--config-file=", "--explicit-package-bases", "--ignore-missing-imports",
    "--check-untyped-defs", "--always-true=COMPILED",
)  # fmt: skip

# What is compiled: the algebra that simplifies. No class that is not compiled derives from it.
CORE: Final = tuple(
    f"tvm/arith/{name}.py" for name in (
        "bilinear", "canonical_product", "canonical_simplify", "comparison", "conjunctive_form",
        "deep_equal", "interval", "linear", "merge_quotients", "pattern_rule", "ramp_division",
        "rewrite_simplify", "simplified_before",
    )
)  # fmt: skip


def module_of(path: str) -> str:
    """The name of the module in a file, which is named relative to the checkout."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _file_of(module: str) -> str | None:
    """The file of a module of ours."""
    for path in (f"{module.replace('.', '/')}.py", f"{module.replace('.', '/')}/__init__.py"):
        if (HOME / path).is_file():
            return path
    return None


def _imported(path: str) -> Iterable[str]:
    """The files of ours that a file names in its imports."""
    package = path.rpartition("/")[0].replace("/", ".")
    for node in ast.walk(ast.parse((HOME / path).read_text("utf-8"))):
        modules: list[str] = []
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            home = f"{package}.{node.module or ''}".strip(".") if node.level else str(node.module)
            modules = [home, *(f"{home}.{alias.name}" for alias in node.names)]
        for module in modules:
            found = _file_of(module) if module.startswith("tvm") else None
            if found is not None:
                yield found


def sources_of(paths: Sequence[str]) -> list[str]:
    """The files that compiled code follows from: its own, and those whose types it was told."""
    found = {*paths}
    for path in paths:
        for name in _imported(path):
            found.add(name)
            if name.endswith("/__init__.py"):
                found.update(_imported(name))  # what a package passes on
    return sorted(found)


def without_final_fields(text: str) -> str:
    """A source whose objects' fields are not `Final`; its lines stay where they are.

    mypyc 2.4 reads a final field without taking a reference, which is too short where a
    comprehension follows in the same expression: `f(x.items, [y for y in z])` may free `x`, and
    so its items, before the call. Nor could a field be set from outside, as names of nodes are.
    """
    lines = [line.encode() for line in text.splitlines(keepends=True)]
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Attribute):
            continue
        kind = node.annotation
        inside = kind.slice if isinstance(kind, ast.Subscript) else None
        named = kind.value if isinstance(kind, ast.Subscript) else kind
        if not isinstance(named, ast.Name) or named.id != "Final":
            continue
        assert kind.lineno == kind.end_lineno == node.target.end_lineno, "of one line"
        line, end = lines[kind.lineno - 1], node.target.end_col_offset
        told = b"" if inside is None else b": " + line[inside.col_offset : inside.end_col_offset]
        lines[kind.lineno - 1] = line[:end] + told + line[kind.end_col_offset :]
    return b"".join(lines).decode()


@dataclass(frozen=True)
class Machine:
    """What machine code is made for: by which C compiler, with which Python's headers."""

    suffix: str = EXTENSION_SUFFIXES[0]
    cc: str = ""  # the one that this Python was made with
    include: tuple[str, ...] = (sysconfig.get_path("include"), sysconfig.get_path("platinclude"))


def build(
    paths: Sequence[str],
    folder: Path = FOLDER,
    opt: str = "2",
    work: Path | None = None,
    machine: Machine = Machine(),
) -> Path:
    """Compile files into a library in `folder`, and say there what it was made from.

    C and objects stay in `work`, which lies in `build/` for the core of a checkout.
    """
    if find_spec("mypyc") is None:
        sys.exit("make core: mypyc is not installed; legal: pip install mypy")
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        sys.exit("make core: this Python has no global lock; the core is not made for it")
    unfit = unfit_classes(paths, HOME)
    if unfit:
        sys.exit(
            "make core: classes that would not work when they are compiled\n"
            f"  found: {'; '.join(unfit)}\n"
            "  legal: tvm.support.compiled.called in place of __call__, bases that are compiled,\n"
            "    mypyc_attr(allow_interpreted_subclasses=True), or the file left out"
        )
    sources = sources_of(paths)
    made_from = digest(sources)  # first: what is edited meanwhile makes the result stale
    kept = HOME / "build" / "core" / FOLDER.name if folder == FOLDER else folder / "build"
    work = work or kept
    work.mkdir(parents=True, exist_ok=True)
    c_files, flags, headers = _write_c(paths, work, opt)
    starter = str(HOME / "tools/core_start.c")
    library = _compile([*c_files, starter], flags, headers, work, machine)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / MANIFEST).unlink(missing_ok=True)
    _put(folder / library.name, library.read_bytes())
    manifest = {
        "compiler": f"mypyc {version('mypy')}",
        "python": VERSION,
        "library": digest([library.name], library.parent),
        "modules": {module_of(path): path for path in paths},
        "sources": sources,
        "digest": made_from,
    }
    _put(folder / MANIFEST, json.dumps(manifest, indent=1).encode())
    return folder / library.name


def _put(path: Path, content: bytes) -> None:
    """A whole file or none, and a new one for processes that still use the old."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    beside.write_bytes(content)
    beside.replace(path)


def _write_c(paths: Sequence[str], work: Path, opt: str) -> tuple[list[str], list[str], list[str]]:
    """Translate to C: the files, the compiler's flags, and where headers lie."""
    from mypyc.build import mypycify

    os.environ.pop("MYPYC_OPT_LEVEL", None)
    home, copy = Path.cwd(), work / "source"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(HOME / "tvm", copy / "tvm", ignore=lambda _, names: [
        name for name in names if name == "_core" or ("." in name and not name.endswith(".py"))
    ])  # fmt: skip
    for name in paths:
        (copy / name).write_text(without_final_fields((HOME / name).read_text("utf-8")), "utf-8")
    os.chdir(copy)
    try:
        made = mypycify(
            [*_MYPY_FLAGS, *paths],
            opt_level=opt, debug_level="0", multi_file=True, target_dir=str(work),
            group_name=GROUP,
        )  # fmt: skip
    finally:
        os.chdir(home)
    library = max(made, key=lambda extension: len(extension.sources))
    flags = [flag for flag in library.extra_compile_args if flag != "-Werror"]
    return list(library.sources), flags, list(library.include_dirs)


def _compile(
    sources: Sequence[str], flags: list[str], headers: list[str], work: Path, machine: Machine
) -> Path:
    """Compile on all cores what is older than its source or a header, and link."""
    from setuptools._distutils import ccompiler  # type: ignore[import-untyped]
    from setuptools._distutils import sysconfig as customs

    compiler: Any = ccompiler.new_compiler()
    customs.customize_compiler(compiler)
    if machine.cc:
        compiler.set_executables(
            compiler_so=[machine.cc, "-O2", "-fPIC", "-DNDEBUG"],
            linker_so=[machine.cc, "-shared", "-Wl,-O1"],
        )
    include = [*headers, *machine.include]
    written = max((path.stat().st_mtime for path in work.rglob("*.h")), default=0.0)
    stamp = work / "flags"
    told = repr((flags, machine))
    if not stamp.exists() or stamp.read_text() != told:
        shutil.rmtree(work / "o", ignore_errors=True)
        stamp.write_text(told)

    def compile_one(source: str) -> str:
        out = work / "o"
        [found] = compiler.object_filenames([source], strip_dir=True, output_dir=str(out))
        done = Path(found)
        if not done.exists() or done.stat().st_mtime < max(Path(source).stat().st_mtime, written):
            text = Path(source)
            [name] = compiler.compile(
                [str(text.resolve())], output_dir=str(out / "new"), include_dirs=include,
                extra_postargs=flags,
            )  # fmt: skip
            Path(name).replace(done)
        return str(done)

    (work / "o").mkdir(exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        objects = list(pool.map(compile_one, sources))
    library = work / f"{LIBRARY}{machine.suffix}"
    compiler.link_shared_object(objects, str(library))
    return library


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.build_core", description=__doc__)
    parser.add_argument("files", nargs="*", help="compile these in place of the core")
    parser.add_argument("--opt", default="2", choices=list("0123"), help="of the C compiler")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where the result goes")
    parser.add_argument("--cc", default="", help="a C compiler for another machine")
    parser.add_argument("--suffix", default=EXTENSION_SUFFIXES[0], help="of libraries there")
    parser.add_argument("--include", action="append", help="where headers of its Python lie")
    parser.add_argument("--clean", action="store_true", help="remove what was built, and stop")
    args = parser.parse_args(words)
    if args.clean:
        shutil.rmtree(FOLDER.parent, ignore_errors=True)
        shutil.rmtree(HOME / "build" / "core", ignore_errors=True)
        return
    args.folder = args.folder.resolve()
    os.chdir(HOME)
    include = tuple(args.include or Machine.include)
    machine = Machine(args.suffix, args.cc, include)
    made = build(args.files or CORE, args.folder, args.opt, machine=machine)
    print(f"made {made} of {len(args.files or CORE)} modules")


if __name__ == "__main__":
    main()
