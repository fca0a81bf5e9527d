"""Functions that a loaded library registers by itself, made by LLVM and from C."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm.contrib import cc
from tvm.runtime import system_lib, tensor
from tvm.script import tir as T

pytestmark = [
    pytest.mark.cpu,
    pytest.mark.skipif(cc.get_cc() is None, reason="no C compiler to link with"),
]


@pytest.mark.parametrize("target", ["llvm", "c"])
def test_functions_are_found_without_a_module(target: str, tmp_path: Path) -> None:
    @T.prim_func
    def three(A: T.Buffer((4,), "float32")):
        for i in range(4):
            A[i] = T.float32(3)

    prefix = f"testlib_{target}_"
    func = three.with_attr("global_symbol", prefix + "three")
    mod = tvm.IRModule({prefix + "three": func}).with_attr("system_lib_prefix", prefix)
    path = tmp_path / "three.o"
    tvm.tir.build(mod, target=target).export_library(path)
    library = tmp_path / "three.so"
    folder = Path(tvm.ffi.library().libinfo.find_libtvm_ffi()).parent
    cc.create_shared(str(library), [str(path)], [f"-L{folder}", "-ltvm_ffi"])
    ctypes.CDLL(str(library), ctypes.RTLD_GLOBAL)
    out = tensor(np.zeros(4, "float32"))
    system_lib(prefix)["three"](out)
    np.testing.assert_array_equal(out.numpy(), [3] * 4)


def test_the_system_library_is_a_module() -> None:
    found = system_lib("testlib_nobody_")
    assert isinstance(found, tvm.runtime.Module)
    with pytest.raises(AttributeError, match="Module has no function 'three'"):
        _ = found["three"]
    root = tvm.runtime.Module()
    root.import_module(found)
    assert not root.implements_function("three", query_imports=True)
