"""Servers that are one file: written by `export_library`, started by `PopenSession`."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import rpc
from tvm.contrib import cc
from tvm.error import RPCError
from tvm.rpc.minrpc import find_minrpc_server_libpath, with_minrpc
from tvm.script import ir as I
from tvm.script import tir as T

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.skipif(cc.get_cc() is None or sys.platform == "win32", reason="links with cc"),
]


def program(folder: Path, target: str = "llvm") -> str:
    @I.ir_module
    class Module:
        I.module_attrs({"system_lib_prefix": ""})

        @T.prim_func
        def myadd(A: T.Buffer((102,), "float32"), B: T.Buffer((102,), "float32")):
            for i in T.parallel(102):
                B[i] = A[i] + T.float32(1)

    path = str(folder / "dev_lib.minrpc")
    tvm.compile(Module, target=target).export_library(
        path, fcompile=rpc.with_minrpc(cc.create_executable)
    )
    return path


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_a_program_that_serves_its_functions(tmp_path: Path, target: str) -> None:
    path = program(tmp_path, target)
    assert os.access(path, os.X_OK)
    remote = rpc.PopenSession(path)
    dev = remote.cpu(0)
    library = remote.system_lib()
    a = tvm.runtime.tensor(np.random.default_rng(0).random(102, "float32"), dev)
    b = tvm.runtime.tensor(np.zeros(102, "float32"), dev)
    evaluate = library.time_evaluator("myadd", dev, number=1)
    assert evaluate(a, b).mean > 0
    np.testing.assert_equal(b.numpy(), a.numpy() + 1)


def test_a_program_given_as_bytes(tmp_path: Path) -> None:
    remote = rpc.PopenSession(Path(program(tmp_path)).read_bytes())
    assert remote.get_function("rpc.test.addone")(10) == 11
    assert remote.system_lib()["myadd"] is not None
    with pytest.raises(AttributeError, match="no function of this name"):
        remote.get_function("rpc.test.none")


def test_programs_that_cannot_be_started(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="no such file"):
        rpc.PopenSession("filenotexist")
    path = tmp_path / "plain.minrpc"
    path.write_bytes(b"#!/bin/sh\nexit 3\n")
    os.chmod(path, stat.S_IRUSR)
    with pytest.raises(RuntimeError, match="not executable"):
        rpc.PopenSession(str(path))
    os.chmod(path, stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(RPCError, match="the program has ended"):
        rpc.PopenSession(str(path)).get_function("rpc.test.addone")


def test_unknown_names() -> None:
    assert os.path.isfile(find_minrpc_server_libpath())
    with pytest.raises(RuntimeError, match="Cannot find minRPC server 'other'"):
        find_minrpc_server_libpath("other")
    with pytest.raises(RuntimeError, match="no runtime 'libother'"):
        with_minrpc(cc.create_executable, runtime="libother")
    assert with_minrpc("cc").need_system_lib
