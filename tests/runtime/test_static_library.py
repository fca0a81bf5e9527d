"""Objects that others compiled."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

import tvm
from tvm import runtime, te, tir
from tvm.ffi import library

SOURCE = """
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
#include <string>
namespace {
void grow(tvm::ffi::TensorView x, tvm::ffi::TensorView y) {
  std::string many(40, 'x');
  float* to = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.shape()[0]; ++i)
    to[i] = static_cast<float*>(x.data_ptr())[i] + static_cast<float>(many.size());
}
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(test_static_grow, grow);
"""


pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("object")
    source = folder / "grow.cc"
    source.write_text(SOURCE)
    info = library().libinfo
    headers = [f"-I{info.find_include_path()}", f"-I{info.find_dlpack_include_path()}"]
    made = folder / "grow.o"
    command = ["g++", "-c", "-O1", "-fPIC", "-std=c++17", *headers, str(source), "-o", str(made)]
    subprocess.run(command, check=True)
    return str(made)


def test_functions_are_called(compiled: str) -> None:
    module = runtime.load_static_library(compiled, ["test_static_grow"])
    assert module.kind == "static_library"
    assert module.implements_function("test_static_grow")
    out = runtime.empty((3,), "float32")
    module["test_static_grow"](runtime.tensor(np.arange(3, dtype="float32")), out)
    assert out.numpy().tolist() == [40, 41, 42]


def test_it_is_exported_with_what_imports_it(compiled: str, tmp_path: Path) -> None:
    x = te.placeholder((3,), name="x")
    y = te.extern(
        (3,), [x], lambda ins, outs: tir.call_packed("test_static_grow", ins[0], outs[0])
    )
    module = tvm.compile(te.create_prim_func([x, y]), target="llvm").mod
    module.import_module(runtime.load_static_library(compiled, ["test_static_grow"]))
    path = str(tmp_path / "all.so")
    module.export_library(path)
    out = runtime.empty((3,), "float32")
    runtime.load_module(path)["main"](runtime.tensor(np.arange(3, dtype="float32")), out)
    assert out.numpy().tolist() == [40, 41, 42]


def test_functions_must_be_there(compiled: str) -> None:
    with pytest.raises(ValueError, match="no function other"):
        runtime.load_static_library(compiled, ["test_static_grow", "other"])


def test_bytes_come_back(compiled: str) -> None:
    made = runtime.load_static_library(compiled, ["test_static_grow"])
    assert made.is_binary_serializable()
    assert made.is_compilation_exportable()
    again = tvm.ir.load_json(tvm.ir.save_json(made))
    x, y = runtime.tensor(np.ones(2, "float32")), runtime.empty((2,))
    again["test_static_grow"](x, y)
    assert y.numpy().tolist() == [41, 41]
