"""Comparing a program's kernels with those of another module while it runs."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.testing.lib_comparator import LibCompareVMInstrument
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T

pytestmark = pytest.mark.cpu


def _module(factor):
    @I.ir_module
    class Mod:
        @T.prim_func
        def scale(x: T.Buffer((4,), "float32"), y: T.Buffer((4,), "float32")):
            for i in range(4):
                y[i] = x[i] * T.float32(factor)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            y = R.call_tir(Mod.scale, (x,), R.Tensor((4,), "float32"))
            return y

    return Mod


def _machine():
    return relax.VirtualMachine(relax.build(_module(2), "llvm", relax_pipeline=None), tvm.cpu())


def _kernels(factor):
    return tvm.tir.build(tvm.ir.IRModule({"scale": _module(factor)["scale"]}), "llvm")


X = np.arange(4, dtype="float32")


def test_agreement_is_counted():
    vm, compare = _machine(), LibCompareVMInstrument(_kernels(2), tvm.cpu())
    vm.set_instrument(compare)
    np.testing.assert_array_equal(vm["main"](X).numpy(), X * 2)
    assert compare.counter == 1


def test_differences_are_raised():
    vm = _machine()
    vm.set_instrument(LibCompareVMInstrument(_kernels(3), tvm.cpu(), verbose=False))
    with pytest.raises(AssertionError, match="scale: argument 1 after the call"):
        vm["main"](X)


def test_calls_may_be_left_out():
    class Without(LibCompareVMInstrument):
        def skip_instrument(self, func, name, before_run, ret_val, *args):
            return name == "scale"

    vm = _machine()
    compare = Without(_kernels(3), tvm.cpu())
    vm.set_instrument(compare)
    vm["main"](X)
    assert compare.counter == 0
