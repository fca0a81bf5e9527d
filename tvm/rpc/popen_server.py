"""Programs that are servers of a single session: they bring their functions, and talk over pipes.

The file is a Python archive with a shared library in it. Started, it loads the library, whose
functions thereby join the system's library, and answers requests that come on its standard input.
"""

from __future__ import annotations

import ctypes
import io
import os
import sys
import zipfile
from pathlib import Path
from typing import BinaryIO, Final

from tvm.runtime.wire import read_frame, write_frame
from tvm.support.scratch import scratch

from . import files
from .core import Core

LIBRARY: Final = "functions.so"
_MAIN: Final = """\
import sys
from tvm.rpc.popen_server import run
run(sys.argv[0])
"""
_LONGEST: Final = 120  # of the line that names a program's interpreter, on all systems


def program(library: bytes) -> bytes:
    """The file of a server that has the functions of a shared library."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("__main__.py", _MAIN)
        archive.writestr(LIBRARY, library)
    return _first_line() + out.getvalue()


def _first_line() -> bytes:
    """This very Python, where its name can stand there."""
    path = sys.executable
    good = path and " " not in path and len(path) < _LONGEST
    return f"#!{path if good else '/usr/bin/env python3'}\n".encode()


def run(path: str) -> None:
    """Serve with the library of a program's file until the other end is gone."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what functions print must not get among the answers
    with scratch("tvm-popen-") as folder:
        with zipfile.ZipFile(path) as archive:
            library = archive.extract(LIBRARY, folder)
        load(library)
    try:
        serve(requests, answers)
    finally:
        files.clean_up()


def load(library: str | Path) -> None:
    """Let the functions of a shared library join the system's library."""
    from tvm.ffi import library as ffi

    ctypes.CDLL(str(ffi().libinfo.find_libtvm_ffi()), ctypes.RTLD_GLOBAL)
    ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)


def serve(requests: BinaryIO, answers: BinaryIO) -> None:
    """Answer requests until there are none."""
    core = Core()
    while (request := read_frame(requests)) is not None:
        write_frame(answers, core.answer(request))
