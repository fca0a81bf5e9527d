"""Functions outside of Relax: compiled from C++, or in an object."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tvm import runtime
from tvm.relax.frontend import nn
from tvm.relax.frontend.nn import spec

SOURCE = """
#include <dlpack/dlpack.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>

namespace {
void scale(tvm::ffi::TensorView x, double factor, tvm::ffi::TensorView out) {
  const float* from = static_cast<const float*>(x.data_ptr());
  float* to = static_cast<float*>(out.data_ptr());
  for (int64_t i = 0; i < x.shape()[0]; ++i) to[i] = from[i] * static_cast<float>(factor);
}
}  // namespace
TVM_FFI_DLL_EXPORT_TYPED_FUNC(test_nn_scale, scale);
"""
SYMBOLS = {"test_nn_scale": lambda x, factor: nn.Tensor.placeholder(x.shape, x.dtype)}
with_compiler = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")


class Network(nn.Module):
    def __init__(self, module: nn.ExternModule) -> None:
        self.module = module

    def forward(self, x: nn.Tensor) -> nn.Tensor:
        result: nn.Tensor = self.module["test_nn_scale"](x, 3.0)
        return result + 1


def check(module: nn.ExternModule) -> None:
    forms: Any = {"forward": {"x": spec.Tensor(["n"], "float32")}}
    vm, _, _ = Network(module).jit(forms, out_format="tvm")
    x = np.arange(4, dtype="float32")
    np.testing.assert_array_equal(vm["forward"](runtime.tensor(x)).numpy(), 3 * x + 1)


@with_compiler
@pytest.mark.parametrize("as_file", [False, True])
def test_a_source(as_file: bool, tmp_path: Path) -> None:
    source: str | Path = SOURCE
    if as_file:
        source = tmp_path / "scale.cc"
        source.write_text(SOURCE)
    check(nn.SourceModule(SYMBOLS, source, "cpp"))


@with_compiler
def test_an_object(tmp_path: Path) -> None:
    made = tmp_path / "scale.o"
    nn.SourceModule(SYMBOLS, SOURCE, "cpp").compile(made)
    check(nn.ObjectModule(SYMBOLS, made))


def test_options_for_compilers() -> None:
    assert "-fPIC" in nn.SourceModule.get_compile_options("cpp")
    assert "-Xcompiler=-fPIC" in nn.SourceModule.get_compile_options("cu")
    assert all(path.is_dir() for path in nn.SourceModule.get_includes())
    assert nn.SourceModule.tvm_home().is_dir()


def test_what_is_refused(tmp_path: Path) -> None:
    with pytest.raises(KeyError, match="the function 'other'"):
        nn.ExternModule(SYMBOLS)["other"]
    with pytest.raises(ValueError, match="an object file"):
        nn.ObjectModule(SYMBOLS, tmp_path / "none.o")
    with pytest.raises(ValueError, match="'cpp', 'cu'"):
        nn.SourceModule(SYMBOLS, SOURCE, "rust")
    with pytest.raises(ValueError, match="'obj', 'wasm'"):
        nn.SourceModule(SYMBOLS, SOURCE, "cpp", output_format="so")
    with pytest.raises(ValueError, match="a source file"):
        nn.SourceModule(SYMBOLS, tmp_path / "none.cc", "cpp")
