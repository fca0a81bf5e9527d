"""The passes for CPUs, step by step."""

import numpy as np
import pytest

import tvm
from tvm import relax
from tvm.relax.backend import cpu_generic
from tvm.script import ir as I
from tvm.script import relax as R

pytestmark = pytest.mark.cpu


@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 4), "float32")):
        with R.dataflow():
            y = R.nn.relu(R.add(x, x))
            R.output(y)
        return y


def test_steps_are_the_whole():
    target = tvm.target.Target("llvm")
    steps = [
        *cpu_generic.library_dispatch_passes(target),
        *cpu_generic.legalize_passes(target),
        *cpu_generic.dataflow_lower_passes(target),
        *cpu_generic.finalize_passes(target),
    ]
    with target:
        mod = tvm.transform.Sequential(steps)(Module)
    tvm.ir.assert_structural_equal(mod, cpu_generic.get_default_pipeline(target)(Module))


def test_a_pipeline_is_given_to_compile():
    target = tvm.target.Target("llvm")
    made = tvm.compile(Module, target, relax_pipeline=cpu_generic.get_default_pipeline(target))
    x = np.float32([[1, -2, 3, -4]])
    out = relax.VirtualMachine(made, tvm.cpu())["main"](tvm.runtime.tensor(x))
    np.testing.assert_array_equal(out.numpy(), np.maximum(x + x, 0))
