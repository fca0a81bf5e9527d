"""Servers that are a single file: what `export_library` writes with `fcompile=with_minrpc(...)`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

from tvm.error import RPCError, message
from tvm.ffi import library
from tvm.runtime.linker import cross_compiler
from tvm.support.scratch import scratch

from . import popen_server

_SERVERS: Final = {"posix_popen_server": popen_server.__name__}
_RUNTIMES: Final = ("libtvm", "libtvm_runtime", "libtvm_ffi")


def find_minrpc_server_libpath(server: str = "posix_popen_server") -> str:
    """Where the program of a kind of server lies."""
    if server not in _SERVERS:
        raise RPCError(
            message(
                "find_minrpc_server_libpath",
                found=f"Cannot find minRPC server {server!r}",
                legal=", ".join(_SERVERS),
            )
        )
    return str(Path(popen_server.__file__).resolve())


def with_minrpc(
    compile_func: str | Callable[..., Any],
    server: str = "posix_popen_server",
    runtime: str = "libtvm",
) -> Callable[..., Any]:
    """A function for `export_library(fcompile=...)` that writes a server of the module's functions.

    `compile_func` links them. The file starts with Python, and needs this package where it runs;
    `PopenSession` talks to it. The module has the attribute `system_lib_prefix`.
    """
    find_minrpc_server_libpath(server)
    if runtime not in _RUNTIMES:
        raise RPCError(
            message(
                "with_minrpc", found=f"no runtime {runtime!r}", legal=", ".join(_RUNTIMES)
            )
        )
    ffi = Path(library().libinfo.find_libtvm_ffi())
    options = ["-shared", "-fPIC", f"-L{ffi.parent}", f"-Wl,-rpath,{ffi.parent}"]
    link = cross_compiler(compile_func, options)

    def fcompile(output: str, objects: Sequence[str], options: Sequence[str] = (),
                 **kwargs: Any) -> None:  # fmt: skip
        with scratch("tvm-minrpc-") as folder:
            made = Path(folder, popen_server.LIBRARY)
            libraries = ["-ltvm_ffi", "-lm", "-lpthread"]
            link(str(made), objects, options=[*options, *libraries], **kwargs)
            Path(output).write_bytes(popen_server.program(made.read_bytes()))
        os.chmod(output, 0o755)

    fcompile.__name__ = "with_minrpc"
    fcompile.need_system_lib = True  # type: ignore[attr-defined]
    fcompile.output_format = ""  # type: ignore[attr-defined]
    return fcompile
