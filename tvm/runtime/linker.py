"""The system's C compiler, as a linker of what we compile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tvm.error import TVMError, message

LIBRARY_SUFFIXES: Final = (".so", ".dylib", ".dll")
RELOCATABLE: Final = (".o", ".obj")
LIBRARY_FORMS: Final = (*LIBRARY_SUFFIXES, *RELOCATABLE, ".tar")
_NAMES = ("cc", "gcc", "clang", "g++", "clang++", "c++")
HOST_OBJECT = "host.o"  # scratch memory, the thread pool and what else an exported library brings


class LinkError(TVMError):
    """The linker refused; the message holds what it said."""


def get_cc() -> str | None:
    """The C compiler: CC or CXX of the environment, else the first one on the path; or None."""
    for variable in ("CC", "CXX"):
        chosen = os.environ.get(variable)
        if chosen:
            return chosen
    if sys.platform == "win32":
        return None
    return next((path for path in map(shutil.which, _NAMES) if path is not None), None)


def host_system() -> str:
    """The system of this machine, as it stands in triples."""
    return {"win32": "windows"}.get(sys.platform, sys.platform)


def create_shared(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: Mapping[str, str] | None = None,
) -> None:
    """Link object or source files to a shared library."""
    shared = ["-dynamiclib", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else [
        "-shared"
    ]  # fmt: skip
    _run(output, objects, [*shared, "-fPIC", *(options or ())], cc, cwd, ccache_env)


def create_executable(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str] | None = None,
    cc: str | None = None,
    cwd: str | None = None,
    ccache_env: Mapping[str, str] | None = None,
) -> None:
    """Link object or source files to a program."""
    _run(output, objects, list(options or ()), cc, cwd, ccache_env)


def create_staticlib(output: str, inputs: Sequence[str], ar: str | None = None) -> None:
    """Put object files into an archive."""
    tool = ar or shutil.which("ar")
    if tool is None:
        raise LinkError(
            message(f"make archive {output!r}", found="no ar on this system", legal="ar=PATH")
        )
    if os.path.exists(output):
        os.unlink(output)  # ar would add to what is there
    _call([tool, "qcs", output, *_as_list(inputs)], output, None, None)


def _run(
    output: str,
    objects: str | Sequence[str],
    options: Sequence[str],
    cc: str | None,
    cwd: str | None,
    ccache_env: Mapping[str, str] | None,
) -> None:
    compiler = cc or get_cc()
    if compiler is None:
        raise LinkError(
            message(
                f"link {output!r}",
                found="no C compiler on this system",
                legal="cc=PATH, the environment variable CC, or one of " + ", ".join(_NAMES),
            )
        )
    command = [*compiler.split(), "-o", output, *_as_list(objects), *options]
    env = None
    if ccache_env is not None:
        if shutil.which("ccache") is None:
            raise LinkError(
                message(f"link {output!r}", found="ccache_env, but no ccache", legal="install it")
            )
        command = ["ccache", *command]
        env = {**os.environ, **ccache_env}
    _call(command, output, cwd, env)


def _call(
    command: list[str], output: str, cwd: str | None, env: Mapping[str, str] | None
) -> None:
    try:
        done = subprocess.run(
            command, cwd=cwd, env=env, capture_output=True, text=True, check=False
        )
    except OSError as err:
        raise LinkError(
            message(f"link {output!r}", found=f"{command[0]}: {err.strerror}", legal="cc=PATH")
        ) from err
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip() or f"it ended with code {done.returncode}"
        raise LinkError(message(f"link {output!r}", found=said, where=" ".join(command)))


def _as_list(objects: str | Sequence[str]) -> list[str]:
    return [objects] if isinstance(objects, str) else list(objects)


def get_target_by_dump_machine(compiler: str) -> Callable[[], str | None]:
    """A function that asks a compiler for the triple that it makes code for."""

    def get_target_triple() -> str | None:
        try:
            done = subprocess.run(
                [compiler, "-dumpmachine"], capture_output=True, text=True, check=False
            )
        except OSError:
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    return get_target_triple


def cross_compiler(
    compile_func: str | Callable[..., Any],
    options: Sequence[str] | None = None,
    output_format: str | None = None,
    get_target_triple: Callable[[], str | None] | None = None,
    add_files: Sequence[str] | None = None,
) -> Callable[..., Any]:
    """A function for `export_library(fcompile=...)` that calls a given compiler.

    `compile_func` is the compiler's name, or a function like `create_shared`.
    """
    base = list(options or ())
    extra = list(add_files or ())
    if isinstance(compile_func, str):
        name = compile_func
        output_format = output_format or "so"
        get_target_triple = get_target_triple or get_target_by_dump_machine(name)

        def call(output: str, objects: Sequence[str], options: Sequence[str] = (),
                 **kwargs: Any) -> Any:  # fmt: skip
            every = [*base, *options]
            return create_shared(output, [*_as_list(objects), *extra], every, cc=name, **kwargs)
    else:
        function = compile_func
        output_format = output_format or getattr(function, "output_format", "so")

        def call(output: str, objects: Sequence[str], options: Sequence[str] = (),
                 **kwargs: Any) -> Any:  # fmt: skip
            every = [*base, *options]
            return function(output, [*_as_list(objects), *extra], options=every, **kwargs)

    call.output_format = output_format  # type: ignore[attr-defined]
    call.get_target_triple = get_target_triple  # type: ignore[attr-defined]
    return call


def get_global_symbol_section_map(path: str, *, nm: str | None = None) -> dict[str, str]:
    """The global symbols of a file with the letter of the section that each is in."""
    tool = nm or shutil.which("nm")
    if tool is None:
        raise LinkError(message(f"symbols of {path!r}", found="no nm here", legal="nm=PATH"))
    defined = ["-gU"] if sys.platform == "darwin" else ["-g", "--defined-only"]
    done = subprocess.run([tool, *defined, path], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise LinkError(message(f"symbols of {path!r}", found=done.stderr.strip()))
    table = {}
    for line in done.stdout.splitlines():
        parts = line.split()
        if len(parts) >= 3 and parts[1].isalpha():
            table[parts[2]] = parts[1]
    return table


create_shared.output_format = "so"  # type: ignore[attr-defined]
create_shared.get_target_triple = lambda: None  # type: ignore[attr-defined]
create_executable.output_format = ""  # type: ignore[attr-defined]
