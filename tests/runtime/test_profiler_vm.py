"""Profiles of programs of Relay on the virtual machine."""

from __future__ import annotations

import numpy as np
import pytest

import tvm
from tvm import relay
from tvm.runtime import profiler_vm

pytestmark = pytest.mark.pure
ONES = np.ones((3, 2), "float32")


def test_profiles_of_the_virtual_machine() -> None:
    x = relay.var("x", shape=(3, 2))
    mod = tvm.IRModule.from_expr(relay.Function([x], relay.exp(x)))
    machine = profiler_vm.VirtualMachineProfiler(relay.vm.compile(mod, target="llvm"), tvm.cpu())
    by_argument = machine.profile(ONES, func_name="main")
    machine.set_input("main", x=ONES)
    for report in (by_argument, machine.profile(), machine.profile(x=ONES)):
        assert "exp" in str(report)
        assert "Total" in str(report)
    assert profiler_vm.enabled()


def test_profiles_of_programs_run_by_steps() -> None:
    text = """#[version = "0.0.5"]
    def @main(%n: int32) -> int32 {
      let %r = ref(%n);
      (%r := add(ref_read(%r), 1));
      ref_read(%r)
    }"""
    program = relay.vm.compile(relay.fromtext(text), target="llvm")
    machine = profiler_vm.VirtualMachineProfiler(program, tvm.cpu())
    assert "main" in str(machine.profile(np.array(4, "int32")))
    with pytest.raises(tvm.TVMError, match="collectors"):
        machine.profile(np.array(4, "int32"), collectors=["counters"])
