"""External functions that come with their source."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.vm.extern_source import with_extern_sources

TWICE = """
#include <tvm/ffi/c_api.h>
static DLTensor* tensor(const TVMFFIAny* arg) {
  if (arg->type_index == kTVMFFIDLTensorPtr) return (DLTensor*)arg->v_ptr;
  return (DLTensor*)((char*)arg->v_obj + sizeof(TVMFFIObject));
}
int __tvm_ffi_twice(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  DLTensor* x = tensor(args);
  DLTensor* y = tensor(args + 1);
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    ((float*)y->data)[i] = 2 * ((float*)x->data)[i];
  }
  return 0;
}
"""


def module(source: str | None) -> tvm.IRModule:
    func = relax.ExternFunc("twice")
    if source is not None:
        func = func.with_attrs({"c_source": source, "c_source_fmt": "c"})
    info = relax.TensorStructInfo((3,), "float32")
    x, bb = relax.Var("x", info), relax.BlockBuilder()
    with bb.function("main", [x]):
        first = bb.emit(relax.op.call_dps_packed(func, (x,), info))
        bb.emit_func_output(bb.emit(relax.op.call_dps_packed(func, (first,), info)))
    return bb.get()


def test_without_a_source_nothing_is_linked() -> None:
    mod = module(None)
    assert with_extern_sources(mod) is mod


def test_a_source_is_linked_once() -> None:
    libraries = with_extern_sources(module(TWICE)).attrs["external_mods"]
    assert [library.inspect_source() for library in libraries] == [TWICE]


@pytest.mark.cpu
@pytest.mark.parametrize("exec_mode", ["bytecode", "compiled"])
def test_it_runs(exec_mode: str) -> None:
    vm = relax.VirtualMachine(
        relax.build(module(TWICE), "llvm", exec_mode=exec_mode), tvm.cpu()
    )
    found = vm["main"](tvm.runtime.tensor(np.array([1, 2, 3], "float32")))
    np.testing.assert_array_equal(found.numpy(), [4, 8, 12])
